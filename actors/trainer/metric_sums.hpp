// Sums of one evaluation. Each virtual worker's block fills a table of fixed size that travels in its
// attachment; all members then add the V tables by the reduction tree, name by name, so they see the same
// bits whatever N is, also when a block is empty or names come in another order. Plain memory, trainer's
// thread.
#pragma once

#include "troupe/metrics.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct MetricTable {
  static constexpr std::size_t max_names = 16;
  static constexpr std::size_t max_length = 40;
  struct Row {
    char name[max_length];
    double sum;
    double weight;
  };
  std::uint64_t count;
  Row rows[max_names];
};

/// Writes into a table that is somewhere else.
class MetricWriter final : public Metrics {
public:
  /// Empties `table`.
  explicit MetricWriter(MetricTable& table);
  /// Throws std::invalid_argument for an empty or too long name, or a 17th one.
  void add(std::string_view name, double sum, double weight) override;
  double value(std::string_view name) const override;

private:
  MetricTable* table_;
};

/// The reduced result: names in order of their first appearance.
class MetricResult final : public Metrics {
public:
  MetricResult() = default;
  /// `tables[v]`, all V of them.
  explicit MetricResult(std::span<const MetricTable* const> tables);
  void add(std::string_view name, double sum, double weight) override; ///< throws std::logic_error
  double value(std::string_view name) const override;
  bool has(std::string_view name) const;
  /// (name, sum / weight); a weight of 0 gives NaN.
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }

private:
  std::vector<std::pair<std::string, double>> values_;
};

} // namespace troupe

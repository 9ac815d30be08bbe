// Sums that an evaluation adds up. Each metric is sum / weight over all evaluation blocks, reduced by the same fixed
// tree as gradients, so every worker sees the same bits.
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe {

class Metrics {
public:
  virtual ~Metrics();
  /// In `evaluate`: adds to a metric. At most 16 names, each at most 40 characters, the same on every call.
  virtual void add(std::string_view name, double sum, double weight) = 0;
  /// In `on_metrics`: sum / weight. Throws std::out_of_range for an unknown name.
  virtual double value(std::string_view name) const = 0;
};

enum class Verdict : unsigned char {
  go_on,
  stop,      ///< end the job after this step, as finished
  keep_best, ///< go on, and keep a checkpoint of this step as the best so far
};

} // namespace troupe

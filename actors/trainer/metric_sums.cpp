#include "actors/trainer/metric_sums.hpp"

#include "actors/trainer/nearest.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

namespace troupe {

namespace {

std::string_view name_of(const MetricTable::Row& row) {
  return {row.name, ::strnlen(row.name, MetricTable::max_length)};
}

std::span<const MetricTable::Row> rows_of(const MetricTable& table) {
  return {table.rows, std::min<std::size_t>(table.count, MetricTable::max_names)};
}

[[noreturn]] void throw_unknown(std::string_view name, std::span<const std::string_view> names) {
  throw std::out_of_range(no_such_name("metric", name, names));
}

struct Sums {
  double sum = 0;
  double weight = 0;
};

Sums tree(std::vector<std::optional<Sums>>& leaves) {
  for (std::size_t width = 1; width < leaves.size(); width *= 2)
    for (std::size_t i = 0; i + width < leaves.size(); i += 2 * width) {
      auto& left = leaves[i];
      const auto& right = leaves[i + width];
      if (left && right) {
        left->sum += right->sum;
        left->weight += right->weight;
      } else if (right) {
        left = right;
      }
    }
  return leaves.empty() || !leaves[0] ? Sums{} : *leaves[0];
}

} // namespace

MetricWriter::MetricWriter(MetricTable& table) : table_(&table) {
  std::memset(static_cast<void*>(table_), 0, sizeof *table_);
}

void MetricWriter::add(std::string_view name, double sum, double weight) {
  for (auto& row : std::span(table_->rows, table_->count))
    if (name_of(row) == name) {
      row.sum += sum;
      row.weight += weight;
      return;
    }
  if (name.empty() || name.size() > MetricTable::max_length)
    throw std::invalid_argument("metric names have 1 to 40 characters, got '" +
                                std::string(name.substr(0, 80)) + "'");
  if (table_->count == MetricTable::max_names)
    throw std::invalid_argument("metric '" + std::string(name) + "' is the 17th: at most 16 are possible");
  auto& row = table_->rows[table_->count++];
  std::memcpy(row.name, name.data(), name.size());
  row.sum = sum;
  row.weight = weight;
}

double MetricWriter::value(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& row : rows_of(*table_)) {
    if (name_of(row) == name)
      return row.sum / row.weight;
    names.push_back(name_of(row));
  }
  throw_unknown(name, names);
}

MetricResult::MetricResult(std::span<const MetricTable* const> tables) {
  for (const auto* table : tables)
    for (const auto& row : rows_of(*table))
      if (!has(name_of(row)))
        values_.emplace_back(name_of(row), 0.0);
  std::vector<std::optional<Sums>> leaves(tables.size());
  for (auto& [name, value] : values_) {
    for (std::size_t v = 0; v < tables.size(); ++v) {
      leaves[v].reset();
      for (const auto& row : rows_of(*tables[v]))
        if (name_of(row) == name)
          leaves[v] = Sums{row.sum, row.weight};
    }
    const auto sums = tree(leaves);
    value = sums.weight == 0 ? std::numeric_limits<double>::quiet_NaN() : sums.sum / sums.weight;
  }
}

void MetricResult::add(std::string_view, double, double) {
  throw std::logic_error("Metrics::add belongs to evaluate(): in on_metrics the sums are complete");
}

bool MetricResult::has(std::string_view name) const {
  return std::ranges::any_of(values_, [&](const auto& entry) { return entry.first == name; });
}

double MetricResult::value(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const auto& [known, number] : values_) {
    if (known == name)
      return number;
    names.push_back(known);
  }
  throw_unknown(name, names);
}

} // namespace troupe

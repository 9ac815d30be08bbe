// Which positions of the global order belong to which virtual worker at which step, and how an evaluation is cut.
// Step s takes positions [s * B, (s + 1) * B) with B = V * m; virtual worker v the v-th run of m of them. Depends on
// nothing that a failure or a resize changes. Pure values, any thread.
#pragma once

#include "troupe/ids.hpp"

#include <cstdint>

namespace troupe::data {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::uint64_t end() const { return begin + count; }
  friend bool operator==(const Range&, const Range&) = default;
};

class BatchPlan {
public:
  /// All > 0.
  BatchPlan(std::uint64_t rows, std::uint32_t virtual_workers, std::uint64_t micro_batch);

  std::uint64_t rows() const { return rows_; }
  std::uint32_t virtual_workers() const { return virtual_workers_; }
  std::uint64_t micro_batch() const { return micro_batch_; }
  std::uint64_t global_batch() const { return micro_batch_ * virtual_workers_; }

  /// Samples consumed before `step`.
  std::uint64_t position(Step step) const { return step.value * global_batch(); }
  Range positions(Step step, VirtualWorker v) const;
  std::uint64_t epoch_at(std::uint64_t position) const { return position / rows_; }
  std::uint64_t epoch(Step step) const { return epoch_at(position(step)); }
  /// Whole epochs behind `step`.
  std::uint64_t finished_epochs(Step step) const { return epoch(step); }
  /// Fewest steps that consume `epochs` whole epochs; the last may run into the next epoch.
  std::uint64_t steps_for_epochs(std::uint64_t epochs) const;
  /// The smaller of `steps` and the steps of `epochs`; 0 means not given, at least one is.
  std::uint64_t total_steps(std::uint64_t steps, std::uint64_t epochs) const;
  /// Epochs one step may touch at once, plus the next: the window a Ledger needs.
  std::uint64_t epochs_in_flight() const;

private:
  std::uint64_t rows_;
  std::uint32_t virtual_workers_;
  std::uint64_t micro_batch_;
};

/// Block `v` of `rows` cut into `blocks` contiguous runs whose sizes differ by at most one, larger ones first; may be
/// empty when there are fewer rows than blocks.
Range block(std::uint64_t rows, std::uint32_t blocks, std::uint32_t v);

} // namespace troupe::data

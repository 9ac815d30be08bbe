#include "data/batch_plan.hpp"

#include "base/assert.hpp"

#include <algorithm>

namespace troupe::data {

BatchPlan::BatchPlan(std::uint64_t rows, std::uint32_t virtual_workers, std::uint64_t micro_batch)
  : rows_(rows), virtual_workers_(virtual_workers), micro_batch_(micro_batch) {
  TROUPE_ASSERT(rows > 0 && virtual_workers > 0 && micro_batch > 0, "rows, virtual workers and batch are positive");
  TROUPE_ASSERT(micro_batch <= (std::uint64_t{1} << 31), "micro batch beyond 2^31");
}

Range BatchPlan::positions(Step step, VirtualWorker v) const {
  TROUPE_ASSERT(v.value < virtual_workers_, "no such virtual worker");
  return {position(step) + v.value * micro_batch_, micro_batch_};
}

std::uint64_t BatchPlan::steps_for_epochs(std::uint64_t epochs) const {
  const auto batch = global_batch();
  const auto samples = epochs * rows_;
  return samples / batch + (samples % batch != 0);
}

std::uint64_t BatchPlan::total_steps(std::uint64_t steps, std::uint64_t epochs) const {
  TROUPE_ASSERT(steps > 0 || epochs > 0, "neither steps nor epochs given");
  if (epochs == 0)
    return steps;
  const auto of_epochs = steps_for_epochs(epochs);
  return steps == 0 ? of_epochs : std::min(steps, of_epochs);
}

std::uint64_t BatchPlan::epochs_in_flight() const {
  return (global_batch() + rows_ - 1) / rows_ + 1;
}

Range block(std::uint64_t rows, std::uint32_t blocks, std::uint32_t v) {
  TROUPE_ASSERT(v < blocks, "no such block");
  const auto size = rows / blocks;
  const auto larger = rows % blocks;
  return {v * size + std::min<std::uint64_t>(v, larger), size + (v < larger)};
}

} // namespace troupe::data

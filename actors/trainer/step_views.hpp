// What a trainer sees during one step, as views of memory that the engine points them at: gradients over a
// leaf of the reduction or over the mean, the batch of one virtual worker, facts of the step, and the sums of
// an evaluation. Made once per engine and pointed anew each step, so a step allocates nothing. Trainer's
// thread.
#pragma once

#include "actors/trainer/model_state.hpp"
#include "data/feeder.hpp"
#include "troupe/metrics.hpp"
#include "troupe/step.hpp"

#include <optional>

namespace troupe {

class StepGradients final : public Gradients {
public:
  explicit StepGradients(const ModelState& model) : model_(&model) {}
  /// `leaf` has model.leaf_floats(); `next_virtual` has model.virtual_bytes(), or is null for the mean.
  void point(float* leaf, std::byte* next_virtual) {
    leaf_ = leaf;
    next_virtual_ = next_virtual;
  }

  Tensor of(std::string_view parameter) override;
  ConstTensor of(std::string_view parameter) const override;
  Tensor stat(std::string_view name) override;
  ConstTensor stat(std::string_view name) const override;
  Tensor virtual_state(std::string_view name) override;
  void ready(std::string_view parameter) override;

private:
  const LeafPart& part(std::string_view name, bool statistic) const;
  Tensor view(const LeafPart& part) const;

  const ModelState* model_;
  float* leaf_ = nullptr;
  std::byte* next_virtual_ = nullptr;
};

class StepBatch final : public Batch {
public:
  StepBatch(const data::Dataset& dataset, std::uint64_t seed, std::uint64_t capacity);

  data::BatchBuffer& buffer() { return buffer_; }
  /// After the buffer was filled.
  void point(Step step, std::uint64_t epoch, std::uint32_t phase, std::uint32_t virtual_worker,
             bool evaluation);

  Step step() const override { return step_; }
  std::uint64_t epoch() const override { return epoch_; }
  std::uint32_t phase() const override { return phase_; }
  std::uint32_t virtual_worker() const override { return virtual_worker_; }
  std::size_t size() const override { return buffer_.size(); }
  std::span<const SampleId> ids() const override { return buffer_.ids(); }
  ConstTensor field(std::string_view name) const override;
  Random random() const override;
  void* stream() const override;

private:
  const data::Dataset* dataset_;
  std::uint64_t seed_;
  data::BatchBuffer buffer_;
  std::vector<Shape> shapes_; ///< by field; the first dimension is the batch's
  Step step_;
  std::uint64_t epoch_ = 0;
  std::uint32_t phase_ = 0;
  std::uint32_t virtual_worker_ = 0;
  bool evaluation_ = false;
};

/// Sum of squares of `values` as float64 in a fixed order: blocks of 4096 elements, each summed in eight
/// lanes, blocks and lanes by the binary tree of the reduction. The same bits on every host.
double sum_of_squares(std::span<const float> values);

/// The reduction tree over values[0 … n): node (l, i) sums [i·2^l, (i+1)·2^l); a missing child is passed
/// through. Leaves the sum in values[0]; 0 for no values.
double tree_sum(std::span<double> values);

struct StepFacts {
  Step step;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  std::uint64_t total_steps = 0;
  std::uint64_t global_batch = 0;
  std::uint32_t phase = 0;
  std::uint32_t members = 0;
  Loss loss;
  bool finite = true;
};

class StepFactsView final : public StepInfo {
public:
  explicit StepFactsView(std::uint64_t seed) : seed_(seed) {}
  /// `mean`: gradients of the parameters, valid until the next call.
  void point(const StepFacts& facts, std::span<const float> mean);
  bool members_used() const { return members_used_; }

  Step step() const override { return facts_.step; }
  std::uint64_t epoch() const override { return facts_.epoch; }
  std::uint64_t position() const override { return facts_.position; }
  std::uint64_t total_steps() const override { return facts_.total_steps; }
  std::uint64_t global_batch() const override { return facts_.global_batch; }
  std::uint32_t phase() const override { return facts_.phase; }
  Loss loss() const override { return facts_.loss; }
  bool finite() const override { return facts_.finite; }
  double global_norm() const override;
  std::uint32_t members() const override {
    members_used_ = true;
    return facts_.members;
  }
  Random random(std::string_view tensor) const override;

private:
  std::uint64_t seed_;
  StepFacts facts_;
  std::span<const float> mean_;
  mutable std::optional<double> norm_;
  mutable bool members_used_ = false;
};

} // namespace troupe

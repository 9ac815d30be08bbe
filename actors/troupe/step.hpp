// What a trainer is given for one step: the batch of one virtual worker, the place for its gradient, the reduced
// mean, and facts about the step. All are views of memory the runtime owns and are valid only during the call.
#pragma once

#include "troupe/ids.hpp"
#include "troupe/random.hpp"
#include "troupe/tensor.hpp"

namespace troupe {

/// Loss of one virtual worker's share: `sum` over its samples and the `weight` (usually their number) by which the
/// job's mean is weighted. The mean gradient is (sum of all gradients) / (sum of all weights), so `gradient` writes
/// sums over its samples, not means.
struct Loss {
  double sum = 0;
  double weight = 0;
};

/// The samples of one virtual worker in one step, or of one block of an evaluation.
class Batch {
public:
  virtual ~Batch();
  virtual Step step() const = 0;
  virtual std::uint64_t epoch() const = 0;                ///< epoch of the first sample
  virtual std::uint32_t phase() const = 0;                ///< index into Trainer::phases(); 0 without phases
  virtual std::uint32_t virtual_worker() const = 0;
  virtual std::size_t size() const = 0;                   ///< samples; may be 0 in an evaluation block
  virtual std::span<const SampleId> ids() const = 0;      ///< [size]
  /// A field of the samples, [size, ...] row-major. Throws std::out_of_range that lists the fields there are.
  virtual ConstTensor field(std::string_view name) const = 0;
  /// Fresh stream keyed by (seed, step, virtual worker, phase): the same on every retry.
  virtual Random random() const = 0;
  /// The trainer's CUDA stream (a cudaStream_t). Throws NotYet: this version has no devices.
  virtual void* stream() const = 0;

  std::span<const float> f32(std::string_view name) const { return field(name).f32(); }
  std::span<const std::int32_t> i32(std::string_view name) const { return field(name).i32(); }
};

/// In `gradient`: zeroed tensors to add to. In `update`: the mean.
class Gradients {
public:
  virtual ~Gradients();
  /// Gradient of a parameter, its shape, f32. Throws std::out_of_range for an unknown name.
  virtual Tensor of(std::string_view parameter) = 0;
  virtual ConstTensor of(std::string_view parameter) const = 0;
  virtual Tensor stat(std::string_view name) = 0;
  virtual ConstTensor stat(std::string_view name) const = 0;
  /// In `gradient` only: the next value of this virtual worker's state, preset to the current one.
  virtual Tensor virtual_state(std::string_view name) = 0;
  /// Says that this gradient is complete, so that its reduction may start. Optional.
  virtual void ready(std::string_view parameter) = 0;

  Tensor operator[](std::string_view parameter) { return of(parameter); }
  ConstTensor operator[](std::string_view parameter) const { return of(parameter); }
};

class StepInfo {
public:
  virtual ~StepInfo();
  virtual Step step() const = 0;
  virtual std::uint64_t epoch() const = 0;           ///< epoch of the step's first sample
  virtual std::uint64_t position() const = 0;        ///< samples consumed before this step
  virtual std::uint64_t total_steps() const = 0;
  virtual std::uint64_t global_batch() const = 0;    ///< samples per step: V x micro_batch
  virtual std::uint32_t phase() const = 0;
  virtual Loss loss() const = 0;                     ///< reduced over all virtual workers
  virtual bool finite() const = 0;                   ///< no NaN or infinity in the reduced values
  /// Euclidean norm of the mean gradient, summed in a fixed order: the same bits for any number of workers.
  virtual double global_norm() const = 0;
  /// Workers in this generation. A trainer that calls this gives up the promise that the result does not depend on
  /// failures; the report says so under `modes`.
  virtual std::uint32_t members() const = 0;
  /// Stream keyed by (seed, step, tensor name).
  virtual Random random(std::string_view tensor) const = 0;
};

} // namespace troupe

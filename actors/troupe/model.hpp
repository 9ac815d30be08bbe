// The registered state of a training run. `build` registers every tensor once, in any order; after that names,
// shapes and addresses are fixed for the life of the process, and the runtime snapshots, restores, compares and
// checkpoints exactly what is registered here. Everything that `update` changes must be registered. Lives on the
// trainer's thread.
#pragma once

#include "troupe/random.hpp"
#include "troupe/tensor.hpp"

#include <functional>
#include <memory>

namespace troupe {

/// Fills a new tensor. `random` is keyed by (seed, tensor name). Called once, in generation 0; a restored tensor is
/// overwritten afterwards.
using Initialiser = std::function<void(Tensor, Random&)>;

Initialiser zeros();
Initialiser constant(double value);
/// Normal with mean 0 and the given standard deviation (f32, f64).
Initialiser normal(double stddev);
/// Uniform in [-bound, bound) (f32, f64).
Initialiser uniform(double bound);

/// One number that is part of the state: an optimizer's step counter, a loss scale. f64, exact up to 2^53.
class Scalar {
public:
  Scalar() = default;
  explicit Scalar(Tensor t) : tensor_(t) {}
  double get() const { return tensor_.f64()[0]; }
  void set(double value) { tensor_.f64()[0] = value; }
  const std::string& name() const { return tensor_.name(); }

private:
  Tensor tensor_;
};

class Model {
public:
  virtual ~Model();

  // Registration: only inside Trainer::build. All throw std::invalid_argument for an empty or repeated name, a name
  // that starts with "troupe/", a negative size, and NotYet for a place or dtype that this version cannot hold.
  // Names may contain '/'.

  /// A tensor that has a gradient: `Gradients` holds one of the same shape.
  virtual Tensor parameter(std::string name, Shape shape, Initialiser init = zeros(), DType dtype = DType::f32,
                           Place place = Place::host) = 0;
  /// State without a gradient that `update` changes: optimizer moments, running statistics.
  virtual Tensor buffer(std::string name, Shape shape, Initialiser init = zeros(), DType dtype = DType::f32,
                        Place place = Place::host) = 0;
  virtual Scalar scalar(std::string name, double initial = 0) = 0;
  /// State split over the workers (ZeRO). This version throws NotYet.
  virtual Tensor sharded(std::string name, Shape shape, Initialiser init = zeros(), DType dtype = DType::f32,
                         Place place = Place::host) = 0;
  /// One tensor of this shape for each virtual worker (recurrent state). `gradient` reads its own with
  /// Batch::virtual_worker() and writes the next value to Gradients::virtual_state(name); it becomes current when
  /// the step commits.
  virtual void virtual_state(std::string name, Shape shape, Initialiser init = zeros(), DType dtype = DType::f32,
                             Place place = Place::host) = 0;
  /// Declares a statistic that `gradient` writes with Gradients::stat(name): reduced like a gradient (summed over
  /// virtual workers, divided by the summed weights). f32.
  virtual void statistic(std::string name, Shape shape) = 0;

  // Access by name; throws std::out_of_range that names the nearest registered tensor.
  virtual Tensor tensor(std::string_view name) = 0;
  virtual ConstTensor tensor(std::string_view name) const = 0;
  virtual ConstTensor virtual_state_of(std::string_view name, std::uint32_t virtual_worker) const = 0;
};

} // namespace troupe

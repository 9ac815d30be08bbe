// The loop of a trainer that wants to own it. The default Trainer::run is written with nothing else:
//
//   while (session.begin()) {                        // waits for members; false when the job is done or stopping
//     for (auto v : session.virtual_workers())
//       session.gradient(v);                         // calls Trainer::gradient, or session.contribute(...) by hand
//     if (session.reduce())                          // false: a member died or values were not finite; begin() again
//       session.update();                            // calls Trainer::update and commits the step
//   }
//
// With phases, gradient/reduce/update are repeated per phase before the step commits. The runtime evaluates,
// snapshots, checkpoints and recovers inside begin(). Trainer's thread only. Exceptions of the trainer pass through.
#pragma once

#include "troupe/model.hpp"
#include "troupe/step.hpp"

#include <span>

namespace troupe {

class Session {
public:
  virtual ~Session();

  virtual bool begin() = 0;
  virtual std::span<const VirtualWorker> virtual_workers() const = 0; ///< this worker's block in this step and phase
  virtual void gradient(VirtualWorker v) = 0;
  virtual bool reduce() = 0;
  virtual void update() = 0;

  // By hand, instead of gradient() and update():
  virtual const Batch& batch(VirtualWorker v) = 0; ///< until contribute(v)
  virtual Gradients& gradients(VirtualWorker v) = 0;         ///< zeroed; fill, then contribute
  virtual void contribute(VirtualWorker v, Loss loss) = 0;   ///< once per virtual worker, phase and step
  virtual const Gradients& mean() const = 0;                 ///< after reduce() returned true
  virtual const StepInfo& info() const = 0;
  virtual Model& model() = 0;
  /// Ends the phase after the caller changed the model itself. The model may be changed only between begin_update
  /// and commit: a process that dies between them is never used as a source of this version.
  virtual void begin_update() = 0;
  virtual void commit() = 0;
};

} // namespace troupe

// A whole job in one process and one thread, all virtual workers in it, without time-outs: for a debugger
// (`troupe run --in-process`), for tests, and as the other side of `bench overhead`. Gives the bits of any
// other run. No checkpoints are written. The caller's thread is the trainer's.
#pragma once

#include "actors/worker/engine.hpp"
#include "actors/worker/job_data.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <set>

namespace troupe {

struct InProcessHooks {
  std::function<void(const StepRow&)> committed;
  std::function<void(const EvaluationRow&)> evaluated;
  const std::atomic<bool>* stop = nullptr;    ///< set: end after the step at hand
  std::function<Effect(FaultPoint, Step)> at; ///< faults for tests
  EngineObserver* observer = nullptr;
};

struct InProcessResult {
  EngineEnd end;
  Spent spent;
  std::uint64_t samples = 0;                               ///< of committed steps
  std::map<std::uint64_t, std::uint64_t> samples_by_count; ///< of finished epochs
  std::uint64_t finished_epochs = 0;
  std::uint64_t skipped_steps = 0;
  std::vector<std::pair<std::string, double>> metrics; ///< of the last evaluation
  double last_loss = 0;                                ///< sum / weight of the last step
  std::set<std::string> modes;
};

InProcessResult run_in_process(const JobConfig& job, Trainer& trainer, const JobData& data,
                               const InProcessHooks& hooks = {});

/// The loop anybody would write by hand around the same trainer, data and communicator: no versions, no
/// ledger, no evaluation, no recovery. Made once per process; needs a communicator with the shape of
/// layout().
class BareLoop {
public:
  /// Builds the trainer. Its exceptions pass through; std::invalid_argument when the layout is refused.
  BareLoop(const JobConfig& job, Trainer& trainer, const data::Dataset& train);
  ~BareLoop();

  const StateLayout& layout() const;
  /// Steps [0, steps) with the virtual workers [first, first + count) in this process; `done` counts them for others.
  result<void> run(Communicator& communicator, std::uint32_t first, std::uint32_t count, std::uint64_t steps,
                   std::atomic<std::uint64_t>& done);
  std::uint64_t model_digest() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace troupe

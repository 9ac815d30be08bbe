// One scripted run for `troupe check` and for tests: forked workers over a real segment and real slot banks,
// with chosen workers killed once in a chosen step and replaced. What each worker saw lies in memory shared
// with the caller. The forking process must have no threads.
#pragma once

#include "actors/worker/engine.hpp"
#include "actors/worker/job_data.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace troupe {

/// Bounded text in shared memory.
template <std::size_t N>
struct SharedText {
  char text[N];
  void set(std::string_view s);
  std::string get() const;
};

struct CheckScript {
  std::uint32_t workers = 1;
  std::vector<std::uint32_t> killed; ///< slots whose process dies once, by SIGKILL
  std::uint64_t kill_at = 0;
  FaultPoint where = FaultPoint::reduce;
  unsigned salt = 1;          ///< seeds rand() and its like differently in each process
  bool watch_gradient = true; ///< compare the registered state before and after each gradient()
};

/// Shape of everything a run needs, from a process that only builds the trainer.
struct CheckProbe {
  StateLayout layout;
  std::vector<std::string> pieces; ///< registered state, in name order
};

class CheckRun {
public:
  static constexpr std::uint32_t most_workers = 16;
  using MakeTrainer = std::function<result<std::unique_ptr<Trainer>>()>;

  /// `make` runs in each worker's process. `job.job.steps` is the number of steps.
  CheckRun(const JobConfig& job, const JobData& data, MakeTrainer make);
  ~CheckRun();

  /// Errc::invalid with the cause when the trainer cannot be made or built.
  result<CheckProbe> probe();

  struct Slot {
    std::atomic<std::uint32_t> drained; ///< newest generation drained
    std::atomic<std::uint32_t> dead;    ///< lives that ended by a kill
    std::atomic<std::uint32_t> finished;
    std::uint64_t model_digest;
    std::uint64_t resumed_step;
    std::uint64_t steps_lost;
    std::uint32_t failed; ///< FailureClass
    SharedText<2000> what;
    SharedText<40> during;
    std::uint64_t wrote_in_gradient; ///< step + 1; 0: never
    SharedText<201> wrote_to;
    std::uint64_t evaluation; ///< hash of the last evaluation's metrics
    std::uint64_t counts[data::Ledger::max_count];
    std::uint64_t strays;
    Spent spent;
  };

  /// What a run left. Valid until the next run.
  class Result {
  public:
    std::string cause; ///< empty: every worker finished
    std::uint32_t workers = 0;
    bool finished() const { return cause.empty(); }
    const Slot& slot(std::uint32_t s) const;
    /// XXH3 of piece `piece` after `step` steps in slot `s`; 0: that step was not seen there.
    std::uint64_t checksum(std::uint32_t s, std::uint64_t step, std::size_t piece) const;
    /// Its bytes; empty when the state is too large to keep.
    std::span<const std::byte> bytes(std::uint32_t s, std::uint64_t step, std::size_t piece) const;

  private:
    friend class CheckRun;
    std::shared_ptr<struct CheckMemory> memory;
  };
  Result run(const CheckScript& script, const CheckProbe& probe);

private:
  const JobConfig& job_;
  const JobData& data_;
  MakeTrainer make_;
};

} // namespace troupe

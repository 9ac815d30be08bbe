// The seam between the engine (the trainer's thread) and the process around it. The engine says what it did
// and asks what to do next; it knows nothing of actors, sockets, nodes or the master. Production implements
// this with the CAF worker actor, `--in-process` and the bare loop of `bench overhead` with a loop-back. All
// calls come on the trainer's thread, also next(), which opens the communicator there because the life-lock
// belongs to the thread that took it. The port may abort the communicator it handed out from any thread; that
// is the one way to call the engine back to its boundary. Calls marked "every step" allocate nothing, take no
// lock and format nothing.
#pragma once

#include "actors/kernel/orders.hpp"
#include "checkpoint/slot_bank.hpp"
#include "comm/communicator.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

using checkpoint::BankLayout;
using checkpoint::SlotBank;

/// What the engine needs memory and a segment for. Known once the trainer is built, the same in every worker.
struct StateLayout {
  std::uint64_t hash = 0; ///< of the bank's layout, kinds of state, V and phases: must agree among members
  BankLayout bank; ///< pieces of a version; the runtime's own ("troupe/…") do not count for the digest
  std::uint64_t leaf_floats = 0;      ///< the communicator's leaf(v)
  std::uint64_t leaf_doubles = 0;     ///< leaf_f64(v)
  std::uint64_t attachment_bytes = 0; ///< attachment(v), a multiple of 64
  std::uint32_t virtual_workers = 0;
};

/// A bank that holds the resume point of a plan, mapped read-only.
struct SourceBank {
  Source source;
  std::shared_ptr<SlotBank> bank;
  std::string name; ///< "local", "worker 2", "checkpoint", …: shown as restore_source
};

/// One generation, ready to be joined. The engine drops it (and with it the communicator) once it has
/// drained.
struct Assignment {
  Term term;
  Plan plan;
  Rank rank; ///< mine
  std::shared_ptr<Communicator> communicator;
  std::shared_ptr<SlotBank> bank;  ///< mine; the same object for the life of the process
  std::vector<SourceBank> sources; ///< best first; empty when the plan resumes at (0, 0) as built
  Time ordered{};                  ///< when the plan arrived
};

struct Order {
  enum class Kind : std::uint8_t {
    form,   ///< join `assignment`
    drain,  ///< promise not to go on with generations <= `generation`; asked of an engine that already waits
            ///< in next()
    finish, ///< everybody is finished: leave
    stop,   ///< leave, the job goes on without this worker or ends unfinished
  };
  Kind kind = Kind::stop;
  Generation generation; ///< when drain
  std::string cause;
  std::unique_ptr<Assignment> assignment;
};

/// Trainer-thread time since the engine was made, by what it was for. Sums to the elapsed time.
struct Spent {
  Duration build{}; ///< load and build
  Duration idle{};  ///< in no generation, waiting for an order
  Duration connect{};
  Duration restore{}; ///< pulling, copying, verifying
  Duration useful{};  ///< gradient and update of steps that were committed
  Duration lost{};    ///< the same of steps that an abort threw away
  Duration wait{};    ///< in the reduction
  Duration evaluation{};
  Duration snapshot{};
  Duration drain{}; ///< from the abort to the drained report
};

/// The engine's present statement about itself: whole, replaces the one before. Not on the path of a step.
struct EngineReport {
  WorkerPhase phase = WorkerPhase::starting; ///< ready, connecting, restoring, running, drained, finished
  Generation generation;
  Step step;                      ///< next step to compute
  std::vector<Holding> holdings;  ///< complete when ready, drained or finished
  std::uint64_t model_digest = 0; ///< when finished
  std::uint64_t layout = 0;
  Milestones times; ///< of the present change of generation; reported again after its first step
  std::string restore_source;
  std::string cause;            ///< when drained: why the last generation ended
  std::uint64_t steps_lost = 0; ///< this life: steps begun and thrown away
};

/// What the trainer's thread is in; for the hang detector, the flight recorder and stack requests.
enum class Activity : std::uint8_t {
  idle,
  building,
  connecting,
  restoring,
  gradient,
  reduce,
  update,
  snapshot,
  evaluation,
  draining
};

/// One line of metrics per committed step. The same bits on every member but `at`.
struct StepRow {
  Step step; ///< the step that was committed (it made version step + 1)
  Generation generation;
  std::uint64_t epoch = 0;
  std::uint64_t samples = 0; ///< in this step
  double loss_sum = 0;
  double loss_weight = 0;
  std::int64_t at = 0; ///< wall clock, ns; 0 inside the state
  std::uint32_t members = 0;
  std::uint32_t skipped = 0; ///< 1: values were not finite and job.nonfinite = "skip"
};

/// Result of one evaluation of version `step`, the same bits on every member.
struct EvaluationRow {
  Step step;
  Generation generation;
  std::vector<std::pair<std::string, double>> metrics; ///< value = sum / weight
  bool best = false; ///< improved [evaluation] metric, or on_metrics said keep_best
  bool stop = false; ///< on_metrics, or patience: the job ends at this step
};

enum class FaultPoint : std::uint8_t { gradient, reduce, update, snapshot, drain, restore };

/// What a chaos hook asks of the engine itself. Kills and stops are carried out by the port inside at().
struct Effect {
  bool nan = false;  ///< write a NaN into this worker's next contribution
  bool flip = false; ///< flip one bit of the model after the update
  double slow = 1;   ///< make this phase take so many times as long
};

class WorkerPort {
public:
  virtual ~WorkerPort() = default;

  /// The trainer is built. The port makes or finds the slot's bank (its versions of an earlier life stay) and
  /// gives it back; it is called once. State to start from (job.init_from) comes as a source of plan (0, 0).
  virtual result<std::shared_ptr<SlotBank>> built(const StateLayout& layout) = 0;
  /// Waits until there is something to do. Opens the communicator of a plan; if that fails it says so to the
  /// master itself and goes on waiting.
  virtual Order next() = 0;
  virtual void report(const EngineReport& report) = 0;

  /// Every step, several times.
  virtual void enter(Activity activity, Step step, Time now) = 0;
  virtual Effect at(FaultPoint point, Step step) = 0;
  /// Every step, after its commit. Rank 0 is where the master takes metrics from; all members call it.
  virtual void committed(const StepRow& row, const Spent& spent) = 0;
  /// Every step, at the boundary: number of a save request that is due for this version or an earlier one; 0:
  /// none.
  virtual std::uint64_t wanted_save(Step version) = 0;

  /// A version was published and pinned in the own bank, to be persisted. `request` 0: the engine's own wish.
  virtual void saved(std::uint64_t request, PieceKey key, std::uint32_t slot, bool best) = 0;
  virtual void evaluated(const EvaluationRow& row) = 0;
  /// After a restore on rank 0: rows of the steps before the resume point that the version carries (at most
  /// 256).
  virtual void rows_restored(std::span<const StepRow> rows) = 0;
  /// Members' digests of a version differ: everything after the last agreed step is void.
  virtual void digest_mismatch(Generation generation, Step step, std::span<const std::uint64_t> by_rank) = 0;
  /// A promise was given up, or something was tuned; shown under `modes`. Repeated calls with the same text
  /// are fine.
  virtual void mode(std::string_view what) = 0;
};

constexpr std::string_view to_string(Activity a) {
  constexpr std::string_view names[] = {"idle",   "building", "connecting", "restoring",  "gradient",
                                        "reduce", "update",   "snapshot",   "evaluation", "draining"};
  return names[static_cast<unsigned>(a)];
}
constexpr std::string_view to_string(FaultPoint p) {
  constexpr std::string_view names[] = {"gradient", "reduce", "update", "snapshot", "drain", "restore"};
  return names[static_cast<unsigned>(p)];
}

} // namespace troupe

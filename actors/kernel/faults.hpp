// Injected faults: which wait for whom, and that each strikes once. A fault is marked as fired, and the record made
// durable, before anybody is told to let it happen; after a restart a fired one stays fired. A new term brings its own
// list: what both lists have goes on, by its sentence.
#pragma once

#include "actors/kernel/kernel.hpp"
#include "actors/kernel/settings.hpp"

namespace troupe {

struct FaultOrder {
  std::uint32_t id = 0;
  FaultKind kind = FaultKind::kill;
  std::uint32_t rank = 0;      ///< of the generation at hand
  Step step;
  Step until;
  FaultPhase phase = FaultPhase::any;
  std::uint32_t percent = 0;
  Duration lasts{};
  bool fired = false;          ///< slow only: goes on until `until` without asking again
  FaultTarget target = FaultTarget::worker; ///< else the worker only says that the step is reached, and goes on
  friend bool operator==(const FaultOrder&, const FaultOrder&) = default;
  TROUPE_FIELDS(id, kind, rank, step, until, phase, percent, lasts, fired, target)
};

/// All faults that workers must look out for, whole; to every node, and by it to every worker.
struct ArmedFaults {
  static constexpr std::string_view tag = "armed_faults";
  static constexpr bool external = true;
  Term term;
  std::uint64_t sequence = 0;
  std::vector<FaultOrder> faults;
  friend bool operator==(const ArmedFaults&, const ArmedFaults&) = default;
  TROUPE_FIELDS(term, sequence, faults)
};

/// A worker stands at an armed fault and waits for FireFault (asks again after limits.lost_after / 2).
struct FaultReached {
  static constexpr std::string_view tag = "fault_reached";
  std::uint32_t id = 0;
  WorkerKey worker;
  Step step;
  friend bool operator==(const FaultReached&, const FaultReached&) = default;
  TROUPE_FIELDS(id, worker, step)
};

/// The answer: let it happen in this worker, or (`fire` false) go on without.
struct FireFault {
  static constexpr std::string_view tag = "fire_fault";
  static constexpr bool external = true;
  Term term;
  std::uint32_t id = 0;
  WorkerKey worker;
  bool fire = false;
  std::string reason;
  friend bool operator==(const FireFault&, const FireFault&) = default;
  TROUPE_FIELDS(term, id, worker, fire, reason)
};

/// SIGKILL to this worker, by its node, at once (Poisson faults, `troupe kill`).
struct KillWorker {
  static constexpr std::string_view tag = "kill_worker";
  static constexpr bool external = true;
  Term term;
  std::uint32_t id = 0;
  WorkerKey worker;
  std::string reason;
  friend bool operator==(const KillWorker&, const KillWorker&) = default;
  TROUPE_FIELDS(term, id, worker, reason)
};

/// SIGKILL to the master's own process, once the record of it is durable.
struct KillMaster {
  static constexpr std::string_view tag = "kill_master";
  static constexpr bool external = true;
  std::uint32_t id = 0;
  std::string reason;
  friend bool operator==(const KillMaster&, const KillMaster&) = default;
  TROUPE_FIELDS(id, reason)
};

/// `troupe kill worker R`.
struct KillRequest {
  static constexpr std::string_view tag = "kill_request";
  std::uint32_t rank = 0;
  std::string reason;
  friend bool operator==(const KillRequest&, const KillRequest&) = default;
  TROUPE_FIELDS(rank, reason)
};

/// The same faults with ids made from their sentences: an old record or worker never means another fault of a new list.
std::vector<FaultSpec> numbered(std::vector<FaultSpec> faults);

class FaultsKernel {
public:
  static constexpr std::string_view name = "faults";
  using Event = std::variant<Started, PeerRestarted, Tick, Formed, FaultReached, KillRequest, JobFinished, StopAll,
                             FailJob>;
  using Action = std::variant<ArmedFaults, FireFault, KillWorker, WakeAt, KillMaster>;

  struct Fault {
    FaultSpec spec;
    std::uint32_t fired = 0;    ///< times
    WorkerKey by;               ///< the life it fired in last
    Step at;
    Time next{};                ///< Poisson: next strike; epoch: not drawn yet
    friend bool operator==(const Fault&, const Fault&) = default;
    TROUPE_FIELDS(spec, fired, by, at, next)
  };
  struct State {
    Term term;
    std::uint64_t sequence = 0;
    std::vector<Fault> faults;
    std::vector<WorkerKey> members;
    Generation generation;
    bool ended = false;
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(term, sequence, faults, members, generation, ended)
  };

  explicit FaultsKernel(KernelSettings settings);
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

private:
  struct Turn;
  KernelSettings settings_;
  State state_;
};

/// Sentences of faults that were armed and never fired; Poisson ones are exempt. Not empty at the end: exit status 3.
std::vector<std::string> never_fired(const FaultsKernel::State&);

} // namespace troupe

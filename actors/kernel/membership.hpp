// Which workers there are, which should be, and which lives of them have ended. The only place that makes
// incarnations, restarts workers and counts failures. Facts come from nodes; what they imply for others goes out as one
// Roster. Invariants:
//   - a slot's wanted incarnation only grows, also over restarts of the master;
//   - a row moves to a new incarnation only when its node says so, and then the old life is over;
//   - every life is charged to a budget at most once; a start-up error is never retried;
//   - clocks that watch others start anew with Started, a late Tick and a new life of a peer.
#pragma once

#include "actors/kernel/kernel.hpp"
#include "actors/kernel/settings.hpp"

namespace troupe {

/// One worker as its node heard it since the last Alive.
struct Heard {
  SlotId slot;
  Incarnation incarnation;
  Generation generation;
  Step step;                  ///< next step to compute
  std::uint64_t progress = 0; ///< anything done at all: grows
  bool waiting = false;       ///< in a collective, for others
  bool debugged = false;      ///< a debugger is attached: never timed out
  Duration allowance{};       ///< declared span (build, evaluation, checkpoint, first step): no progress needed for so long
  friend bool operator==(const Heard&, const Heard&) = default;
  TROUPE_FIELDS(slot, incarnation, generation, step, progress, waiting, debugged, allowance)
};

/// Heartbeat of a node; lists the workers it has itself heard since the last one.
struct Alive {
  static constexpr std::string_view tag = "alive";
  static constexpr bool transient = true;
  NodeId node;
  Incarnation agent;
  Term term;
  std::vector<Heard> heard;
  friend bool operator==(const Alive&, const Alive&) = default;
  TROUPE_FIELDS(node, agent, term, heard)
};

struct NodeLost {
  static constexpr std::string_view tag = "node_lost";
  NodeId node;
  Incarnation agent;
  std::string reason;
  friend bool operator==(const NodeLost&, const NodeLost&) = default;
  TROUPE_FIELDS(node, agent, reason)
};

/// Workers wanted in all, from now on.
struct ScaleTarget {
  static constexpr std::string_view tag = "scale_target";
  std::uint32_t count = 0;
  std::string reason;
  friend bool operator==(const ScaleTarget&, const ScaleTarget&) = default;
  TROUPE_FIELDS(count, reason)
};

/// End these lives and start new ones; costs no budget.
struct RestartWorkers {
  static constexpr std::string_view tag = "restart_workers";
  std::vector<WorkerKey> workers;
  std::string reason;
  friend bool operator==(const RestartWorkers&, const RestartWorkers&) = default;
  TROUPE_FIELDS(workers, reason)
};

/// After StopAll or FailJob: no worker is left on any node that still speaks.
struct AllStopped {
  static constexpr std::string_view tag = "all_stopped";
  static constexpr bool external = true;
  std::string reason;
  friend bool operator==(const AllStopped&, const AllStopped&) = default;
  TROUPE_FIELDS(reason)
};

/// A life ended that was not told to: once per life, for the report and the console.
struct WorkerFailed {
  static constexpr std::string_view tag = "worker_failed";
  static constexpr bool external = true;
  WorkerKey worker;
  Failure failure;
  std::uint32_t in_window = 0; ///< failures of its class in the window, this one included
  std::uint32_t allowed = 0;
  std::string reason;          ///< what is done about it
  friend bool operator==(const WorkerFailed&, const WorkerFailed&) = default;
  TROUPE_FIELDS(worker, failure, in_window, allowed, reason)
};

class MembershipKernel {
public:
  static constexpr std::string_view name = "membership";
  using Event = std::variant<Started, PeerRestarted, Tick, NodeReport, Alive, NodeLost, Suspect, ScaleTarget,
                             RestartWorkers, Formed, JobFinished, StopAll, FailJob>;
  using Action = std::variant<SlotsOrder, Roster, Suspect, NodeLost, DrainRequest, Advanced, WorkerFailed, FailJob,
                              AllStopped, WakeAt>;

  struct Slot {
    RosterRow row;
    std::int64_t pid = 0;
    Incarnation ordered;          ///< newest incarnation ever wanted here; >= row.worker.incarnation
    bool kill = false;            ///< the life before `ordered`, or the present one, is to be killed
    bool retiring = false;        ///< its end is ordered: not a failure
    bool charged = false;         ///< the present life's end was counted
    std::uint32_t fruitless = 0;  ///< lives in a row that took no step
    bool backing_off = false;
    Time not_before{};            ///< of the next start, when backing off
    friend bool operator==(const Slot&, const Slot&) = default;
    TROUPE_FIELDS(row, pid, ordered, kill, retiring, charged, fruitless, backing_off, not_before)
  };
  struct Node {
    NodeId node;
    Incarnation agent;
    std::uint64_t sequence = 0;   ///< of the newest report
    std::uint64_t order = 0;      ///< sequence of the newest SlotsOrder
    bool lost = false;
    std::string host;
    std::int64_t pid = 0;
    std::vector<Slot> slots;
    friend bool operator==(const Node&, const Node&) = default;
    TROUPE_FIELDS(node, agent, sequence, order, lost, host, pid, slots)
  };
  struct Charge {
    FailureClass kind = FailureClass::none;
    Time at{};
    friend bool operator==(const Charge&, const Charge&) = default;
    TROUPE_FIELDS(kind, at)
  };
  struct State {
    Term term;
    std::uint64_t version = 0;      ///< of the roster
    std::uint32_t target = 0;
    std::vector<Node> nodes;        ///< by id
    std::vector<Charge> charges;    ///< within the window
    std::vector<WorkerKey> members; ///< of the newest formed generation
    Generation generation;
    bool stopping = false;
    bool failed = false;
    bool stopped = false;           ///< AllStopped was said
    std::string why;                ///< of the stop
    Failure first;                  ///< first failure of the job
    WorkerKey first_worker;
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(term, version, target, nodes, charges, members, generation, stopping, failed, stopped, why, first,
                  first_worker)
  };

  explicit MembershipKernel(KernelSettings settings);
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state);

private:
  struct Turn;                // one call of on(): collects actions, notices what changed
  struct Watch {              // volatile: what heartbeats told about one worker
    WorkerKey worker;
    Time heard{};             // epoch: not yet in this life
    Time moved{};             // last time it made progress, or waited, or was in a declared span
    Time stepped{};
    std::uint64_t progress = 0;
    Step step;
    bool waiting = false;
  };
  struct NodeWatch {
    NodeId node;
    Time heard{};
  };

  KernelSettings settings_;
  State state_;
  // Volatile, not in State: see kernel.hpp.
  std::vector<Watch> watches_;
  std::vector<NodeWatch> node_watches_;
  std::vector<Duration> step_times_;
  Time clocks_from_{};        // nobody is judged by anything before
  Advanced told_;
};

} // namespace troupe

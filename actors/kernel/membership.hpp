// Which workers there are, which should be, and which lives of them have ended. The only place that makes
// incarnations, restarts workers and counts failures. Facts come from nodes; what they imply for others goes out as one
// Roster. Invariants:
//   - a slot's wanted incarnation only grows, also over restarts of the master;
//   - a row moves to a new incarnation only when its node says so, and then the old life is over;
//   - every life is charged to a budget at most once; a start-up error is never retried;
//   - clocks that watch others start anew with Started, a late Tick and a new life of a peer;
//   - a job that was ending when its master died is ended by the next one, if the nodes are still the same (RunFound).
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
  Duration allowance{};       ///< in a declared span (evaluation, restore): no progress is needed for so long
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
                              AllStopped, WakeAt, StopAll, RunFound>;

  struct Slot {
    RosterRow row;
    std::int64_t pid = 0;
    Incarnation ordered;          ///< newest incarnation ever wanted here; >= row.worker.incarnation
    bool kill = false;            ///< the life before `ordered`, or the present one, is to be killed
    bool retiring = false;        ///< its end is ordered: not a failure
    bool charged = false;         ///< the present life's end was counted
    std::uint32_t fruitless = 0;  ///< lives in a row that took no step
    Time not_before{};            ///< of the next start; epoch: at once
    Time unwanted_since{};        ///< epoch: wanted
    friend bool operator==(const Slot&, const Slot&) = default;
    TROUPE_FIELDS(row, pid, ordered, kill, retiring, charged, fruitless, not_before, unwanted_since)
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
    WorkerKey worker;
    Failure failure;
    Time at{};
    friend bool operator==(const Charge&, const Charge&) = default;
    TROUPE_FIELDS(worker, failure, at)
  };
  struct State {
    Term term;
    std::uint64_t version = 0;      ///< of the roster
    std::uint32_t target = 0;
    std::vector<Node> nodes;        ///< by id
    std::vector<Charge> charges;    ///< within their windows, oldest first
    std::vector<WorkerKey> members; ///< of the newest formed generation
    Generation generation;
    bool finished = false;          ///< all steps are done: nobody is replaced any more
    bool stopping = false;          ///< all workers are to leave
    bool failed = false;
    bool stopped = false;           ///< AllStopped was said
    std::string why;                ///< of the stop
    FailJob failure;                ///< said here or heard; no cause: none
    bool earlier = false;           ///< the end was said in an earlier term: it counts if the run is still that one
    Term judged;                    ///< newest in which RunFound was said
    bool kept = false;              ///< as it said
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(term, version, target, nodes, charges, members, generation, finished, stopping, failed, stopped,
                  why, failure, earlier, judged, kept)
  };

  explicit MembershipKernel(KernelSettings settings);
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state);

private:
  friend struct MembershipTurn;
  /// What heartbeats told about one life of a worker.
  struct Watch {
    WorkerKey worker;
    Time heard{};              ///< epoch: not yet in this life of the master
    Time moved{};              ///< made progress or waited for others
    Time worked{};             ///< made progress
    std::uint64_t progress = 0;
    Duration allowance{};
    Generation generation;
    Step step;
    Time stepped{};
    bool waiting = false;
    bool debugged = false;
  };
  struct NodeWatch {
    NodeId node;
    Time heard{};
  };
  /// Volatile: no part of State (see kernel.hpp).
  struct Volatile {
    std::vector<Watch> workers;
    std::vector<NodeWatch> nodes;
    std::vector<Duration> steps; ///< newest last, at most 64
    Time started{};              ///< this life of the master
    Time clocks_from{};          ///< nobody is judged by anything before
    Time next_tick{};
    Advanced told;
  };

  KernelSettings settings_;
  State state_;
  Volatile volatile_;
};

} // namespace troupe

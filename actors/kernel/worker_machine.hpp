// The worker's own step machine: which orders it obeys, what it promised, what it says of itself. Sits in the worker
// actor between the node (orders come in, one SlotFact goes out) and the trainer's thread. Invariants:
//   - `promised` only grows; a generation <= promised is never joined again, not even by an order that comes late;
//   - a generation is joined only when the engine is in none; otherwise the one before is aborted and drained first;
//   - of two orders the larger (term, sequence) counts; one that was obeyed already changes nothing.
#pragma once

#include "actors/kernel/kernel.hpp"

namespace troupe {

/// An order of the node for this worker alone: leave in order.
struct LeaveOrder {
  static constexpr std::string_view tag = "leave_order";
  std::string reason;
  friend bool operator==(const LeaveOrder&, const LeaveOrder&) = default;
  TROUPE_FIELDS(reason)
};

/// The engine's present statement (EngineReport), in the words of a SlotFact.
struct EngineSaid {
  static constexpr std::string_view tag = "engine_said";
  SlotFact fact;
  friend bool operator==(const EngineSaid&, const EngineSaid&) = default;
  TROUPE_FIELDS(fact)
};

/// Plan `generation` could not be opened (segment, life-lock, source); the engine is still waiting.
struct OpenFailed {
  static constexpr std::string_view tag = "open_failed";
  Generation generation;
  std::string what;
  friend bool operator==(const OpenFailed&, const OpenFailed&) = default;
  TROUPE_FIELDS(generation, what)
};

/// To the engine: join this generation (it waits in next()).
struct Join {
  static constexpr std::string_view tag = "join";
  Plan plan;
  Rank rank;
  std::string reason;
  friend bool operator==(const Join&, const Join&) = default;
  TROUPE_FIELDS(plan, rank, reason)
};

/// To the communicator of `generation`: poison it, so that the engine comes back to its boundary and drains.
struct Abort {
  static constexpr std::string_view tag = "abort";
  Generation generation;
  std::string reason;
  friend bool operator==(const Abort&, const Abort&) = default;
  TROUPE_FIELDS(generation, reason)
};

/// To the engine: leave next() for good. `finished`: all is done.
struct Leave {
  static constexpr std::string_view tag = "leave";
  bool finished = false;
  std::string reason;
  friend bool operator==(const Leave&, const Leave&) = default;
  TROUPE_FIELDS(finished, reason)
};

/// To the node: the worker's whole statement.
struct Report {
  static constexpr std::string_view tag = "report";
  SlotFact fact;
  friend bool operator==(const Report&, const Report&) = default;
  TROUPE_FIELDS(fact)
};

class WorkerMachine {
public:
  static constexpr std::string_view name = "worker_machine";
  using Event = std::variant<GenerationOrder, LeaveOrder, EngineSaid, OpenFailed, PeerRestarted>;
  using Action = std::variant<Join, Abort, Leave, Report>;

  struct State {
    WorkerKey self;
    Term term;
    std::uint64_t sequence = 0;   ///< of the newest order
    GenerationOrder order;        ///< newest
    Generation promised;          ///< drained for all up to this one
    Generation inside;            ///< generation the engine was told to join; 0: it is in none
    bool aborting = false;        ///< `inside` was poisoned by us
    bool leaving = false;
    bool left = false;            ///< Leave was said
    std::string cause;
    SlotFact fact;                ///< what was said last
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(self, term, sequence, order, promised, inside, aborting, leaving, left, cause, fact)
  };

  explicit WorkerMachine(WorkerKey self);
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

private:
  struct Turn;
  State state_;
};

} // namespace troupe

// Answers every end of a generation with a plan: who takes part (the strategy says), from which version (the inventory
// says), who sends it. Owns the lineage: every planned generation with its resume point, which is what makes versions
// void. Invariants:
//   - version (s, g) is valid iff s <= resume.step of every planned generation > g; a void one is never a resume point;
//   - a plan is made only for a drained generation, has min <= N <= min(max, V) members, all ready or drained;
//   - generation numbers only grow.
#pragma once

#include "actors/kernel/kernel.hpp"
#include "actors/kernel/settings.hpp"
#include "troupe/strategy.hpp"

namespace troupe {

struct FoundCheckpoint {
  PieceKey key;
  std::uint64_t digest = 0;
  std::string path;
  bool best = false;
  friend bool operator==(const FoundCheckpoint&, const FoundCheckpoint&) = default;
  TROUPE_FIELDS(key, digest, path, best)
};

/// All checkpoints that can be read now, whole.
struct CheckpointsFound {
  static constexpr std::string_view tag = "checkpoints_found";
  std::vector<FoundCheckpoint> checkpoints;
  friend bool operator==(const CheckpointsFound&, const CheckpointsFound&) = default;
  TROUPE_FIELDS(checkpoints)
};

/// `troupe pause` and `unpause`.
struct Pause {
  static constexpr std::string_view tag = "pause";
  bool on = false;
  std::string reason;
  friend bool operator==(const Pause&, const Pause&) = default;
  TROUPE_FIELDS(on, reason)
};

/// A worker should be replaced soon: it was told that its host goes away, or it is slow.
struct Notice {
  static constexpr std::string_view tag = "notice";
  WorkerKey worker;
  bool straggler = false;
  std::string reason;
  friend bool operator==(const Notice&, const Notice&) = default;
  TROUPE_FIELDS(worker, straggler, reason)
};

/// What the strategy decided, for the console and the report.
struct StrategyNote {
  static constexpr std::string_view tag = "strategy_note";
  static constexpr bool external = true;
  std::string strategy;
  std::string event;
  std::string decision;
  std::string reason;
  friend bool operator==(const StrategyNote&, const StrategyNote&) = default;
  TROUPE_FIELDS(strategy, event, decision, reason)
};

class RecoveryKernel {
public:
  static constexpr std::string_view name = "recovery";
  using Event = std::variant<Started, PeerRestarted, Tick, Roster, Drained, Formed, CheckpointsFound, DigestMismatch,
                             Pause, Notice, JobFinished, StopAll, FailJob>;
  using Action = std::variant<Plan, DrainRequest, RestartWorkers, StrategyNote, FailJob, WakeAt>;

  struct Ancestor {
    Generation generation;
    PieceKey resume;
    friend bool operator==(const Ancestor&, const Ancestor&) = default;
    TROUPE_FIELDS(generation, resume)
  };
  struct State {
    Term term;
    std::vector<Ancestor> lineage;     ///< ascending; one that a later lower resume point implies is left out
    Generation newest;                 ///< largest number ever planned or reported
    std::vector<FoundCheckpoint> checkpoints;
    Roster roster;
    bool drained = false;              ///< a plan is due (and `planned` not yet sent)
    Drained last;                      ///< newest drained generation, without its roster
    Plan planned;                      ///< newest plan; announced or not
    std::vector<WorkerKey> members;    ///< of the running generation, by rank
    Generation running;                ///< 0: none runs
    bool limited = false;              ///< a digest mismatch: nothing after `ceiling` may be used by the next plan
    Step ceiling;
    std::vector<Time> mismatches;      ///< within the window
    bool paused = false;
    bool ended = false;
    Time below_since{};                ///< too few workers since; epoch: enough
    std::string first_cause;           ///< of the present shortage
    std::string strategy_state;        ///< reflect text
    Time strategy_wake{};              ///< epoch: none
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(term, lineage, newest, checkpoints, roster, drained, last, planned, members, running, limited,
                  ceiling, mismatches, paused, ended, below_since, first_cause, strategy_state, strategy_wake)
  };

  /// `strategy` null: the built-in one that settings name.
  explicit RecoveryKernel(KernelSettings settings, std::unique_ptr<Strategy> strategy = nullptr);
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state);

private:
  struct Turn;
  KernelSettings settings_;
  State state_;
  std::unique_ptr<Strategy> strategy_;
};

} // namespace troupe

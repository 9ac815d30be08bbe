// Answers every end of a generation with a plan: who takes part (the strategy says), from which version (the inventory
// says), who sends it. Owns the lineage: every planned generation with its resume point, which is what makes versions
// void. Invariants:
//   - version (s, g) is valid iff s <= resume.step of every planned generation > g; a void one is never a resume point;
//   - a plan is made only for a drained generation, has min <= N <= min(max, V) members, all ready or drained;
//   - generation numbers only grow.
#pragma once

#include "actors/kernel/membership.hpp"
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
    std::vector<Ancestor> lineage;     ///< ascending; those that a later, lower resume point implies are left out
    Generation newest;                 ///< largest number ever planned or heard of
    bool listed = false;               ///< this term's checkpoints are known
    std::vector<FoundCheckpoint> checkpoints;
    Roster roster;
    bool drained = false;              ///< a plan is due
    Generation ended_generation;       ///< newest that drained
    std::string ended_cause;
    Plan planned;                      ///< newest plan; announced or not
    Generation running;                ///< newest that formed
    Generation asked;                  ///< newest that a DrainRequest was sent for
    bool limited = false;              ///< digests of version `ceiling` differed: nothing after the last agreed version
    Step ceiling;                      ///< may be used by the next plan
    PieceKey mismatch;                 ///< newest that was told
    std::vector<Time> mismatches;      ///< within the window
    std::uint64_t layout = 0;          ///< that all workers must have built
    bool paused = false;
    bool ended = false;
    Time below_since{};                ///< too few workers since; epoch: enough
    std::string first_cause;           ///< of the present shortage
    std::string strategy_state;        ///< reflect text
    Time strategy_wake{};              ///< epoch: none
    std::string noted;                 ///< newest decision, so that the same one is said once
    FailJob failure;                   ///< said in this term; no cause: none
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(term, lineage, newest, listed, checkpoints, roster, drained, ended_generation, ended_cause, planned,
                  running, asked, limited, ceiling, mismatch, mismatches, layout, paused, ended, below_since,
                  first_cause, strategy_state, strategy_wake, noted, failure)
  };

  /// `strategy` null: the built-in one that settings name; asserts that there is one.
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

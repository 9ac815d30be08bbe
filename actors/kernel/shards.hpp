// Which steps and samples are final. In ordered mode the position is one number committed with the weights, so all
// that is decided here is which rows of metrics can no longer become void, and which epochs are done.
#pragma once

#include "actors/kernel/checkpoints.hpp"

namespace troupe {

/// Rows of steps < `before` of the present line can no longer become void: write them.
struct RowsFinal {
  static constexpr std::string_view tag = "rows_final";
  static constexpr bool external = true;
  Step before;
  std::string reason;
  friend bool operator==(const RowsFinal&, const RowsFinal&) = default;
  TROUPE_FIELDS(before, reason)
};

/// Rows of steps >= `from` made by generations < `generation` are void: forget them.
struct RowsVoid {
  static constexpr std::string_view tag = "rows_void";
  static constexpr bool external = true;
  Generation generation;
  Step from;
  std::string reason;
  friend bool operator==(const RowsVoid&, const RowsVoid&) = default;
  TROUPE_FIELDS(generation, from, reason)
};

/// All samples of epochs < `done` were trained by steps that are committed now.
struct EpochsDone {
  static constexpr std::string_view tag = "epochs_done";
  static constexpr bool external = true;
  std::uint64_t done = 0;
  Step step;
  friend bool operator==(const EpochsDone&, const EpochsDone&) = default;
  TROUPE_FIELDS(done, step)
};

class ShardsKernel {
public:
  static constexpr std::string_view name = "shards";
  using Event = std::variant<Started, PeerRestarted, Formed, Persisted, JobFinished>;
  using Action = std::variant<RowsFinal, RowsVoid, EpochsDone>;

  struct State {
    Generation generation;
    Step resumed;
    Step final_before;
    std::uint64_t epochs = 0;
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(generation, resumed, final_before, epochs)
  };

  explicit ShardsKernel(KernelSettings settings) : settings_(std::move(settings)) {}
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

private:
  KernelSettings settings_;
  State state_;
};

} // namespace troupe

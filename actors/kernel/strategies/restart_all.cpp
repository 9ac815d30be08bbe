// The baseline that others use: after any failure all workers are ended and started anew, and the newest checkpoint is
// loaded; what is in memory is ignored. Changes of size without a failure keep the state in memory.
#include "actors/kernel/strategies/built_in.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

struct Life {
  NodeId node;
  SlotId slot;
  Incarnation incarnation;
  friend bool operator==(const Life&, const Life&) = default;
  TROUPE_FIELDS(node, slot, incarnation)
};

struct RestartAllState {
  bool failed = true;       ///< memory is not to be trusted; also at the start
  Time since{};             ///< of the restart; epoch: not yet
  std::vector<Life> ended;  ///< lives that were told to end
  TROUPE_FIELDS(failed, since, ended)
};

class RestartAll final : public StrategyOf<RestartAllState> {
public:
  Decision on(const Event& event, const ClusterView& view, Time now) override {
    Decision d;
    if (event.kind == StrategyEventKind::failed || event.kind == StrategyEventKind::start)
      state.failed = true;
    if (event.kind == StrategyEventKind::cadence)
      state = {.failed = false, .since = {}, .ended = {}};
    if (!view.drained)
      return adjust(view);
    if (state.since == Time{})
      state.since = now;
    std::vector<WorkerView> usable = usable_in_order(view);
    if (state.failed) {
      std::vector<WorkerView> fresh;
      for (const WorkerView& w : usable) {
        Life life{w.node, w.slot, w.incarnation};
        const bool told = std::find(state.ended.begin(), state.ended.end(), life) != state.ended.end();
        if (w.member && !told) {
          state.ended.push_back(life);
          d.restart.push_back(w);
        } else if (!w.member && !told) {
          fresh.push_back(w);
        }
      }
      usable = fresh;
    }
    const std::uint32_t wanted = view.first ? std::min(view.start, most_members(view)) : most_members(view);
    const bool patient = (!d.restart.empty() || anybody_coming(view)) && now - state.since < view.gather;
    if (usable.size() < wanted && (usable.size() < view.min || patient)) {
      d.wait_until = now - state.since < view.gather ? state.since + view.gather : Time{};
      d.reason = fmt::format("restarting all: {} of {} workers are there", usable.size(), wanted);
      return d;
    }
    d.members = usable;
    d.from_checkpoint = state.failed;
    d.reason = fmt::format("{} with {} workers", state.failed ? "reloading the newest checkpoint" : "going on",
                           usable.size());
    return d;
  }

private:
  Decision adjust(const ClusterView& view) {
    Decision d;
    std::vector<WorkerView> members;
    bool change = false;
    for (const WorkerView& w : view.workers) {
      if (w.member && w.dead) {
        d.reason = "a member died: the generation drains";
        return d;
      }
      if (w.member && !w.wanted)
        change = true;
      else if (w.member)
        members.push_back(w);
    }
    std::sort(members.begin(), members.end(),
              [](const WorkerView& a, const WorkerView& b) { return a.rank < b.rank; });
    for (const WorkerView& w : view.workers)
      if (w.usable && !w.member && members.size() < most_members(view)) {
        members.push_back(w);
        change = true;
      }
    d.reason = "nothing to change";
    if (change && members.size() >= view.min) {
      d.members = members;
      d.reason = fmt::format("resizing to {} workers", members.size());
    }
    return d;
  }
};

} // namespace

std::unique_ptr<Strategy> make_restart_all() { return std::make_unique<RestartAll>(); }

} // namespace troupe

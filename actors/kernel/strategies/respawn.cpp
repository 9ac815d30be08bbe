// Default strategy. After a failure: wait `hold` for the replacement, then go on with the survivors; grow when the
// replacement is warm. hold 0 shrinks at once. When nobody survived, and at the start, wait for everybody (at most
// `gather` from the first that is usable).
#include "actors/kernel/strategies/built_in.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

struct RespawnState {
  bool gathering = true;    ///< as at the start of a job: nobody survived
  Time gathered_since{};    ///< first usable worker while gathering
  Time first_death{};       ///< of the failures that are being answered; epoch: none
  Time deadline{};          ///< survivors go on without the dead
  Time growing_since{};     ///< first joiner that waits for others; epoch: none
  TROUPE_FIELDS(gathering, gathered_since, first_death, deadline, growing_since)
};

class Respawn final : public StrategyOf<RespawnState> {
public:
  Decision on(const Event& event, const ClusterView& view, Time now) override {
    if (event.kind == StrategyEventKind::start) {
      state.gathering = true;
      state.gathered_since = {};
    }
    if (event.kind == StrategyEventKind::failed) {
      if (state.first_death == Time{})
        state.first_death = now;
      // Each death gives its replacement a hold of its own, but all together not more than three.
      state.deadline = std::min(now + view.hold, state.first_death + 3 * view.hold);
    }
    if (event.kind == StrategyEventKind::cadence) {
      state = {};
      state.gathering = false;
    }
    return view.drained ? form(view, now) : adjust(view, now);
  }

private:
  Decision form(const ClusterView& view, Time now) {
    Decision d;
    const std::vector<WorkerView> usable = usable_in_order(view);
    const bool survivors = std::any_of(usable.begin(), usable.end(), [](const WorkerView& w) { return w.member; });
    if (!survivors)
      state.gathering = true;
    const std::uint32_t wanted = view.first ? std::min(view.start, most_members(view)) : most_members(view);
    if (usable.size() >= wanted) {
      d.reason = fmt::format("all {} workers are there", usable.size());
    } else if (usable.size() < view.min) {
      d.reason = fmt::format("{} of at least {} workers are there", usable.size(), view.min);
      return d;
    } else if (!anybody_coming(view)) {
      d.reason = fmt::format("nobody else is coming: going on with {} workers", usable.size());
    } else if (state.gathering) {
      if (state.gathered_since == Time{})
        state.gathered_since = now;
      if (now - state.gathered_since < view.gather) {
        d.wait_until = state.gathered_since + view.gather;
        d.reason = fmt::format("gathering: {} of {} workers are there", usable.size(), wanted);
        return d;
      }
      d.reason = fmt::format("gathered long enough: going on with {} workers", usable.size());
    } else if (now < state.deadline) {
      d.wait_until = state.deadline;
      d.reason = fmt::format("holding for the replacement: {} of {} workers are there", usable.size(), wanted);
      return d;
    } else {
      d.reason = fmt::format("going on with {} survivors", usable.size());
    }
    d.members = usable;
    return d;
  }

  Decision adjust(const ClusterView& view, Time now) {
    Decision d;
    std::vector<WorkerView> members;
    std::vector<WorkerView> joiners;
    bool leaving = false;
    bool dying = false;
    for (const WorkerView& w : view.workers) {
      if (w.member && w.dead)
        dying = true;
      else if (w.member && !w.wanted)
        leaving = true;
      else if (w.member)
        members.push_back(w);
      else if (w.usable)
        joiners.push_back(w);
    }
    if (dying) {
      d.reason = "a member died: the generation drains";
      return d;
    }
    std::sort(members.begin(), members.end(),
              [](const WorkerView& a, const WorkerView& b) { return a.rank < b.rank; });
    const std::size_t room = most_members(view);
    std::size_t added = 0;
    if (members.size() > room) {
      members.resize(room);
      leaving = true;
    }
    for (const WorkerView& w : joiners)
      if (members.size() < room) {
        members.push_back(w);
        ++added;
      }
    if (leaving && members.size() >= view.min) {
      d.members = members;
      d.reason = fmt::format("shrinking to {} workers", members.size());
      return d;
    }
    if (added == 0) {
      state.growing_since = {};
      d.reason = "nothing to change";
      return d;
    }
    // Others on their way may join with the same change.
    if (members.size() < room && anybody_coming(view)) {
      if (state.growing_since == Time{})
        state.growing_since = now;
      if (now - state.growing_since < view.hold) {
        d.wait_until = state.growing_since + view.hold;
        d.reason = "a joiner waits for others that are coming";
        return d;
      }
    }
    d.members = members;
    d.reason = fmt::format("growing to {} workers", members.size());
    return d;
  }
};

} // namespace

std::unique_ptr<Strategy> make_respawn() { return std::make_unique<Respawn>(); }

} // namespace troupe

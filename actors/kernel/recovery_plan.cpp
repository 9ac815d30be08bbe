// From the strategy's answer to a plan.
#include "actors/kernel/inventory.hpp"
#include "actors/kernel/recovery_turn.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

WorkerView RecoveryTurn::view_of(const RosterRow& row) const {
  WorkerView v;
  v.node = row.worker.node;
  v.slot = row.worker.slot;
  v.incarnation = row.worker.incarnation;
  v.wanted = row.wanted;
  v.dead = row.dead;
  v.coming = row.coming || (!row.dead && row.phase == WorkerPhase::starting);
  v.has_memory = !row.holdings.empty();
  v.since = row.since;
  for (const Member& m : state.planned.members)
    if (m.worker == row.worker) {
      v.member = true;
      v.rank = m.rank;
    }
  const bool free = row.phase == WorkerPhase::ready || row.phase == WorkerPhase::drained;
  v.usable = !row.dead && row.wanted && free && (state.drained || !v.member);
  return v;
}

ClusterView RecoveryTurn::view() const {
  ClusterView v;
  for (const RosterRow& row : state.roster.rows)
    v.workers.push_back(view_of(row));
  v.start = settings.start;
  v.min = settings.min;
  v.max = settings.max;
  v.virtual_workers = settings.virtual_workers;
  v.target = state.roster.target;
  v.hold = settings.hold;
  v.gather = settings.limits.gather;
  v.drained = state.drained;
  v.first = state.running == Generation{};
  return v;
}

const RosterRow* RecoveryTurn::row_of(const WorkerView& worker) const {
  for (const RosterRow& row : state.roster.rows)
    if (row.worker == WorkerKey{worker.node, worker.slot, worker.incarnation})
      return &row;
  return nullptr;
}

void RecoveryTurn::conclude() {
  const Time planned_wake = state.strategy_wake;
  if (!state.ended) {
    const ClusterView seen = view();
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const Decision decision = strategy.on(pending[i], seen, now);
      if (i + 1 == pending.size())
        act(pending[i], decision);
      else if (!decision.restart.empty())
        restart(decision);
    }
    if (!pending.empty())
      state.strategy_state = strategy.save();
    watch_size();
  }
  // One timer for both waits.
  Time wake = state.ended ? Time{} : state.strategy_wake;
  if (!state.ended && state.below_since != Time{}) {
    const Time limit = state.below_since + settings.limits.below_min;
    wake = wake == Time{} ? limit : std::min(wake, limit);
  }
  if (wake != Time{} && (retime || !pending.empty() || state.strategy_wake != planned_wake))
    say(WakeAt{wake, "a wait of the strategy ends"});
}

void RecoveryTurn::note(const StrategyEvent& event, const Decision& decision, std::string text) {
  std::string noted = text + ": " + decision.reason;
  if (noted == state.noted && !always_note)
    return;
  state.noted = std::move(noted);
  say(StrategyNote{settings.strategy, std::string{to_string(event.kind)}, std::move(text), decision.reason});
}

void RecoveryTurn::act(const StrategyEvent& event, const Decision& decision) {
  state.strategy_wake = decision.wait_until;
  if (decision.wake_after > Duration::zero()) {
    const Time at = now + decision.wake_after;
    state.strategy_wake = state.strategy_wake == Time{} ? at : std::min(state.strategy_wake, at);
  }
  restart(decision);
  for (const StrategyRequest& request : decision.requests)
    say(StrategyNote{settings.strategy, std::string{to_string(event.kind)}, std::string{to_string(request.kind)},
                     request.what});
  if (decision.members.empty()) {
    note(event, decision, "wait");
    return;
  }
  if (!state.drained) {
    if (forming()) {
      note(event, decision, "later"); // asked again as soon as it runs
    } else {
      note(event, decision, fmt::format("change to {} members", decision.members.size()));
      request_drain(decision.reason);
    }
    return;
  }
  const std::string refusal = make_plan(decision);
  note(event, decision,
       refusal.empty() ? fmt::format("generation {}", state.planned.generation.value) : "not now, " + refusal);
}

void RecoveryTurn::restart(const Decision& decision) {
  RestartWorkers wish;
  wish.reason = decision.reason;
  for (const WorkerView& w : decision.restart)
    if (const RosterRow* row = row_of(w); row != nullptr && !row->dead)
      wish.workers.push_back(row->worker);
  if (!wish.workers.empty())
    say(std::move(wish));
}

void RecoveryTurn::request_drain(std::string reason) {
  if (state.drained || state.planned.generation == Generation{} || state.asked == state.planned.generation)
    return;
  state.asked = state.planned.generation;
  say(DrainRequest{state.planned.generation, std::move(reason)});
}

std::string RecoveryTurn::make_plan(const Decision& decision) {
  if (state.paused)
    return "the job is paused";
  if (!state.listed)
    return "checkpoints are not listed yet";
  std::vector<const RosterRow*> rows;
  for (const WorkerView& w : decision.members) {
    const RosterRow* row = row_of(w);
    if (row == nullptr || !view_of(*row).usable)
      return fmt::format("worker {} on node {} cannot be a member", w.slot.value, w.node.value);
    if (std::find(rows.begin(), rows.end(), row) == rows.end())
      rows.push_back(row);
  }
  const std::size_t most = std::min({settings.max, settings.virtual_workers});
  if (rows.size() > most)
    rows.resize(most);
  if (rows.size() < settings.min)
    return fmt::format("{} members are fewer than workers.min = {}", rows.size(), settings.min);
  for (const RosterRow* row : rows) {
    if (state.layout == 0)
      state.layout = row->layout;
    if (row->layout != 0 && row->layout != state.layout) {
      fail(fmt::format("worker {} on node {} built another model than the others: names, shapes or dtypes differ",
                       row->worker.slot.value, row->worker.node.value));
      return "the models differ";
    }
  }

  ResumePoint point = find_resume_point({state.roster, state.checkpoints, state.lineage, !decision.from_checkpoint,
                                         state.limited, state.ceiling});
  if (point.conflict > Step{} && state.ended_generation > state.mismatch.generation)
    count_mismatch(state.ended_generation, point.conflict); // the members' own word, if it comes, is known then
  if (state.ended)
    return "the job failed";
  Plan plan;
  plan.generation = state.newest.next();
  plan.previous = state.ended_generation;
  plan.resume = point.key;
  plan.sources = std::move(point.sources);
  plan.reason = decision.reason;
  if (!state.ended_cause.empty())
    plan.reason = fmt::format("{}; before: {}", plan.reason, state.ended_cause);
  if (!point.note.empty())
    plan.reason = fmt::format("{}; {}", plan.reason, point.note);
  fill(plan, rows);
  state.newest = plan.generation;
  extend_lineage(state.lineage, plan.generation, plan.resume);
  state.limited = false;
  state.drained = false;
  state.strategy_wake = {};
  state.planned = plan;
  say(std::move(plan));
  return {};
}

void RecoveryTurn::fill(Plan& plan, const std::vector<const RosterRow*>& rows) const {
  const auto blocks = virtual_blocks(static_cast<std::uint32_t>(rows.size()), settings.virtual_workers);
  std::uint32_t first = 0;
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) {
    Member member;
    member.rank = Rank{rank};
    member.worker = rows[rank]->worker;
    member.first_virtual = first;
    member.virtual_count = blocks[rank];
    member.at.data = rank;
    first += blocks[rank];
    plan.members.push_back(member);
  }
}

/// Too few workers: wait, visibly, then give up.
void RecoveryTurn::watch_size() {
  std::uint32_t usable = 0;
  bool starting = false;
  for (const RosterRow& row : state.roster.rows) {
    const WorkerView v = view_of(row);
    usable += v.usable ? 1 : 0;
    starting = starting || (v.coming && v.wanted);
  }
  const bool below = state.drained && !state.paused && usable < settings.min &&
                     !(state.running == Generation{} && starting);
  if (!below) {
    if (usable >= settings.min || !state.drained)
      state.below_since = {};
    return;
  }
  if (state.below_since == Time{}) {
    state.below_since = now;
    always_note = true;
    Decision wait;
    wait.reason = fmt::format("{} of at least {} workers; the job fails in {:g}s", usable, settings.min,
                              std::chrono::duration<double>(settings.limits.below_min).count());
    note({StrategyEventKind::health, {}, {}}, wait, "below workers.min");
    retime = true;
  } else if (now - state.below_since >= settings.limits.below_min) {
    fail(fmt::format("only {} of workers.min = {} workers for {:g}s; first cause: {}", usable, settings.min,
                     std::chrono::duration<double>(settings.limits.below_min).count(),
                     state.first_cause.empty() ? "too few joined" : state.first_cause));
  }
}

} // namespace troupe

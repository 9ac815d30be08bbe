#include "actors/kernel/recovery.hpp"

#include "actors/kernel/recovery_turn.hpp"
#include "actors/kernel/strategies/built_in.hpp"
#include "base/assert.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

RecoveryKernel::RecoveryKernel(KernelSettings settings, std::unique_ptr<Strategy> strategy)
  : settings_(std::move(settings)), strategy_(std::move(strategy)) {
  if (!strategy_)
    strategy_ = make_strategy(settings_.strategy);
  TROUPE_ASSERT(strategy_ != nullptr, "recovery.strategy is checked with the job file");
  state_.strategy_state = strategy_->save();
}

void RecoveryKernel::restore(State state) {
  state_ = std::move(state);
  strategy_->load(state_.strategy_state);
}

std::vector<RecoveryKernel::Action> RecoveryKernel::on(const Event& event, Time now) {
  RecoveryTurn turn(settings_, state_, *strategy_, now);
  std::visit([&](const auto& e) { turn.take(e); }, event);
  turn.conclude();
  return std::move(turn.out);
}

// --- Facts ----------------------------------------------------------------------------------------------------------

void RecoveryTurn::take(const Started& event) {
  if (event.term != state.term) {
    state.listed = state.ended = false;
    state.failure = {};
  }
  const bool first = state.term == Term{};
  state.term = event.term;
  restate();
  pending.push_back({StrategyEventKind::start, {}, first ? "the job starts" : "the master was restarted"});
  retime = true;
}

void RecoveryTurn::take(const PeerRestarted&) {
  restate();
  retime = true;
}

/// The plan that rendezvous may have missed, or the end that all may have.
void RecoveryTurn::restate() {
  if (!state.failure.cause.empty())
    say(state.failure);
  if (!state.drained && state.planned.generation > state.running && !state.ended)
    say(state.planned);
}

void RecoveryTurn::take(const Tick&) {
  retime = true;
  if (state.strategy_wake != Time{} && now >= state.strategy_wake) {
    state.strategy_wake = {};
    pending.push_back({StrategyEventKind::timer, {}, {}});
    always_note = true;
  }
}

void RecoveryTurn::take(const Roster& roster) {
  if (roster.version >= state.roster.version)
    merge(roster);
}

/// Compares with what was known and tells the strategy what happened to whom.
void RecoveryTurn::merge(const Roster& roster) {
  const Roster old = std::move(state.roster);
  state.roster = roster;
  StrategyEvent failed{StrategyEventKind::failed, {}, {}};
  StrategyEvent joined{StrategyEventKind::joined, {}, {}};
  auto usual = [](WorkerPhase phase) { return phase == WorkerPhase::ready || phase == WorkerPhase::drained; };
  bool resized = old.target != roster.target;
  bool changed = old.rows.size() != roster.rows.size();
  std::size_t at = 0;
  for (const RosterRow& row : roster.rows) {
    while (at < old.rows.size() && place_of(old.rows[at]) < place_of(row))
      ++at;
    const RosterRow* before = at < old.rows.size() && place_of(old.rows[at]) == place_of(row) ? &old.rows[at] : nullptr;
    const bool same_life = before != nullptr && before->worker == row.worker;
    state.newest = std::max(state.newest, row.generation);
    for (const Holding& h : row.holdings)
      state.newest = std::max(state.newest, h.key.generation);
    if (row.dead ? !(same_life && before->dead) : before != nullptr && !same_life && lived(*before)) {
      failed.workers.push_back(view_of(row));
      const Failure& failure = row.dead ? row.failure : before->failure;
      if (failed.what.empty())
        failed.what = failure.what.empty() ? std::string{to_string(failure.kind)} : failure.what;
    }
    if (!row.dead && row.wanted && usual(row.phase) &&
        !(same_life && before->wanted && !before->dead && usual(before->phase)))
      joined.workers.push_back(view_of(row));
    if (before != nullptr && before->wanted != row.wanted)
      resized = true;
    if (before != nullptr && (before->coming != row.coming || before->dead != row.dead || before->phase != row.phase))
      changed = true;
  }
  if (!failed.workers.empty()) {
    if (state.first_cause.empty())
      state.first_cause = failed.what;
    pending.push_back(failed);
  }
  if (!joined.workers.empty())
    pending.push_back(joined);
  if (resized)
    pending.push_back({StrategyEventKind::resized, {}, fmt::format("{} workers are wanted", roster.target)});
  if (changed && state.drained && pending.empty())
    pending.push_back({StrategyEventKind::health, {}, {}});
}

void RecoveryTurn::take(const Drained& event) {
  const bool newer = event.roster.version >= state.roster.version;
  if (newer)
    merge(event.roster);
  if (event.generation < state.ended_generation)
    return;
  state.newest = std::max(state.newest, event.generation);
  const bool answered = !state.drained && state.planned.generation > event.generation &&
                        state.planned.previous == event.generation;
  if (answered && event.refused.empty()) {
    restate(); // it was lost
    return;
  }
  const bool again = state.drained && event.generation == state.ended_generation;
  state.drained = true;
  state.ended_generation = event.generation;
  state.ended_cause = event.cause;
  if (!event.refused.empty() && !newer) {
    // Rendezvous has not seen yet what this plan was made of: a moment later it has.
    state.strategy_wake = now + std::chrono::milliseconds(20);
    retime = true;
    return;
  }
  if (!event.refused.empty())
    pending.push_back({StrategyEventKind::plan_failed, {}, event.refused});
  else if (!again)
    pending.push_back({StrategyEventKind::drained, {}, event.cause});
}

void RecoveryTurn::take(const Formed& event) {
  if (event.generation <= state.running)
    return;
  state.running = event.generation;
  state.newest = std::max(state.newest, event.generation);
  state.drained = false;
  state.first_cause.clear();
  pending.push_back({StrategyEventKind::cadence, {}, fmt::format("generation {} runs", event.generation.value)});
}

void RecoveryTurn::take(const CheckpointsFound& event) {
  state.checkpoints = event.checkpoints;
  for (const FoundCheckpoint& c : state.checkpoints)
    state.newest = std::max(state.newest, c.key.generation);
  if (!state.listed) {
    state.listed = true;
    pending.push_back({StrategyEventKind::health, {}, "checkpoints are listed"});
  }
}

void RecoveryTurn::take(const DigestMismatch& event) {
  // Every member reports it, and it ends its generation: once for each.
  if (event.generation <= state.mismatch.generation || event.generation > state.planned.generation)
    return;
  state.ceiling = state.limited ? std::min(state.ceiling, event.step) : event.step;
  state.limited = true;
  // If it was told late, what runs now was made of it.
  request_drain(fmt::format("digests of version {} differ", event.step.value));
  count_mismatch(event.generation, event.step);
}

void RecoveryTurn::count_mismatch(Generation generation, Step step) {
  state.mismatch = {step, generation};
  const KernelBudget& budget = settings.budgets.corrupt_data;
  std::erase_if(state.mismatches, [&](Time t) { return now - t > budget.window; });
  state.mismatches.push_back(now);
  if (state.mismatches.size() > budget.restarts)
    fail(fmt::format("digests of members differed {} times within {:g}s, {} are allowed; last at version {}",
                     state.mismatches.size(), std::chrono::duration<double>(budget.window).count(), budget.restarts,
                     step.value));
}

void RecoveryTurn::take(const Pause& event) {
  if (state.paused == event.on || state.ended)
    return;
  state.paused = event.on;
  if (event.on)
    request_drain(event.reason.empty() ? std::string{"paused"} : event.reason);
  else
    pending.push_back({StrategyEventKind::drained, {}, "unpaused"});
}

void RecoveryTurn::take(const Notice& event) {
  StrategyEvent said{event.straggler ? StrategyEventKind::straggler : StrategyEventKind::notice, {}, event.reason};
  for (const RosterRow& row : state.roster.rows)
    if (row.worker == event.worker)
      said.workers.push_back(view_of(row));
  if (!said.workers.empty())
    pending.push_back(said);
}

void RecoveryTurn::take(const JobFinished&) { state.ended = true; }
void RecoveryTurn::take(const StopAll&) { state.ended = true; }
void RecoveryTurn::take(const FailJob&) { state.ended = true; }

void RecoveryTurn::fail(std::string cause) {
  if (state.ended)
    return;
  state.ended = true;
  state.failure = {std::move(cause), {}, {}, "it cannot get better by itself"};
  say(state.failure);
}

} // namespace troupe

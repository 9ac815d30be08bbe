#include "actors/kernel/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

using Phase = RendezvousKernel::Phase;

struct RendezvousKernel::Turn {
  const KernelSettings& settings;
  State& s;
  Time& clocks_from;
  Time now;
  std::vector<Action> out;
  bool restated = false;

  template <class A>
  void say(A action) {
    out.push_back(std::move(action));
  }

  // What the roster says of a member.
  const RosterRow* row_of(const WorkerKey& worker) const {
    for (const RosterRow& row : s.roster.rows)
      if (row.worker.node == worker.node && row.worker.slot == worker.slot)
        return &row;
    return nullptr;
  }
  /// Its present row, or null when this life is over or given up.
  const RosterRow* living(const WorkerKey& worker) const {
    const RosterRow* row = row_of(worker);
    return row != nullptr && row->worker == worker && !row->dead ? row : nullptr;
  }
  bool surely_dead(const WorkerKey& worker) const {
    const RosterRow* row = row_of(worker);
    return row != nullptr &&
           (row->worker.incarnation > worker.incarnation || (row->worker == worker && row->confirmed));
  }
  bool promised(const WorkerKey& worker) const {
    return std::any_of(s.promises.begin(), s.promises.end(), [&](const Promise& p) {
      return p.worker == worker && p.generation >= s.plan.generation;
    });
  }
  std::string describe(const Member& member) const {
    return fmt::format("rank {} (worker {} on node {})", member.rank.value, member.worker.slot.value,
                       member.worker.node.value);
  }

  GenerationOrder order() const {
    GenerationOrder o{s.term, s.sequence, GenerationCommand::none, s.plan.generation, s.cause, {}};
    switch (s.phase) {
    case Phase::planning:
    case Phase::draining:
    case Phase::ended:
      o.command = s.plan.generation.value > 0 ? GenerationCommand::drain : GenerationCommand::none;
      break;
    case Phase::forming:
    case Phase::running:
      o.command = GenerationCommand::form;
      o.cause = s.plan.reason;
      o.plan = s.plan;
      break;
    case Phase::finished:
      o.command = GenerationCommand::finish;
      break;
    }
    return o;
  }
  void enter(Phase phase) {
    s.phase = phase;
    s.since = now;
  }
  void order_anew() {
    ++s.sequence;
    say(order());
  }
  Drained drained() const { return {s.plan.generation, s.cause, s.refused, s.roster}; }
  Formed formed() const {
    Formed f{s.plan.generation, s.plan.resume.step, {}};
    for (const Member& m : s.plan.members)
      f.members.push_back(m.worker);
    return f;
  }
  void restate() {
    say(order());
    if (s.phase == Phase::planning)
      say(drained());
    if (s.phase == Phase::running)
      say(formed());
    if (s.phase == Phase::finished && !s.unjudged)
      say(s.result);
    if (!s.failure.cause.empty())
      say(s.failure);
    restated = true;
  }

  void drain(std::string cause) {
    s.cause = std::move(cause);
    s.refused.clear();
    enter(Phase::draining);
    order_anew();
  }

  // Events.
  void take(const Started& event) {
    if (event.term != s.term) {
      s.unjudged = s.phase == Phase::finished;
      s.failure = {};
      if (s.phase == Phase::ended) // a stopped job is to go on, unless membership says its end again
        plan_anew();
    }
    s.term = event.term;
    if (s.since == Time{})
      s.since = now;
    clocks_from = now;
    restate();
  }
  void plan_anew() { enter(s.plan.generation.value > 0 ? Phase::draining : Phase::planning); }
  void take(const RunFound& found) {
    if (found.term != s.term || !s.unjudged)
      return;
    s.unjudged = false;
    if (s.phase != Phase::finished)
      return;
    if (found.kept) {
      say(s.result);
      return;
    }
    // Its last version went with the memory: on from the newest that is left.
    s.result = {};
    plan_anew();
    ++s.sequence;
    restate();
  }
  void take(const PeerRestarted&) {
    clocks_from = now;
    restate();
  }
  void take(const Tick& tick) {
    if (tick.late)
      clocks_from = now;
    else
      check_clocks();
  }
  void take(const Roster& roster) {
    if (roster.version < s.roster.version)
      return;
    s.roster = roster;
    collect();
  }
  void take(const Plan& plan) {
    if (plan.generation <= s.plan.generation)
      return;
    if (s.phase != Phase::planning)
      return; // recovery will hear of the drain
    s.refused = objection(plan);
    if (!s.refused.empty()) {
      say(drained());
      return;
    }
    s.plan = plan;
    s.promises.clear();
    s.cause.clear();
    enter(Phase::forming);
    order_anew();
  }
  void take(const DrainRequest& request) {
    if (request.generation == s.plan.generation && (s.phase == Phase::forming || s.phase == Phase::running))
      drain(request.reason);
  }
  void take(const DigestMismatch& mismatch) {
    if (mismatch.generation == s.plan.generation && (s.phase == Phase::forming || s.phase == Phase::running))
      drain(fmt::format("digests of version {} differ", mismatch.step.value));
  }
  void take(const StopAll& stop) { end(stop.reason); }
  void take(const FailJob& fail) { end(fail.cause); }
  void end(const std::string& why) {
    if (s.phase == Phase::finished || s.phase == Phase::ended)
      return;
    s.cause = why;
    enter(Phase::ended);
    order_anew();
  }

  /// Why this plan cannot be announced; empty: it can.
  std::string objection(const Plan& plan) const {
    if (plan.previous != s.plan.generation)
      return fmt::format("made for generation {}, but {} drained", plan.previous.value, s.plan.generation.value);
    if (plan.members.empty())
      return "it has no members";
    for (const Member& m : plan.members) {
      const RosterRow* row = living(m.worker);
      if (row == nullptr)
        return describe(m) + " is gone";
      if (row->phase != WorkerPhase::ready && row->phase != WorkerPhase::drained)
        return fmt::format("{} is {}", describe(m), to_string(row->phase));
    }
    return {};
  }

  void collect() {
    for (const Member& m : s.plan.members) {
      const RosterRow* row = row_of(m.worker);
      if (row == nullptr || row->worker != m.worker)
        continue;
      if (row->phase == WorkerPhase::drained && row->generation >= s.plan.generation && !promised(m.worker))
        s.promises.push_back({m.worker, row->generation});
      if (row->phase == WorkerPhase::drained && row->generation == s.plan.generation && row->dead_rank >= 0 &&
          static_cast<std::size_t>(row->dead_rank) < s.plan.members.size()) {
        const Member& accused = s.plan.members[static_cast<std::size_t>(row->dead_rank)];
        if (!surely_dead(accused.worker))
          say(Suspect{accused.worker, FailureClass::none, "its life-lock was released, seen by " + describe(m)});
      }
    }
    if (s.phase == Phase::forming || s.phase == Phase::running)
      follow();
    if (s.phase == Phase::draining)
      finish_drain();
  }

  /// A generation that is out: did it form, end, or lose a member?
  void follow() {
    std::vector<const RosterRow*> rows;
    const Member* lost = nullptr;
    const RosterRow* left = nullptr;
    for (const Member& m : s.plan.members) {
      const RosterRow* row = living(m.worker);
      if (row == nullptr)
        lost = lost == nullptr ? &m : lost;
      else if (row->phase == WorkerPhase::drained && row->generation >= s.plan.generation)
        left = left == nullptr ? row : left;
      else
        rows.push_back(row);
    }
    auto all = [&](auto test) { return !rows.empty() && std::all_of(rows.begin(), rows.end(), test); };
    auto here = [&](const RosterRow* r) { return r->generation == s.plan.generation; };
    if (left == nullptr && all([&](const RosterRow* r) { return here(r) && r->phase == WorkerPhase::finished; })) {
      if (s.phase == Phase::forming)
        say(formed()); // so short that nobody was seen running
      conclude(rows);
      return;
    }
    if (lost != nullptr) {
      const RosterRow* row = row_of(lost->worker);
      std::string why = row != nullptr && row->worker == lost->worker && !row->failure.what.empty()
                          ? row->failure.what
                          : std::string{"it is gone"};
      drain(fmt::format("{} failed: {}", describe(*lost), why));
    } else if (left != nullptr) {
      drain(left->cause.empty() ? std::string{"a member left its generation"} : left->cause);
    } else if (s.phase == Phase::forming && all([&](const RosterRow* r) {
                 return here(r) && (r->phase == WorkerPhase::running || r->phase == WorkerPhase::finished);
               })) {
      s.misfires = 0;
      enter(Phase::running);
      say(formed());
    }
  }

  void conclude(const std::vector<const RosterRow*>& rows) {
    for (const RosterRow* row : rows)
      if (row->model_digest != rows.front()->model_digest || row->step != rows.front()->step) {
        DigestMismatch mismatch{s.plan.generation, rows.front()->step, {}};
        for (const RosterRow* each : rows)
          mismatch.digests.push_back(each->model_digest);
        say(mismatch);
        drain(fmt::format("digests of the last version {} differ", mismatch.step.value));
        return;
      }
    s.result = {rows.front()->model_digest, rows.front()->step, s.plan.generation, rows.front()->worker};
    s.cause = "all steps are done";
    enter(Phase::finished);
    order_anew();
    say(s.result);
  }

  bool all_settled() const {
    return std::all_of(s.plan.members.begin(), s.plan.members.end(),
                       [&](const Member& m) { return promised(m.worker) || living(m.worker) == nullptr; });
  }
  /// Can nobody complete a step of this generation any more, whatever the truth about those believed to be dead?
  bool fenced() const {
    if (s.plan.members.empty())
      return true;
    for (const Member& m : s.plan.members)
      if (promised(m.worker) || surely_dead(m.worker))
        return true;
    return now - since() >= settings.limits.master_grace + settings.limits.lost_after;
  }
  void finish_drain() {
    if (!all_settled() || !fenced())
      return;
    enter(Phase::planning);
    say(drained());
  }

  Time since() const { return std::max(s.since, clocks_from); }
  void check_clocks() {
    if (s.phase == Phase::draining) {
      finish_drain();
      if (s.phase != Phase::draining)
        return;
      if (now - since() >= settings.limits.drain)
        for (const Member& m : s.plan.members)
          if (!promised(m.worker) && living(m.worker) != nullptr)
            say(Suspect{m.worker, FailureClass::hang,
                        fmt::format("did not come to its boundary within {:g}s after: {}",
                                    seconds(settings.limits.drain), s.cause)});
    }
    if (s.phase == Phase::forming && now - since() >= settings.limits.form)
      form_is_late();
    else if (s.phase == Phase::forming || s.phase == Phase::draining)
      if (now - since() >= settings.limits.lost_after)
        say(order()); // the same again, for those who lost it
  }
  void form_is_late() {
    bool blamed = false;
    for (const Member& m : s.plan.members) {
      const RosterRow* row = living(m.worker);
      if (row == nullptr || row->generation == s.plan.generation)
        continue;
      blamed = true;
      say(Suspect{m.worker, FailureClass::communicator,
                  fmt::format("did not join generation {} within {:g}s", s.plan.generation.value,
                              seconds(settings.limits.form))});
    }
    if (blamed)
      return; // their deaths end it
    if (++s.misfires > settings.budgets.communicator.restarts)
      give_up(fmt::format("{} generations in a row did not form within {:g}s each", s.misfires,
                          seconds(settings.limits.form)));
    drain(fmt::format("not formed within {:g}s", seconds(settings.limits.form)));
  }
  void give_up(std::string cause) {
    s.failure = {std::move(cause), {}, {}, "all members had joined, none is to blame"};
    say(s.failure);
  }
  static double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

  void wake() {
    if (s.phase == Phase::forming || s.phase == Phase::draining)
      say(WakeAt{now + settings.limits.lost_after, "to see who does not answer"});
  }
};

std::vector<RendezvousKernel::Action> RendezvousKernel::on(const Event& event, Time now) {
  Turn turn{settings_, state_, clocks_from_, now, {}};
  const Phase before = state_.phase;
  std::visit([&](const auto& e) { turn.take(e); }, event);
  if (state_.phase != before || turn.restated || std::holds_alternative<Tick>(event))
    turn.wake();
  return std::move(turn.out);
}

} // namespace troupe

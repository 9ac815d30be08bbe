#include "actors/kernel/worker_machine.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

WorkerMachine::WorkerMachine(WorkerKey self) {
  state_.self = self;
  state_.fact.slot = self.slot;
  state_.fact.incarnation = self.incarnation;
  state_.fact.phase = WorkerPhase::starting;
}

struct WorkerMachine::Turn {
  State& s;
  std::vector<Action> out;

  template <class A>
  void say(A action) {
    out.push_back(std::move(action));
  }
  /// The engine is built and waits for an order.
  bool waits() const {
    return s.inside == Generation{} && (s.fact.phase == WorkerPhase::ready || s.fact.phase == WorkerPhase::drained ||
                                        s.fact.phase == WorkerPhase::finished);
  }
  void report() { say(Report{s.fact}); }

  void take(const GenerationOrder& order) {
    if (std::pair(order.term, order.sequence) < std::pair(s.term, s.sequence))
      return;
    s.term = order.term;
    s.sequence = order.sequence;
    s.order = order;
    obey();
  }
  void take(const LeaveOrder& order) {
    s.leaving = true;
    s.cause = order.reason;
    obey();
  }
  void take(const EngineSaid& said) {
    s.fact = said.fact;
    s.fact.slot = s.self.slot;
    s.fact.incarnation = s.self.incarnation;
    switch (s.fact.phase) {
    case WorkerPhase::drained:
      s.promised = std::max(s.promised, s.fact.generation);
      s.fact.generation = s.promised;
      s.inside = {};
      s.aborting = false;
      break;
    case WorkerPhase::ready:
      // Promised while it was still being built.
      if (s.promised.value > 0) {
        s.fact.phase = WorkerPhase::drained;
        s.fact.generation = s.promised;
      }
      s.inside = {};
      s.aborting = false;
      break;
    case WorkerPhase::finished:
      s.promised = std::max(s.promised, s.fact.generation); // it has nothing more to contribute
      s.inside = {};
      s.aborting = false;
      break;
    default:
      break;
    }
    report();
    obey();
  }
  void take(const OpenFailed& failed) {
    if (s.inside != failed.generation)
      return;
    s.inside = {};
    s.aborting = false;
    promise(failed.generation, failed.what);
    obey();
  }
  void take(const PeerRestarted&) { report(); }

  void promise(Generation generation, const std::string& cause) {
    if (generation < s.promised || (generation == s.promised && s.fact.phase != WorkerPhase::finished))
      return;
    s.promised = generation;
    if (!waits())
      return; // still being built: said as soon as it is ready
    s.fact.phase = WorkerPhase::drained;
    s.fact.generation = generation;
    s.fact.cause = cause;
    s.fact.dead_rank = -1;
    report();
  }
  void abort(const std::string& why) {
    if (s.aborting)
      return;
    s.aborting = true;
    say(Abort{s.inside, why});
  }

  void obey() {
    if (s.left)
      return;
    if (s.leaving) {
      if (s.inside.value > 0) {
        abort(s.cause);
        return;
      }
      s.left = true;
      say(Leave{s.order.command == GenerationCommand::finish, s.cause});
      return;
    }
    switch (s.order.command) {
    case GenerationCommand::drain:
      if (s.inside.value > 0) {
        if (s.inside <= s.order.generation)
          abort(s.order.cause);
      } else {
        promise(s.order.generation, s.order.cause);
      }
      break;
    case GenerationCommand::form:
      if (s.order.plan)
        form(*s.order.plan);
      break;
    case GenerationCommand::none:
    case GenerationCommand::finish:
      break;
    }
  }
  void form(const Plan& plan) {
    if (plan.generation <= s.promised || plan.generation == s.inside)
      return; // done with it, or in it
    auto mine = std::find_if(plan.members.begin(), plan.members.end(),
                             [&](const Member& m) { return m.worker == s.self; });
    if (s.inside.value > 0) {
      if (s.inside < plan.generation)
        abort("a newer generation was announced");
    } else if (mine != plan.members.end() && waits()) {
      s.inside = plan.generation;
      say(Join{plan, mine->rank, plan.reason});
    }
  }
};

std::vector<WorkerMachine::Action> WorkerMachine::on(const Event& event, Time) {
  Turn turn{state_, {}};
  std::visit([&](const auto& e) { turn.take(e); }, event);
  return std::move(turn.out);
}

} // namespace troupe

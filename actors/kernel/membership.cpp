#include "actors/kernel/membership.hpp"

#include "actors/kernel/membership_turn.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

std::string name_of(const WorkerKey& worker) {
  return fmt::format("worker {} on node {} (life {})", worker.slot.value, worker.node.value, worker.incarnation.value);
}

MembershipKernel::MembershipKernel(KernelSettings settings) : settings_(std::move(settings)) {}

void MembershipKernel::restore(State state) {
  state_ = std::move(state);
  volatile_ = {};
}

std::vector<MembershipKernel::Action> MembershipKernel::on(const Event& event, Time now) {
  MembershipTurn turn(*this, now);
  std::visit([&](const auto& e) { turn.take(e); }, event);
  turn.conclude();
  return std::move(turn.out);
}

MembershipTurn::Node* MembershipTurn::find(NodeId node) {
  auto it = std::find_if(state.nodes.begin(), state.nodes.end(), [&](const Node& n) { return n.node == node; });
  return it == state.nodes.end() ? nullptr : &*it;
}

MembershipTurn::Slot* MembershipTurn::find(const WorkerKey& worker) {
  Node* node = find(worker.node);
  if (node == nullptr || worker.slot.value >= node->slots.size())
    return nullptr;
  Slot& slot = node->slots[worker.slot.value];
  return slot.row.worker == worker ? &slot : nullptr;
}

void MembershipTurn::take(const Started& event) {
  if (event.term != state.term) {
    for (Node& node : state.nodes)
      node.sequence = 0; // not heard in this term
    // Whether it is to end is known when a node has reported: see judge_run.
    state.earlier = ending();
    state.stopped = false;
  }
  state.term = event.term;
  if (state.target == 0)
    state.target = settings.start;
  memory = {};
  memory.started = now;
  memory.clocks_from = now;
  restate = true;
}

void MembershipTurn::take(const PeerRestarted&) {
  memory.clocks_from = now;
  restate = true;
}

void MembershipTurn::take(const NodeReport& report) {
  if (report.term != state.term)
    return;
  Node* node = find(report.node);
  const bool same_agent = node != nullptr && node->agent == report.agent;
  if (node == nullptr) {
    auto at = std::find_if(state.nodes.begin(), state.nodes.end(),
                           [&](const Node& n) { return n.node > report.node; });
    node = &*state.nodes.insert(at, Node{});
    node->node = report.node;
    node->agent = report.agent;
  } else if (report.agent < node->agent || (report.agent == node->agent && report.sequence <= node->sequence)) {
    return;
  } else if (report.agent != node->agent) {
    node->agent = report.agent;
    agent_replaced(*node, node->sequence == 0);
  }
  watch(node->node).heard = now;
  node->sequence = report.sequence;
  judge_run(node->node, same_agent);
  node->host = report.host;
  node->pid = report.pid;
  if (node->lost)
    roster_changed = true; // it is back: its slots count again
  node->lost = false;
  if (node->slots.size() > report.slots.size()) {
    node->slots.resize(report.slots.size());
    roster_changed = true;
  }
  while (node->slots.size() < report.slots.size()) {
    Slot& slot = node->slots.emplace_back();
    slot.row.worker = {node->node, SlotId{static_cast<std::uint32_t>(node->slots.size() - 1)}, Incarnation{}};
    slot.row.since = now;
    roster_changed = true;
  }
  for (const SlotFact& fact : report.slots)
    if (fact.slot.value < node->slots.size())
      apply(*node, node->slots[fact.slot.value], fact);
}

/// The agent is the same only when the master alone died. Whoever starts a stopped or failed job again wants it to go
/// on, and one whose last version was on no disk is trained to its end once more.
void MembershipTurn::judge_run(NodeId speaker, bool same_agent) {
  if (state.judged == state.term)
    return;
  auto unheard = [&](const Node& n) { return n.node != speaker && n.sequence == 0 && !n.lost; };
  if (!same_agent && std::any_of(state.nodes.begin(), state.nodes.end(), unheard))
    return; // this one alone may have been replaced
  state.judged = state.term;
  state.kept = same_agent;
  found = true;
  if (state.kept)
    return;
  state.finished = false;
  if (state.earlier) {
    state.stopping = state.failed = state.earlier = false;
    state.why.clear();
    state.failure = {};
  }
  roster_changed = true;
}

/// A new agent has no children: what it does not itself report as living is gone with the old one. When the master is
/// new as well, the run before was ended as a whole: nobody is charged for that.
void MembershipTurn::agent_replaced(Node& node, bool with_master) {
  for (Slot& slot : node.slots) {
    slot.row.holdings.clear();
    if (with_master && slot.row.phase != WorkerPhase::empty && slot.row.phase != WorkerPhase::exited)
      slot.charged = true;
  }
  roster_changed = true;
}

void MembershipTurn::apply(Node& node, Slot& slot, const SlotFact& fact) {
  RosterRow& row = slot.row;
  RosterRow before = row;
  if (fact.incarnation < row.worker.incarnation) {
    // Only an agent that came new does not know the newest life: that life went with the agent before.
    row.holdings = fact.holdings;
    if (row.phase != WorkerPhase::exited) {
      Failure failure;
      failure.kind = FailureClass::node_loss;
      failure.what = "the agent of its node was replaced";
      row.phase = WorkerPhase::exited;
      row.confirmed = true;
      row.dead = true;
      row.failure = failure;
      life_ended(slot, failure);
    }
  } else {
    if (fact.incarnation > row.worker.incarnation) {
      row = RosterRow{};
      row.worker = {node.node, fact.slot, fact.incarnation};
      row.wanted = before.wanted;
      row.since = now;
      slot.ordered = std::max(slot.ordered, fact.incarnation);
      slot.kill = slot.retiring = slot.charged = false;
      slot.not_before = {};
    }
    if (row.phase != fact.phase || row.generation != fact.generation)
      row.since = now;
    slot.pid = fact.pid;
    row.phase = fact.phase;
    row.generation = fact.generation;
    row.step = fact.step;
    row.model_digest = fact.model_digest;
    row.layout = fact.layout;
    row.holdings = fact.holdings;
    row.dead_rank = fact.dead_rank;
    row.cause = fact.cause;
    if (fact.phase == WorkerPhase::running || fact.phase == WorkerPhase::finished)
      slot.fruitless = 0;
    if (fact.phase == WorkerPhase::exited || (fact.phase == WorkerPhase::empty && fact.incarnation.value > 0)) {
      row.phase = WorkerPhase::exited;
      row.dead = row.confirmed = true;
      if (!slot.charged || row.failure.kind == FailureClass::none)
        row.failure = fact.failure;
      life_ended(slot, fact.failure);
    }
  }
  if (!(row == before))
    roster_changed = true;
  // A node that was not told yet, or lost the order, is told again.
  const bool lives = fact.phase != WorkerPhase::empty && fact.phase != WorkerPhase::exited;
  if (runs(slot) != (lives && fact.incarnation == slot.ordered))
    reorder.push_back(node.node);
}

void MembershipTurn::life_ended(Slot& slot, Failure failure) {
  if (slot.charged)
    return;
  slot.charged = true;
  slot.row.failure = failure;
  if (slot.retiring || ending() || state.finished)
    return;
  if (failure.kind == FailureClass::none) {
    failure.kind = FailureClass::exception;
    failure.what = fmt::format("the process left without being asked, exit status {}", failure.exit_code);
    slot.row.failure = failure;
  }
  charge(slot, failure);
}

void MembershipTurn::charge(Slot& slot, const Failure& failure) {
  const WorkerKey worker = slot.row.worker;
  const KernelBudget* budget = budget_of(settings.budgets, failure.kind);
  WorkerFailed said{worker, failure, 1, 0, {}};
  if (budget == nullptr) {
    said.reason = "start-up errors are not retried";
    say(said);
    fail(fmt::format("{} could not start: {}", name_of(worker), failure.what), failure, worker, said.reason);
    return;
  }
  std::erase_if(state.charges, [&](const Kernel::Charge& c) {
    const KernelBudget* its = budget_of(settings.budgets, c.failure.kind);
    return its == nullptr || now - c.at > its->window;
  });
  state.charges.push_back({worker, failure, now});
  auto same = [&](const Kernel::Charge& c) { return c.failure.kind == failure.kind; };
  said.in_window = static_cast<std::uint32_t>(std::count_if(state.charges.begin(), state.charges.end(), same));
  said.allowed = budget->restarts;
  if (said.in_window > budget->restarts) {
    said.reason = "its budget is used up";
    say(said);
    const Kernel::Charge first = *std::find_if(state.charges.begin(), state.charges.end(), same);
    fail(fmt::format("{} failures of class {} within {:g}s, {} are allowed; the first: {}: {}", said.in_window,
                     to_string(failure.kind), std::chrono::duration<double>(budget->window).count(), budget->restarts,
                     name_of(first.worker), first.failure.what),
         first.failure, first.worker, said.reason);
    return;
  }
  Duration pause{};
  if (slot.fruitless > 0) {
    pause = settings.backoff;
    for (std::uint32_t k = 1; k < slot.fruitless && pause < settings.backoff_most; ++k)
      pause *= 2;
    pause = std::min(pause, settings.backoff_most);
  }
  ++slot.fruitless;
  slot.not_before = pause > Duration::zero() ? now + pause : Time{};
  if (!slot.row.wanted)
    said.reason = "not replaced: fewer workers are wanted";
  else if (pause > Duration::zero())
    said.reason = fmt::format("replaced in {:g}s: {} lives in a row took no step",
                              std::chrono::duration<double>(pause).count(), slot.fruitless);
  else
    said.reason = "replaced";
  say(said);
}

void MembershipTurn::fail(std::string cause, const Failure& first, WorkerKey worker, std::string reason) {
  if (state.failed)
    return;
  state.failed = true;
  state.failure = {cause, first, worker, std::move(reason)};
  say(state.failure);
  end(std::move(cause));
}

void MembershipTurn::end(std::string why) {
  if (state.why.empty())
    state.why = std::move(why);
  place();
}

void MembershipTurn::take(const NodeLost& event) {
  Node* node = find(event.node);
  if (node == nullptr || node->lost || node->agent != event.agent)
    return;
  node->lost = true;
  bool counted = false;
  for (Slot& slot : node->slots) {
    slot.row.holdings.clear();
    if (gone(slot.row))
      continue;
    slot.row.dead = true;
    slot.row.since = now;
    slot.kill = true;
    Failure failure;
    failure.kind = FailureClass::node_loss;
    failure.what = event.reason;
    failure.step = slot.row.step;
    slot.row.failure = failure;
    if (!slot.charged && !slot.retiring && !ending() && !state.finished && !counted)
      charge(slot, failure);
    counted = true;
    slot.charged = true;
  }
  roster_changed = true;
  if (std::any_of(state.nodes.begin(), state.nodes.end(), [](const Node& n) { return !n.lost && n.sequence > 0; }))
    judge_run(node->node, false); // it will not speak
  place();
}

void MembershipTurn::take(const Suspect& event) {
  Slot* slot = find(event.worker);
  if (slot == nullptr)
    return;
  RosterRow& row = slot->row;
  if (gone(row)) {
    if (row.dead && !row.confirmed && event.kind == FailureClass::none)
      row.confirmed = roster_changed = true;
    return;
  }
  row.dead = true;
  row.since = now;
  row.confirmed = event.kind == FailureClass::none; // its life-lock was released
  row.failure = {};
  row.failure.kind = event.kind;
  row.failure.what = event.reason;
  row.failure.step = row.step;
  slot->kill = true;
  roster_changed = true;
  reorder.push_back(row.worker.node);
  if (event.kind != FailureClass::none)
    life_ended(*slot, row.failure);
}

void MembershipTurn::take(const ScaleTarget& event) {
  if (event.count == state.target)
    return;
  state.target = event.count;
  roster_changed = true;
}

void MembershipTurn::take(const RestartWorkers& event) {
  for (const WorkerKey& worker : event.workers) {
    Slot* slot = find(worker);
    if (slot == nullptr || gone(slot->row) || ending())
      continue;
    slot->retiring = slot->kill = slot->charged = true;
    slot->row.dead = true;
    slot->row.since = now;
    slot->row.cause = event.reason;
    roster_changed = true;
  }
}

void MembershipTurn::take(const Formed& event) {
  if (event.generation < state.generation)
    return;
  state.generation = event.generation;
  state.members = event.members;
}

void MembershipTurn::take(const JobFinished&) { state.finished = true; }

void MembershipTurn::take(const StopAll& event) {
  state.stopping = true;
  state.earlier = false;
  end(event.reason);
}

void MembershipTurn::take(const FailJob& event) {
  state.failed = true;
  state.earlier = false;
  if (state.failure.cause.empty())
    state.failure = event;
  end(event.cause);
}

} // namespace troupe

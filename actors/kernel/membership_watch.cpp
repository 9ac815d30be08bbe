// Heartbeats, as the membership kernel sees them. All that is remembered here is volatile: a judgement becomes a
// Suspect, NodeLost or DrainRequest, which is journaled and then changes state.
#include "actors/kernel/membership_turn.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

bool at_work(const RosterRow& row) {
  return !gone(row) && (row.phase == WorkerPhase::restoring || row.phase == WorkerPhase::running);
}

} // namespace

MembershipKernel::Watch& MembershipTurn::watch(const WorkerKey& worker) {
  auto same = [&](const Kernel::Watch& w) { return w.worker.node == worker.node && w.worker.slot == worker.slot; };
  auto it = std::find_if(memory.workers.begin(), memory.workers.end(), same);
  if (it == memory.workers.end())
    it = memory.workers.insert(memory.workers.end(), Kernel::Watch{});
  if (it->worker != worker) {
    *it = {};
    it->worker = worker;
    it->moved = it->worked = it->stepped = now;
  }
  return *it;
}

MembershipKernel::NodeWatch& MembershipTurn::watch(NodeId node) {
  auto it = std::find_if(memory.nodes.begin(), memory.nodes.end(),
                         [&](const Kernel::NodeWatch& w) { return w.node == node; });
  if (it == memory.nodes.end())
    it = memory.nodes.insert(memory.nodes.end(), {node, {}});
  return *it;
}

void MembershipTurn::take(const Alive& alive) {
  const Node* node = find(alive.node);
  if (node == nullptr || node->agent != alive.agent || alive.term != state.term)
    return;
  watch(node->node).heard = now;
  Advanced advanced = memory.told;
  for (const Heard& heard : alive.heard) {
    if (heard.slot.value >= node->slots.size() ||
        node->slots[heard.slot.value].row.worker.incarnation != heard.incarnation)
      continue;
    Kernel::Watch& w = watch({alive.node, heard.slot, heard.incarnation});
    w.heard = now;
    if (heard.progress != w.progress || w.debugged)
      w.worked = now;
    if (heard.progress != w.progress || heard.waiting || heard.debugged)
      w.moved = std::max(w.moved, now);
    if (heard.generation != w.generation) {
      w.generation = heard.generation;
      w.step = heard.step;
      w.stepped = now;
    } else if (heard.step > w.step) {
      const auto steps = static_cast<std::int64_t>(heard.step.value - w.step.value);
      memory.steps.push_back((now - w.stepped) / steps);
      if (memory.steps.size() > 64)
        memory.steps.erase(memory.steps.begin());
      w.step = heard.step;
      w.stepped = now;
    }
    w.progress = heard.progress;
    w.allowance = heard.allowance;
    w.waiting = heard.waiting;
    w.debugged = heard.debugged;
    if (heard.generation > advanced.generation ||
        (heard.generation == advanced.generation && heard.step > advanced.step))
      advanced = {heard.generation, heard.step};
  }
  if (!(advanced == memory.told)) {
    memory.told = advanced;
    say(advanced);
  }
}

void MembershipTurn::take(const Tick& tick) {
  if (tick.late)
    memory.clocks_from = now;
  else if (!state.stopped)
    judge();
}

Duration MembershipTurn::hang_limit() const {
  std::vector<Duration> sorted = memory.steps;
  if (sorted.empty())
    return settings.limits.hang;
  auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return std::max(settings.limits.hang, 10 * *middle);
}

void MembershipTurn::judge() {
  const KernelLimits& limits = settings.limits;
  const Duration hang = hang_limit();
  for (const Node& node : state.nodes) {
    if (node.lost)
      continue;
    const Time heard = watch(node.node).heard;
    if (heard == Time{} ? now - memory.started > limits.master_grace : now - clock(heard) > limits.lost_after) {
      say(NodeLost{node.node, node.agent,
                   heard == Time{}
                     ? fmt::format("its node did not come back within {:g}s", seconds(limits.master_grace))
                     : fmt::format("its node was not heard for {:g}s", seconds(now - clock(heard)))});
      continue;
    }
    for (const Slot& slot : node.slots)
      if (!gone(slot.row) && !slot.retiring)
        judge_worker(slot, heard, hang);
  }
  if (!state.finished && !ending())
    judge_generation(hang);
}

void MembershipTurn::judge_worker(const Slot& slot, Time node_heard, Duration hang) {
  const KernelLimits& limits = settings.limits;
  const RosterRow& row = slot.row;
  const Kernel::Watch& w = watch(row.worker);
  if (w.debugged)
    return;
  if (row.phase == WorkerPhase::starting && now - clock(row.since) > limits.build) {
    say(Suspect{row.worker, FailureClass::startup, fmt::format("not built within {:g}s", seconds(limits.build))});
    return;
  }
  // Against the node's own heartbeat, so that a late node is not charged to its workers.
  if (w.heard == Time{}) {
    if (row.phase != WorkerPhase::starting && node_heard != Time{} &&
        node_heard - std::max(memory.started, clock(row.since)) > limits.master_grace)
      say(Suspect{row.worker, FailureClass::silent, "never heard, though its node is"});
    return;
  }
  const Duration unheard = node_heard - clock(w.heard);
  if (unheard > limits.lost_after) {
    say(Suspect{row.worker, FailureClass::silent, fmt::format("no heartbeat for {:g}s", seconds(unheard))});
    return;
  }
  const Duration still = now - std::max(clock(w.moved), row.since);
  if (at_work(row) && !w.waiting && still > std::max(hang, w.allowance))
    say(Suspect{row.worker, FailureClass::hang,
                fmt::format("no progress for {:g}s at step {}, and not waiting for others", seconds(still),
                            w.step.value)});
}

/// All have arrived and nothing moves: nobody is to blame, the generation is made anew.
void MembershipTurn::judge_generation(Duration hang) {
  if (state.members.empty())
    return;
  Time newest = memory.clocks_from;
  for (const WorkerKey& worker : state.members) {
    Slot* slot = find(worker);
    if (slot == nullptr || gone(slot->row) || slot->row.phase != WorkerPhase::running ||
        slot->row.generation != state.generation)
      return;
    const Kernel::Watch& w = watch(worker);
    if (!w.waiting || w.debugged)
      return;
    newest = std::max({newest, w.worked, slot->row.since});
  }
  if (now - newest > hang)
    say(DrainRequest{state.generation,
                     fmt::format("all members wait for each other for {:g}s", seconds(now - newest))});
}

} // namespace troupe

// Wishes of the membership kernel: which slots are wanted, and what each node is told.
#include "actors/kernel/membership_turn.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

/// Slots that are wanted stay so; new ones are taken in order of (slot, node), so that nodes fill evenly, and the last
/// in that order retire first.
void MembershipTurn::place() {
  std::vector<std::pair<Node*, Slot*>> order;
  std::size_t most = 0;
  for (const Node& node : state.nodes)
    most = std::max(most, node.slots.size());
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < most; ++i)
    for (Node& node : state.nodes)
      if (i < node.slots.size()) {
        order.emplace_back(&node, &node.slots[i]);
        kept += node.slots[i].row.wanted && !node.lost ? 1 : 0;
      }
  std::uint32_t room = ending() ? 0 : state.target;
  std::uint32_t fresh = room > kept ? room - kept : 0;
  for (auto [node, slot] : order) {
    bool wanted = false;
    if (!node->lost && slot->row.wanted && room > 0) {
      wanted = true;
      --room;
    } else if (!node->lost && !slot->row.wanted && fresh > 0) {
      wanted = true;
      --fresh;
    }
    if (slot->row.wanted == wanted)
      continue;
    slot->row.wanted = wanted;
    slot->unwanted_since = wanted ? Time{} : now;
    roster_changed = true;
    reorder.push_back(node->node);
  }
}

/// Is a process of the wanted incarnation to run in the slot?
bool MembershipTurn::runs(const Slot& slot) const {
  if (ending())
    return false;
  if (slot.ordered > slot.row.worker.incarnation)
    return slot.row.wanted;
  return !gone(slot.row) && !slot.retiring;
}

void MembershipTurn::reconcile(Slot& slot) {
  RosterRow& row = slot.row;
  const bool pending = slot.ordered > row.worker.incarnation;
  if (gone(row)) {
    const bool settled = slot.charged || row.worker.incarnation.value == 0;
    if (row.wanted && settled && !pending && now >= slot.not_before && !ending() && !state.finished) {
      slot.ordered = row.worker.incarnation.next();
      slot.not_before = {};
      reorder.push_back(row.worker.node);
    }
  } else if (!row.wanted && !slot.retiring) {
    // A member leaves its generation first, unless that takes too long; the others need not notice.
    const bool member = std::find(state.members.begin(), state.members.end(), row.worker) != state.members.end();
    if (!member || ending() || now - slot.unwanted_since >= settings.limits.retire) {
      slot.retiring = true;
      reorder.push_back(row.worker.node);
    }
  }
  const bool coming = row.wanted && !ending() && gone(row) &&
                      (slot.ordered > row.worker.incarnation || !state.finished);
  if (row.coming != coming) {
    row.coming = coming;
    roster_changed = true;
  }
}

std::vector<SlotOrder> MembershipTurn::orders_of(const Node& node) const {
  std::vector<SlotOrder> orders;
  for (const Slot& slot : node.slots)
    orders.push_back({slot.row.worker.slot, slot.ordered, runs(slot), slot.kill});
  return orders;
}

/// For those who missed it: said by a kernel that died over it, or in an earlier term.
void MembershipTurn::say_end() {
  if (state.failed)
    say(state.failure);
  if (state.stopping)
    say(StopAll{state.finished, state.why});
}

void MembershipTurn::conclude() {
  if (roster_changed || restate)
    place();
  bool living = false;
  Time wake = now + settings.limits.heartbeat;
  for (Node& node : state.nodes) {
    for (Slot& slot : node.slots) {
      reconcile(slot);
      if (!node.lost && slot.row.phase != WorkerPhase::empty && slot.row.phase != WorkerPhase::exited)
        living = true;
      if (slot.not_before > now)
        wake = std::min(wake, slot.not_before);
    }
    if (restate || std::find(reorder.begin(), reorder.end(), node.node) != reorder.end())
      say(SlotsOrder{state.term, ++node.order, node.node, orders_of(node)});
  }
  if (roster_changed || restate) {
    if (roster_changed)
      ++state.version;
    Roster roster{state.version, state.target, {}};
    for (const Node& node : state.nodes)
      for (const Slot& slot : node.slots)
        roster.rows.push_back(slot.row);
    say(std::move(roster));
  }
  const bool judged = state.judged == state.term;
  if (judged && (found || restate)) {
    say(RunFound{state.term, state.kept});
    say_end();
  }
  // Until a node spoke in this term, rows are what an earlier one knew.
  if (ending() && (state.stopped ? restate : !living && (judged || !state.earlier))) {
    state.stopped = true;
    say(AllStopped{state.why});
  }
  if (!state.stopped && (memory.next_tick <= now || wake < memory.next_tick)) {
    memory.next_tick = wake;
    say(WakeAt{wake, "to see who is silent"});
  }
}

} // namespace troupe

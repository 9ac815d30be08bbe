// The node actor's parts, one file each: its workers' processes (node_workers.cpp), the segment and
// descriptors of a generation (node_generation.cpp), its words to the master (node_master.cpp). All run in
// the node actor and work on its NodeState; none is used elsewhere.
#pragma once

#include "actors/node/node_actor.hpp"
#include "actors/node/persister.hpp"

#include <caf/event_based_actor.hpp>

namespace troupe::node {

using Self = caf::stateful_actor<NodeState>*;

// --- node_master.cpp: what goes up, and finding the master again ---

/// What the master does not hear while it is away is said again, whole, when it is back.
template <class Schema>
void to_master(Self self, const Message<Schema>& message) {
  if (self->state.gate)
    self->send(self->state.gate, message);
}
void send_report(Self self);
/// What workers said of their modes and counts; once when it changes, and to each new life of the master.
void tell_modes(Self self);
/// Rows are said once by the workers, so they are kept while the master is away.
void tell_progress(Self self, const Message<schema::ProgressReport>& progress);
/// Several changes that arrive together make one report.
void report_soon(Self self);
void send_alive(Self self);
/// Says hello to a door of the master and goes on when it is welcome.
void join(Self self, const caf::actor& door);
/// Looks for the master again, as long as limits.master_grace allows. Workers go on meanwhile.
void reconnect(Self self);

// --- node_workers.cpp: processes ---

void send_order(Self self, Slot& slot);
void send_orders(Self self);
void kill_worker(Slot& slot, std::string_view why);
/// Makes the slot what its order says, one step at a time; called again when a process ended.
void settle(Self self, Slot& slot);
/// Null when that life is not running.
Slot* slot_of(NodeState& state, SlotId id, Incarnation incarnation);
void stop_all(Self self, const std::string& cause);
/// The same, and the node's end is a failure.
void give_up(Self self, const std::string& cause);
void ended(Self self, const ProcessEnded& end);
void greet(Self self, const WorkerHello& hello, const caf::strong_actor_ptr& from);
void note(Self self, const WorkerReport& report, const caf::strong_actor_ptr& from);

// --- node_generation.cpp: memory and descriptors ---

template <class T>
void to_persister(Self self, T task) {
  if (auto persister = self->state.names->find(role::persister))
    self->send(persister, std::move(task));
}
const Member* member_of(const Plan& plan, NodeId node, const Slot& slot);
/// Second line behind the life-lock, and how a drain comes at once.
void poison(NodeState& state, Generation upto, std::string_view cause);
void obey(Self self, GenerationOrder order);
void loaded(Self self, const LoadDone& done);
/// Asks a new life of the persister for what the old one did not finish.
void load_again(Self self);
/// Pins the version here and now, so that it stays readable however long the persister takes to come to it.
void persist(Self self, Slot& slot, const SaveReady& ready);
void save(Self self, const SaveOrder& order);

} // namespace troupe::node

#include "sim/node.hpp"

#include "sim/world.hpp"

#include <algorithm>

namespace troupe::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Node::Node(World& world, NodeId number, std::uint32_t count) : id(number), slots(count), world_(world) {
  for (std::uint32_t i = 0; i < count; ++i)
    slots[i].fact.slot = SlotId{i};
}

void Node::boot() {
  up = true;
  agent = agent.next();
  sequence_ = 0;
  orders_ = {};
  save_ = {};
  saved_ = {};
  generation = {};
  armed = {};
  for (SimSlot& slot : slots) {
    const SlotId place = slot.fact.slot;
    slot = {};
    slot.fact.slot = place;
  }
  heard = world_.heap.now();
  beat(agent.value);
}

void Node::lose() {
  up = false;
  for (SimSlot& slot : slots)
    if (slot.worker) {
      auto worker = std::move(slot.worker);
      slot.worker = nullptr;
      worker->die({});
    }
}

void Node::bind(Term to) {
  if (to <= term || !up)
    return;
  term = to;
  heard = world_.heap.now();
  report();
}

void Node::beat(std::uint64_t life) {
  if (!up || agent.value != life)
    return;
  world_.heap.after(world_.scenario.settings.limits.heartbeat, [this, life] { beat(life); });
  const Time now = world_.heap.now();
  if (!cut && world_.master.up())
    heard = now;
  if (now - heard > world_.scenario.settings.limits.master_grace) // nobody may go on without the master for longer
    for (SimSlot& slot : slots)
      if (slot.worker && slot.worker->segment)
        world_.poison(*slot.worker->segment, -1, "no master");
  if (term == Term{})
    return;
  Alive alive{id, agent, term, {}};
  for (const SimSlot& slot : slots)
    if (slot.worker && !slot.worker->stopped)
      alive.heard.push_back({slot.fact.slot, slot.fact.incarnation, slot.worker->fact.generation,
                             slot.worker->fact.step, slot.worker->progress, slot.worker->waiting, false, {}});
  world_.to_master(*this, alive);
  if (world_.random.below(8) == 0)
    report(); // level-triggered: said again now and then
}

void Node::report() {
  if (report_due_)
    return;
  report_due_ = true;
  world_.heap.after(world_.up_to(microseconds(200)), [this] {
    report_due_ = false;
    if (!up || term == Term{})
      return;
    NodeReport r{id, agent, term, ++sequence_, "sim", 1, {}};
    for (SimSlot& slot : slots) {
      slot.fact.holdings.clear();
      for (const Version& v : slot.memory)
        slot.fact.holdings.push_back({0, v.key, Tier::snapshot, v.digest, v.agreed});
      r.slots.push_back(slot.fact);
    }
    world_.to_master(*this, r);
  });
}

void Node::take(const SlotsOrder& order) {
  if (!up || std::pair(order.term, order.sequence) < std::pair(orders_.term, orders_.sequence) || order.term < term)
    return;
  orders_ = order;
  for (const SlotOrder& wanted : order.slots)
    if (wanted.slot.value < slots.size()) {
      slots[wanted.slot.value].order = wanted;
      settle(slots[wanted.slot.value]);
    }
}

void Node::settle(SimSlot& slot) {
  const SlotOrder& order = slot.order;
  if (slot.worker) {
    const bool newer = order.incarnation > slot.worker->key.incarnation;
    if (!newer && order.incarnation < slot.worker->key.incarnation)
      return;
    if (order.kill && (newer || !order.run))
      slot.worker->die({FailureClass::signal, 9, 0, "killed as ordered", {}, {}, {}});
    else if (newer || !order.run) {
      auto worker = slot.worker;
      worker->obey(LeaveOrder{"replaced or retired"});
      world_.heap.after(world_.scenario.settings.limits.stop, [worker] {
        worker->die({FailureClass::signal, 9, 0, "did not leave in time", {}, {}, {}});
      });
    }
    return;
  }
  if (!order.run || order.incarnation <= slot.fact.incarnation)
    return;
  const SlotId place = slot.fact.slot;
  slot.fact = {};
  slot.fact.slot = place;
  slot.fact.incarnation = order.incarnation;
  slot.fact.phase = WorkerPhase::starting;
  slot.worker = std::make_shared<Worker>(world_, *this, WorkerKey{id, place, order.incarnation});
  report();
  slot.worker->start();
  if (generation.command != GenerationCommand::none && slot.worker)
    slot.worker->obey(generation);
}

void Node::take(const GenerationOrder& order) {
  if (!up || order.term < term ||
      std::pair(order.term, order.sequence) < std::pair(generation.term, generation.sequence))
    return;
  generation = order;
  for (SimSlot& slot : slots)
    if (auto worker = slot.worker)
      world_.heap.after(world_.up_to(microseconds(300)), [worker, order] { worker->obey(order); });
}

void Node::take(const ArmedFaults& statement) {
  if (up && std::pair(statement.term, statement.sequence) >= std::pair(armed.term, armed.sequence))
    armed = statement;
}

void Node::take(const FireFault& verdict) {
  if (up && verdict.worker.slot.value < slots.size())
    if (auto worker = slots[verdict.worker.slot.value].worker; worker && worker->key == verdict.worker)
      worker->faulted(verdict);
}

void Node::take(const KillWorker& kill) {
  if (up && kill.worker.slot.value < slots.size())
    if (auto worker = slots[kill.worker.slot.value].worker; worker && worker->key == kill.worker)
      worker->die({FailureClass::signal, 9, 0, kill.reason, {}, {}, {}});
}

void Node::take(const SaveOrder& order) {
  if (!up || order.term < term || order.request < save_.request || order.from.slot.value >= slots.size())
    return;
  const bool again = order.request == save_.request;
  save_ = order;
  if (!again)
    save(order.request);
  else if (saved_.request == order.request)
    world_.to_master(*this, saved_); // the answer was lost
}

/// Looks for the version in the slot's memory until it is there, also when its worker is gone.
void Node::save(std::uint64_t request) {
  if (!up || save_.request != request)
    return;
  const SimSlot& slot = slots[save_.from.slot.value];
  if (slot.memory.empty() || slot.memory.back().key.step < save_.at_least ||
      slot.memory.back().key.step == Step{}) {
    world_.heap.after(milliseconds(5), [this, request] { save(request); });
    return;
  }
  const Version version = slot.memory.back();
  const Duration took = milliseconds(2) + world_.up_to(milliseconds(40));
  world_.heap.after(took, [this, request, version, took, life = agent] {
    if (!up || agent != life)
      return;
    const std::string path = "checkpoint-" + std::to_string(version.key.step.value) + "-" +
                             std::to_string(version.key.generation.value) + "-" + std::to_string(request);
    world_.files.emplace_back(path, version);
    world_.disk.push_back({version.key, version.digest, path, false});
    saved_ = {request, true, version.key, version.digest, path, false, took, {}};
    world_.to_master(*this, saved_);
  });
}

void Node::told(Worker& worker, const SlotFact& fact) {
  SimSlot& slot = slots[worker.key.slot.value];
  if (!up || slot.worker.get() != &worker)
    return;
  slot.fact = fact;
  slot.fact.pid = static_cast<std::int64_t>(1000 + worker.key.incarnation.value);
  report();
}

void Node::ended(Worker& worker, Failure failure) {
  // pidfd: some time after the process lost its locks.
  world_.heap.after(world_.up_to(milliseconds(5)), [this, failure, self = worker.shared_from_this()] {
    SimSlot& slot = slots[self->key.slot.value];
    if (!up || slot.worker != self)
      return;
    slot.worker = nullptr;
    slot.fact.phase = WorkerPhase::exited;
    slot.fact.failure = failure;
    report();
    settle(slot);
  });
}

} // namespace troupe::sim

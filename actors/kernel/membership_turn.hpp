// Private to membership*.cpp: one call of MembershipKernel::on, from the event to the actions.
#pragma once

#include "actors/kernel/membership.hpp"

namespace troupe {

struct MembershipTurn {
  using Kernel = MembershipKernel;
  using Slot = Kernel::Slot;
  using Node = Kernel::Node;

  MembershipTurn(Kernel& kernel, Time at)
    : settings(kernel.settings_), state(kernel.state_), memory(kernel.volatile_), now(at) {}

  // One per event.
  void take(const Started&);
  void take(const PeerRestarted&);
  void take(const Tick&);
  void take(const NodeReport&);
  void take(const Alive&);
  void take(const NodeLost&);
  void take(const Suspect&);
  void take(const ScaleTarget&);
  void take(const RestartWorkers&);
  void take(const Formed&);
  void take(const JobFinished&);
  void take(const StopAll&);
  void take(const FailJob&);
  /// Brings orders in line with what is wanted and says what changed.
  void conclude();

  // Facts.
  void apply(Node& node, Slot& slot, const SlotFact& fact);
  void agent_replaced(Node& node, bool with_master);
  void life_ended(Slot& slot, Failure failure);
  void charge(Slot& slot, const Failure& failure);
  void fail(std::string cause, const Failure& first, WorkerKey worker, std::string reason);
  void end(std::string why);
  void judge_run(NodeId speaker, bool same_agent);
  void say_end();

  // Wishes.
  void place();
  void reconcile(Slot& slot);
  bool runs(const Slot& slot) const;
  std::vector<SlotOrder> orders_of(const Node& node) const;
  void state_all();

  // Heartbeats.
  Kernel::Watch& watch(const WorkerKey& worker);
  Kernel::NodeWatch& watch(NodeId node);
  void judge();
  void judge_worker(const Slot& slot, Time node_heard, Duration hang);
  void judge_generation(Duration hang);
  Duration hang_limit() const;
  Time clock(Time seen) const { return seen > memory.clocks_from ? seen : memory.clocks_from; }

  Node* find(NodeId node);
  Slot* find(const WorkerKey& worker); ///< only its present life
  bool ending() const { return state.stopping || state.failed; }
  template <class A>
  void say(A action) {
    out.push_back(std::move(action));
  }

  const KernelSettings& settings;
  Kernel::State& state;
  Kernel::Volatile& memory;
  Time now;
  bool roster_changed = false;
  bool restate = false;
  bool found = false; ///< RunFound is due
  std::vector<NodeId> reorder; ///< nodes whose orders changed, or that do not know them
  std::vector<Kernel::Action> out;
};

/// A life that is over or never began; `dead` ones were given up and may still be running.
inline bool gone(const RosterRow& row) {
  return row.phase == WorkerPhase::empty || row.phase == WorkerPhase::exited || row.dead;
}

std::string name_of(const WorkerKey& worker);

} // namespace troupe

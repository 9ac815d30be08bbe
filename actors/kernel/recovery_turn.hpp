// Private to recovery*.cpp: one call of RecoveryKernel::on. Facts first become events for the strategy (`pending`); its
// last answer is then carried out.
#pragma once

#include "actors/kernel/recovery.hpp"

#include <utility>

namespace troupe {

struct RecoveryTurn {
  using Kernel = RecoveryKernel;

  RecoveryTurn(const KernelSettings& s, Kernel::State& st, Strategy& strat, Time at)
    : settings(s), state(st), strategy(strat), now(at) {}

  void take(const Started&);
  void take(const PeerRestarted&);
  void take(const Tick&);
  void take(const Roster&);
  void take(const Drained&);
  void take(const Formed&);
  void take(const CheckpointsFound&);
  void take(const DigestMismatch&);
  void take(const Pause&);
  void take(const Notice&);
  void take(const JobFinished&);
  void take(const StopAll&);
  void take(const FailJob&);
  /// Asks the strategy about all that is pending, acts, and sets the timer.
  void conclude();

  void merge(const Roster& roster);
  void restate();
  void request_drain(std::string reason);
  void act(const StrategyEvent& event, const Decision& decision);
  void restart(const Decision& decision);
  void note(const StrategyEvent& event, const Decision& decision, std::string text);
  std::string make_plan(const Decision& decision); ///< empty: the plan is out; else why not
  void fill(Plan& plan, const std::vector<const RosterRow*>& rows) const;
  void watch_size();
  void fail(std::string cause);
  void count_mismatch(Generation generation, Step step);

  ClusterView view() const;
  WorkerView view_of(const RosterRow& row) const;
  const RosterRow* row_of(const WorkerView& worker) const;
  bool forming() const { return !state.drained && state.planned.generation > state.running; }
  static std::pair<NodeId, SlotId> place_of(const RosterRow& row) { return {row.worker.node, row.worker.slot}; }
  static bool lived(const RosterRow& row) {
    return !row.dead && row.phase != WorkerPhase::empty && row.phase != WorkerPhase::exited;
  }
  template <class A>
  void say(A action) {
    out.push_back(std::move(action));
  }

  const KernelSettings& settings;
  Kernel::State& state;
  Strategy& strategy;
  Time now;
  std::vector<StrategyEvent> pending;
  bool always_note = false; ///< a transient event must not change state silently
  bool retime = false;     ///< the timer went off or is not set
  std::vector<Kernel::Action> out;
};

} // namespace troupe

// A strategy answers what happens to workers: who forms the next generation, and how long to wait for whom. It is pure:
// no clock, thread, I/O or random number; the same calls give the same answers, on real processes and in the simulator.
// Its state is one reflected struct that the runtime journals after every call and restores after a restart.
//
//   class Mine : public troupe::StrategyOf<MineState> {
//     troupe::Decision on(const Event& event, const troupe::ClusterView& view, troupe::Time now) override;
//   };
//   TROUPE_STRATEGY("mine", Mine)
//
// It is asked at every event below, and whenever a plan is due (view.drained) and something changed. What it may not
// decide: which version is resumed (the newest every piece has a holder for) and which generation number comes next.
// Members that are not usable, or too many or too few of them, are refused, and it is asked again with plan_failed.
#pragma once

#include "troupe/ids.hpp"
#include "troupe/reflect.hpp"
#include "troupe/reflect_text.hpp"
#include "troupe/time.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

enum class StrategyEventKind : std::uint8_t {
  start,       ///< of the job, or of the master over an unfinished job
  failed,      ///< `workers` died or were given up
  joined,      ///< `workers` are built and wait to be used
  notice,      ///< `workers` will go away soon
  straggler,   ///< `workers` are slow
  health,      ///< of nodes
  timer,       ///< the time of wake_after or wait_until came
  plan_failed, ///< the last decision could not be carried out: `what` says why
  drained,     ///< the running generation ended in order; a plan is due
  resized,     ///< view.target changed
  cadence,     ///< a generation was formed
};

/// One worker. Its place is its slot; `incarnation` tells lives apart.
struct WorkerView {
  NodeId node;
  SlotId slot;
  Incarnation incarnation;
  bool usable = false;      ///< built, alive, wanted, in no generation that still runs: may be a member of the next one
  bool member = false;      ///< of the newest generation
  Rank rank;                ///< in it
  bool wanted = false;      ///< false: to be retired; leave it out
  bool dead = false;
  bool coming = false;      ///< starting, or a replacement is ordered
  bool has_memory = false;  ///< its slot holds a version of the state
  Time since{};             ///< of its present phase
  friend bool operator==(const WorkerView&, const WorkerView&) = default;
  TROUPE_FIELDS(node, slot, incarnation, usable, member, rank, wanted, dead, coming, has_memory, since)
};

struct ClusterView {
  std::vector<WorkerView> workers; ///< one per slot, by (node, slot)
  std::uint32_t start = 1;         ///< workers.start, min, max, virtual of the job file
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::uint32_t virtual_workers = 1;
  std::uint32_t target = 1;        ///< wanted now (scale)
  Duration hold{};                 ///< recovery.hold
  Duration gather{};               ///< longest sensible wait at the start of a job
  bool drained = true;             ///< no generation runs: a decision with members becomes a plan
  bool first = true;               ///< no generation ever ran in this job
  friend bool operator==(const ClusterView&, const ClusterView&) = default;
  TROUPE_FIELDS(workers, start, min, max, virtual_workers, target, hold, gather, drained, first)
};

struct StrategyEvent {
  StrategyEventKind kind = StrategyEventKind::start;
  std::vector<WorkerView> workers;
  std::string what;                ///< cause, in words
  TROUPE_FIELDS(kind, workers, what)
};

struct StrategyRequest {
  enum class Kind : std::uint8_t { spare, node, quarantine, snapshot, notice } kind = Kind::notice;
  std::string what;
  TROUPE_FIELDS(kind, what)
};

/// The answer. With members: they form the next generation, now if the view is drained, else the running one is drained
/// first and the strategy is asked again. Without: wait.
struct Decision {
  std::vector<WorkerView> members;   ///< usable ones (or, before a drain, members that go on); order is kept as ranks
  std::vector<WorkerView> restart;   ///< lives to end and start anew, at no cost to budgets
  bool from_checkpoint = false;      ///< resume the newest checkpoint and ignore what is in memory
  Time wait_until{};                 ///< ask again then if nothing happened; epoch: no
  Duration wake_after{};             ///< ask again after so long in any case; 0: no
  std::vector<StrategyRequest> requests;
  std::string reason;
  TROUPE_FIELDS(members, restart, from_checkpoint, wait_until, wake_after, requests, reason)
};

class Strategy {
public:
  using Event = StrategyEvent;
  virtual ~Strategy() = default;
  virtual Decision on(const Event& event, const ClusterView& view, Time now) = 0;
  /// State as text and back; load gives false for a text it cannot read.
  virtual std::string save() const { return {}; }
  virtual bool load(std::string_view) { return true; }
};

/// A strategy whose state is `State state`, a struct with TROUPE_FIELDS.
template <Reflected State>
class StrategyOf : public Strategy {
public:
  std::string save() const final { return to_text(state); }
  bool load(std::string_view text) final { return from_text(text, state); }

protected:
  State state;
};

/// What a module exports for its strategy.
struct StrategyInfo {
  std::uint32_t abi;
  const char* name;
  Strategy* (*make)();
};

constexpr std::string_view to_string(StrategyEventKind kind) {
  constexpr std::string_view names[] = {"start",  "failed", "joined",      "notice",  "straggler", "health",
                                        "timer",  "plan_failed", "drained", "resized", "cadence"};
  return names[static_cast<unsigned>(kind)];
}
constexpr std::size_t enum_count(StrategyEventKind) { return 11; }
constexpr std::string_view to_string(StrategyRequest::Kind kind) {
  constexpr std::string_view names[] = {"spare", "node", "quarantine", "snapshot", "notice"};
  return names[static_cast<unsigned>(kind)];
}
constexpr std::size_t enum_count(StrategyRequest::Kind) { return 5; }

} // namespace troupe

/// Grows whenever a class above changes.
#define TROUPE_STRATEGY_ABI 1
#define TROUPE_STRATEGY(strategy_name, Class)                                                                 \
  extern "C" __attribute__((visibility("default"))) const ::troupe::StrategyInfo* troupe_strategy() {         \
    static const ::troupe::StrategyInfo info{TROUPE_STRATEGY_ABI, strategy_name,                                       \
                                             []() -> ::troupe::Strategy* { return new Class; }};              \
    return &info;                                                                                             \
  }

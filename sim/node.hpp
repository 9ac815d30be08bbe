// Nodes, their slots with memory that outlives workers, and workers that run the real WorkerMachine around a model of
// the engine: it connects, restores, computes, reduces, applies and publishes, each taking virtual time, and comes back
// to its boundary when its generation is poisoned.
#pragma once

#include "actors/kernel/checkpoints.hpp"
#include "actors/kernel/faults.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/kernel/worker_machine.hpp"

#include <functional>
#include <map>
#include <memory>

namespace troupe::sim {

class World;
class Node;
class Worker;

/// State of the model after `key.step` updates. `samples` counts what was trained into it, step by step.
struct Version {
  PieceKey key;
  std::uint64_t samples = 0;
  std::uint64_t digest = 0;
  std::uint64_t taint = 0;   ///< bits that were flipped in it, or in what it was made of
  bool agreed = false;
  friend bool operator==(const Version&, const Version&) = default;
};

/// One generation's shared memory: who waits for whom, and the poison.
struct Segment {
  Plan plan;
  bool poisoned = false;
  std::int32_t dead_rank = -1;
  std::string cause;
  std::vector<std::pair<std::shared_ptr<Worker>, std::function<void()>>> waiting;
  std::vector<Version> restored; ///< by its members
  std::vector<Version> compared;
};

class Worker : public std::enable_shared_from_this<Worker> {
public:
  Worker(World& world, Node& node, WorkerKey key);
  void start();
  void obey(const WorkerMachine::Event& event);
  void die(Failure failure);
  void stop_for(Duration lasts);
  void faulted(const FireFault& verdict);
  /// Its wait ended because the generation was poisoned.
  void wake_poisoned();
  /// Can it not contribute to this generation any more?
  bool out_of(Generation generation) const;

  WorkerKey key;
  bool alive = true;
  bool stopped = false;
  bool hung = false;      ///< computes for ever once it gets to
  bool raising = false;   ///< throws at the next step
  bool flipping = false;  ///< a bit of the next version
  bool waiting = false;
  std::uint64_t progress = 0;
  SlotFact fact;          ///< what the engine says
  std::shared_ptr<Segment> segment;
  Rank rank;

private:
  void after(Duration most, std::function<void()> what);
  void enter(WorkerPhase phase);
  void join(const Plan& plan, Rank as);
  void wait_all(std::function<void()> go_on);
  void restore();
  void verify();
  void begin();
  void compute();
  void reduce();
  void apply();
  void compare();
  void publish(Version version, bool agreed);
  void abort(Generation generation, const std::string& why);
  void aborted();
  void leave();

  World& world_;
  Node& node_;
  WorkerMachine machine_;
  Version live_;
  std::vector<std::function<void()>> parked_; ///< while stopped
  std::uint32_t asking_ = 0;                  ///< fault it stands at, from 1
  std::uint64_t asked_ = 0;
  std::vector<std::uint32_t> passed_;         ///< faults that were answered in this life
};

struct SimSlot {
  SlotFact fact;               ///< as reported
  SlotOrder order;
  std::shared_ptr<Worker> worker;
  std::vector<Version> memory; ///< newest last
};

class Node {
public:
  Node(World& world, NodeId id, std::uint32_t slots);
  void boot();                 ///< a new agent, nothing in memory
  void lose();                 ///< everything on it is gone at once
  void bind(Term term);
  void beat(std::uint64_t life);

  void take(const SlotsOrder& order);
  void take(const GenerationOrder& order);
  void take(const SaveOrder& order);
  void take(const ArmedFaults& armed);
  void take(const FireFault& verdict);
  void take(const KillWorker& kill);

  void told(Worker& worker, const SlotFact& fact);  ///< the worker's report
  void ended(Worker& worker, Failure failure);
  void report();

  NodeId id;
  bool up = false;
  bool cut = false;            ///< nothing goes to the master or comes from it
  Time heard{};                ///< of the master, last
  Incarnation agent;
  Term term;
  std::vector<SimSlot> slots;
  GenerationOrder generation;
  ArmedFaults armed;

private:
  void settle(SimSlot& slot);
  void save(std::uint64_t request);

  World& world_;
  std::uint64_t sequence_ = 0;
  SlotsOrder orders_;
  SaveOrder save_;
  Persisted saved_;            ///< answer to the newest request that was carried out
  bool report_due_ = false;
};

} // namespace troupe::sim

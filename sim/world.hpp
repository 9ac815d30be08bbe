// One simulated job from start to end: the master's kernels, nodes and workers in virtual time, the faults of a
// scenario, and what must hold whatever happens:
//   - a step is committed at most once per generation line, and one step at most is redone when no memory was lost;
//   - nothing of a generation completes once a newer one was announced, and no promise is broken;
//   - members of a generation agree on plan, step and digest; each sample is counted once;
//   - the journal alone gives the same state, and a transient event changes none;
//   - after the last fault the job finishes.
// `run` ends with the first thing that does not hold. One thread.
#pragma once

#include "base/reflect_text.hpp"
#include "sim/heap.hpp"
#include "sim/master.hpp"
#include "sim/node.hpp"
#include "sim/scenario.hpp"
#include "troupe/random.hpp"

namespace troupe::sim {

struct Outcome {
  std::string violation;      ///< empty: all held
  bool finished = false;
  std::string failed;         ///< cause of FailJob
  bool hopeless = false;      ///< a node was lost with the final version on it
  Version result;
  std::uint64_t generations = 0;
  std::uint64_t redone = 0;   ///< steps
  std::uint64_t fired = 0;    ///< injected faults that struck
  std::uint64_t mismatches = 0; ///< digests that differed, as told by workers
  std::vector<std::string> unfired;
  Duration took{};
  std::string trace;
};

class World {
public:
  explicit World(Scenario scenario);
  Outcome run();

  // For the parts of the world.
  Duration up_to(Duration most);
  void violated(std::string what);
  template <class A>
  void note(std::string_view kernel, const A& action) {
    if constexpr (!std::is_same_v<A, Roster> && !std::is_same_v<A, Drained>)
      line(kernel, std::string{A::tag} + " " + to_text(action));
  }
  void line(std::string_view who, std::string_view what);

  template <class A>
  void perform(const A&) {} // console only
  void perform(const SlotsOrder& order);
  void perform(const GenerationOrder& order);
  void perform(const SaveOrder& order);
  void perform(const ArmedFaults& armed);
  void perform(const FireFault& verdict);
  void perform(const KillWorker& kill);
  void perform(const DeleteCheckpoint& order);
  void perform(const FailJob& fail);
  void perform(const JobFinished& finished);
  void perform(const AllStopped& stopped);

  /// Over the network to the master; may be lost, late or doubled.
  template <class E>
  void to_master(Node& node, E event) {
    carry(node, [this, event] { master.post(event); });
  }
  void carry(Node& node, std::function<void()> deliver);

  std::shared_ptr<Segment> segment(const Plan& plan);
  void poison(Segment& segment, std::int32_t dead_rank, const std::string& cause);
  const Version* find_version(const Source& source, PieceKey key) const;
  void entered(Worker& worker, WorkerPhase phase);
  void committed(const Worker& worker, const Version& version);
  void completed(Generation generation);
  void mismatched() { ++outcome_.mismatches; }

  Scenario scenario;
  Random random;
  Heap heap;
  Master master;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<FoundCheckpoint> disk;
  std::vector<std::pair<std::string, Version>> files;

private:
  void strike(const Fault& fault);
  Worker* worker(std::uint32_t index) const;
  void formed(const Plan& plan);
  void unpause();

  std::map<Generation, std::shared_ptr<Segment>> segments_;
  std::map<Step, Generation> line_;        ///< who committed each step of the present line
  Generation announced_;
  std::vector<Fault> ambushes_;            ///< kill_in_phase that wait
  bool memory_lost_ = false;               ///< or was out of reach: then more than a step may be redone
  bool done_ = false;
  Outcome outcome_;
};

/// Twice; a run that is not the same both times is a violation.
Outcome run_twice(const Scenario& scenario);

} // namespace troupe::sim

#include "sim/world.hpp"

#include <algorithm>
#include <charconv>

namespace troupe::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

World::World(Scenario s) : scenario(std::move(s)), random(scenario.seed, "world"), master(*this) {
  for (std::uint32_t i = 0; i < scenario.nodes; ++i)
    nodes.push_back(std::make_unique<Node>(*this, NodeId{i}, scenario.slots));
}

Duration World::up_to(Duration most) {
  return most <= Duration::zero() ? Duration{}
                                  : Duration{static_cast<std::int64_t>(random.below(
                                      static_cast<std::uint64_t>(most.count()) + 1))};
}

void World::violated(std::string what) {
  line("world", "VIOLATED " + what);
  if (outcome_.violation.empty())
    outcome_.violation = std::move(what);
  done_ = true;
}

void World::line(std::string_view who, std::string_view what) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer,
                                    (heap.now().time_since_epoch() - std::chrono::hours(1)) / microseconds(1));
  outcome_.trace.append(buffer, end).append(" ").append(who).append(" ").append(what).append("\n");
}

Outcome World::run() {
  const Time begin = heap.now();
  for (auto& node : nodes)
    node->boot();
  master.start();
  for (auto& node : nodes)
    heap.after(up_to(milliseconds(20)), [&n = *node, this] { n.bind(master.term()); });
  Duration last{};
  for (const Fault& fault : scenario.faults) {
    heap.after(fault.at.time_since_epoch(), [this, fault] {
      if (!done_)
        strike(fault);
    });
    last = std::max(last, fault.at.time_since_epoch() + fault.lasts);
  }
  const Time limit = begin + last + std::chrono::minutes(15);
  while (!done_ && heap.step())
    if (heap.now() > limit) {
      line("world", "membership " + to_text(master.state<MembershipKernel>()));
      line("world", "rendezvous " + to_text(master.state<RendezvousKernel>()));
      line("world", "recovery " + to_text(master.state<RecoveryKernel>()));
      line("world", "checkpoints " + to_text(master.state<CheckpointsKernel>()));
      violated("the job did not end within 15 minutes after the last fault");
    }
  outcome_.took = heap.now() - begin;
  outcome_.unfired = never_fired(master.state<FaultsKernel>());
  if (outcome_.violation.empty() && outcome_.finished) {
    const Version& v = outcome_.result;
    if (v.key.step != scenario.settings.total_steps || v.samples != v.key.step.value)
      violated("the final version is not made of every step once: " + to_text(v.key));
  }
  return std::move(outcome_);
}

// --- The master's actions -----------------------------------------------------------------------------------------

/// Late, lost or doubled; nothing passes a cut.
void World::carry(Node& node, std::function<void()> deliver) {
  auto pass = [this, &node, deliver] {
    if (!node.cut)
      deliver();
  };
  if (node.cut || (scenario.lost_permille > 0 && random.below(1000) < scenario.lost_permille))
    return;
  heap.after(microseconds(30) + up_to(milliseconds(1)), pass);
  if (scenario.lost_permille > 0 && random.below(1000) < scenario.lost_permille)
    heap.after(up_to(milliseconds(300)), pass);
}

void World::perform(const SlotsOrder& order) {
  Node& node = *nodes.at(order.node.value);
  carry(node, [&node, order] { node.take(order); });
}

void World::perform(const GenerationOrder& order) {
  if (order.command == GenerationCommand::form && order.plan->generation > announced_)
    formed(*order.plan);
  for (auto& node : nodes)
    carry(*node, [&n = *node, order] { n.take(order); });
}

void World::perform(const SaveOrder& order) {
  Node& node = *nodes.at(order.from.node.value);
  carry(node, [&node, order] { node.take(order); });
}

void World::perform(const ArmedFaults& armed) {
  for (auto& node : nodes)
    carry(*node, [&n = *node, armed] { n.take(armed); });
}

void World::perform(const FireFault& verdict) {
  if (verdict.fire)
    ++outcome_.fired;
  Node& node = *nodes.at(verdict.worker.node.value);
  carry(node, [&node, verdict] { node.take(verdict); });
}

void World::perform(const KillWorker& kill) {
  ++outcome_.fired;
  Node& node = *nodes.at(kill.worker.node.value);
  carry(node, [&node, kill] { node.take(kill); });
}

void World::perform(const DeleteCheckpoint& order) {
  std::erase_if(disk, [&](const FoundCheckpoint& c) { return c.path == order.path; });
  std::erase_if(files, [&](const auto& file) { return file.first == order.path; });
}

void World::perform(const FailJob& fail) {
  if (outcome_.failed.empty())
    outcome_.failed = fail.cause;
}

void World::perform(const JobFinished& finished) {
  outcome_.finished = true;
  for (const Version& v : nodes.at(finished.holder.node.value)->slots.at(finished.holder.slot.value).memory)
    if (v.key.step == finished.step)
      outcome_.result = v;
}

void World::perform(const AllStopped&) { done_ = true; }

// --- What must hold -------------------------------------------------------------------------------------------------

/// A generation is announced.
void World::formed(const Plan& plan) {
  for (const auto& [generation, segment] : segments_) {
    if (generation >= plan.generation || segment->poisoned)
      continue;
    bool possible = true;
    for (const Member& m : segment->plan.members) {
      const Node& node = *nodes.at(m.worker.node.value);
      const auto& worker = node.slots.at(m.worker.slot.value).worker;
      if (!node.up || !worker || worker->key != m.worker || worker->out_of(generation))
        possible = false;
    }
    if (possible)
      violated("generation " + std::to_string(plan.generation.value) + " was announced while " +
               std::to_string(generation.value) + " could still complete a step");
  }
  announced_ = plan.generation;
  ++outcome_.generations;
  const Step newest = line_.empty() ? Step{} : line_.rbegin()->first;
  if (newest > plan.resume.step) {
    outcome_.redone += newest.value - plan.resume.step.value;
    if (!memory_lost_ && scenario.settings.strategy == "respawn" && outcome_.mismatches == 0 &&
        newest.value > plan.resume.step.value + 1)
      violated("more than one step is redone though no memory was lost: version " + std::to_string(newest.value) +
               " was committed, " + to_text(plan.resume) + " is resumed");
  }
  line_.erase(line_.upper_bound(plan.resume.step), line_.end());
  std::uint32_t next = 0;
  for (const Member& m : plan.members) {
    if (m.first_virtual != next || m.virtual_count == 0)
      violated("blocks of virtual workers are not contiguous");
    next += m.virtual_count;
  }
  if (next != scenario.settings.virtual_workers || plan.members.size() < scenario.settings.min)
    violated("a plan does not cover the batch, or has too few members");
}

/// All contributions of a step came together.
void World::completed(Generation generation) {
  if (generation < announced_)
    violated("a step of generation " + std::to_string(generation.value) + " completed after " +
             std::to_string(announced_.value) + " was announced");
}

void World::committed(const Worker&, const Version& version) {
  if (version.key.generation < announced_)
    return; // void from the start: completed before, applied by one that was given up
  const auto [it, fresh] = line_.emplace(version.key.step, version.key.generation);
  if (!fresh && it->second != version.key.generation)
    violated("step " + std::to_string(version.key.step.value) + " was committed by generations " +
             std::to_string(it->second.value) + " and " + std::to_string(version.key.generation.value));
}

std::shared_ptr<Segment> World::segment(const Plan& plan) {
  auto& segment = segments_[plan.generation];
  if (!segment) {
    segment = std::make_shared<Segment>();
    segment->plan = plan;
  }
  if (segment->plan != plan)
    violated("two plans for one generation");
  return segment;
}

void World::poison(Segment& segment, std::int32_t dead_rank, const std::string& cause) {
  if (segment.poisoned)
    return;
  segment.poisoned = true;
  segment.dead_rank = dead_rank;
  segment.cause = cause;
  line("segment", "poisoned " + std::to_string(segment.plan.generation.value) + " " + cause);
  for (auto& [worker, what] : std::exchange(segment.waiting, {}))
    if (worker->alive)
      worker->wake_poisoned();
}

const Version* World::find_version(const Source& source, PieceKey key) const {
  if (source.tier == Tier::checkpoint) {
    for (const auto& [path, version] : files)
      if (path == source.path)
        return &version;
    return nullptr;
  }
  const Node& node = *nodes.at(source.node.value);
  if (!node.up)
    return nullptr;
  for (const Version& v : node.slots.at(source.slot.value).memory)
    if (v.key == key)
      return &v;
  return nullptr;
}

// --- Faults ---------------------------------------------------------------------------------------------------------

Worker* World::worker(std::uint32_t index) const {
  std::vector<Worker*> living;
  for (const auto& node : nodes)
    for (const SimSlot& slot : node->slots)
      if (node->up && slot.worker && slot.worker->alive)
        living.push_back(slot.worker.get());
  return living.empty() ? nullptr : living[index % living.size()];
}

void World::entered(Worker& worker, WorkerPhase phase) {
  for (std::size_t i = 0; i < ambushes_.size(); ++i)
    if (ambushes_[i].phase == phase) {
      ambushes_.erase(ambushes_.begin() + static_cast<std::ptrdiff_t>(i));
      heap.after(up_to(milliseconds(3)), [w = worker.shared_from_this()] {
        w->die({FailureClass::signal, 9, 0, "ambushed", {}, {}, {}});
      });
      return;
    }
}

void World::strike(const Fault& f) {
  line("fault", to_text(f));
  const Failure killed{FailureClass::signal, 9, 0, "killed by the scenario", {}, {}, {}};
  switch (f.strike) {
  case Strike::kill:
    if (Worker* w = worker(f.index))
      w->die(killed);
    break;
  case Strike::kill_all:
    for (auto& node : nodes)
      for (SimSlot& slot : node->slots)
        if (auto w = slot.worker; w && node->up)
          w->die(killed);
    break;
  case Strike::kill_in_phase:
    ambushes_.push_back(f);
    break;
  case Strike::stop:
    if (Worker* w = worker(f.index))
      w->stop_for(f.lasts);
    break;
  case Strike::hang:
    if (Worker* w = worker(f.index))
      w->hung = true;
    break;
  case Strike::raise:
    if (Worker* w = worker(f.index))
      w->raising = true;
    break;
  case Strike::flip:
    memory_lost_ = true; // goes back to the last agreement
    if (Worker* w = worker(f.index))
      w->flipping = true;
    break;
  case Strike::node_loss: {
    Node& node = *nodes[f.index % nodes.size()];
    if (!node.up)
      break;
    memory_lost_ = true;
    outcome_.hopeless = outcome_.hopeless || outcome_.finished;
    node.lose();
    heap.after(f.lasts, [this, &node] {
      node.boot();
      if (master.up())
        heap.after(up_to(milliseconds(5)), [this, &node] {
          node.term = {};
          node.bind(master.term());
        });
    });
    break;
  }
  case Strike::agent_restart: {
    Node& node = *nodes[f.index % nodes.size()];
    node.cut = true;
    memory_lost_ = true; // out of reach
    heap.after(f.lasts, [this, &node] {
      node.cut = false;
      if (node.up)
        node.report();
      if (master.up())
        node.bind(master.term());
    });
    break;
  }
  case Strike::kernel_restart:
    master.restart_from(f.index % Master::kernels);
    break;
  case Strike::master_restart:
    if (!master.up())
      break;
    master.crash();
    heap.after(f.lasts, [this] {
      master.start();
      for (auto& node : nodes)
        heap.after(up_to(milliseconds(50)), [this, &n = *node] {
          if (!n.cut)
            n.bind(master.term());
        });
    });
    break;
  case Strike::scale:
    master.post(ScaleRequest{1, f.index, "scenario"});
    break;
  case Strike::pause:
    master.post(Pause{true, "scenario"});
    heap.after(f.lasts, [this] { unpause(); });
    break;
  case Strike::save:
    master.post(SaveRequest{"scenario"});
    break;
  }
}

void World::unpause() {
  if (done_)
    return;
  if (master.up())
    master.post(Pause{false, {}});
  if (!master.up() || master.state<RecoveryKernel>().paused)
    heap.after(milliseconds(100), [this] { unpause(); }); // whoever asked sees that it did not happen
}

Outcome run_twice(const Scenario& scenario) {
  Outcome first = World(scenario).run();
  if (first.violation.empty() && World(scenario).run().trace != first.trace)
    first.violation = "the same seed gave another run";
  return first;
}

} // namespace troupe::sim

// What one simulated job is and what happens to it: settings, a cluster, and a list of faults, all drawn from a seed or
// written down by a test. Plain values; the same scenario and seed give the same run, byte for byte.
#pragma once

#include "actors/kernel/settings.hpp"

namespace troupe::sim {

enum class Strike : std::uint8_t {
  kill,           ///< SIGKILL to a worker
  kill_all,       ///< to all workers at once
  kill_in_phase,  ///< to the first worker that enters `phase` from then on
  stop,           ///< SIGSTOP for `lasts`
  hang,           ///< a worker computes for ever
  raise,          ///< the trainer throws
  node_loss,      ///< a node and all on it, back after `lasts`
  agent_restart,  ///< partition of a node for `lasts`: nothing goes through either way
  kernel_restart, ///< a kernel and all after it die and come back from the journal
  master_restart, ///< the master dies, and is back after `lasts`
  scale,          ///< wanted workers become `index`
  pause,          ///< for `lasts`
  save,
  flip,           ///< a bit of a worker's model
};
std::string_view to_string(Strike);
constexpr std::size_t enum_count(Strike) { return 14; }

struct Fault {
  Time at{};                ///< from the start of the job
  Strike strike = Strike::kill;
  std::uint32_t index = 0;  ///< worker, node, kernel or count; taken modulo what there is
  WorkerPhase phase = WorkerPhase::running;
  Duration lasts{};
  TROUPE_FIELDS(at, strike, index, phase, lasts)
};

struct Scenario {
  std::uint64_t seed = 1;
  KernelSettings settings;
  std::uint32_t nodes = 1;
  std::uint32_t slots = 4;        ///< on each node
  Duration build{};               ///< of a worker, at most; drawn for each life
  Duration compute{};             ///< of a gradient, at most
  Duration restore{};
  std::uint32_t lost_permille = 0;///< messages between master and nodes
  std::uint64_t digest_every = 10;
  std::vector<Fault> faults;
  TROUPE_FIELDS(seed, settings, nodes, slots, build, compute, restore, lost_permille, digest_every, faults)
};

/// A random scenario: everything above, in ranges where each matters.
Scenario draw(std::uint64_t seed);
/// A quiet job on one node, to add faults to.
Scenario quiet(std::uint32_t workers, std::uint64_t steps);

} // namespace troupe::sim

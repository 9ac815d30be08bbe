// One slot of a node: its process, its memory, and what is known and wanted of it. Belongs to the node actor.
//
// Invariants
//  - The bank outlives every process of the slot; it is replaced only when a worker with another layout says hello.
//  - A process is started only when none runs, and only with an incarnation above all before.
//  - `fact` of a life that ended is never changed by late reports of it.
#pragma once

#include "actors/node/process.hpp"
#include "actors/protocol.hpp"
#include "actors/protocol_types.hpp"
#include "checkpoint/slot_bank.hpp"

#include <optional>

namespace troupe {

struct Slot {
  SlotOrder order;                ///< newest wish of the master
  std::optional<Process> process; ///< set while it runs
  UniqueFd channel;
  WorkerActor worker; ///< set once it said hello or reported
  SlotFact fact;
  WorkerHello hello;
  std::vector<std::string> modes;
  std::vector<SampleCount> counts;
  UniqueFd bank_fd;
  std::optional<checkpoint::SlotBank> bank;
  Time heard{};           ///< last word of the worker
  Time killed_at{};       ///< when this node killed it; epoch: it did not
  std::string stop_cause; ///< not empty: it was asked to leave

  bool runs() const { return process.has_value(); }
};

/// Versions in the slot's memory, as holdings.
std::vector<Holding> holdings_of(const checkpoint::SlotBank& bank);

/// Why a life ended: what the worker said of itself before, else its exit status, with where it was from the
/// pulse.
Failure failure_of(const Slot& slot, ExitStatus status);

/// Line of a node's heartbeat about this worker; false when there is nothing to say (not heard lately).
struct Heard;
bool heard_of(const Slot& slot, Duration heartbeat, const LimitsSettings& limits, Time now, Heard& out);

} // namespace troupe

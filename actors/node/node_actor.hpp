// The agent of one host: starts, watches and fences the workers of its slots, owns their memory, makes the
// segment of each generation, and speaks to the master for all of them. Event-based; it never blocks:
// processes are waited for by a watcher thread, files are written and read by the persister.
//
// Invariants
//  - Every statement to the master is the whole truth about all slots; `sequence` counts up.
//  - An order of a lower (term, sequence) is dropped.
//  - A drain poisons the generation's segment here at once, before any worker hears of it.
//  - When the node ends, every process it started has been reaped.
#pragma once

#include "actors/directory.hpp"
#include "actors/message.hpp"
#include "actors/node/node_process.hpp"
#include "actors/node/slot.hpp"
#include "actors/protocol.hpp"
#include "comm/segment.hpp"

#include <caf/actor.hpp>
#include <caf/stateful_actor.hpp>

#include <deque>
#include <functional>
#include <memory>

namespace troupe {

/// The end of a process, from the watcher's thread. In-process only.
struct ProcessEnded {
  std::uint64_t token = 0;
  ExitStatus status;
};

struct NodeState {
  static inline const char* name = "troupe.node";
  const NodeSettings* settings = nullptr; ///< outlives the actor
  std::unique_ptr<ProcessWatcher> watcher;
  GateActor gate; ///< null while the master is away
  Time away_since{};
  std::deque<Message<schema::ProgressReport>> unheard; ///< while it is away; when too many, the oldest go
  const Directory* names = nullptr; ///< the node's other actors, by role
  NodeId node;
  Term term;
  std::uint16_t port = 0; ///< where workers connect
  std::uint64_t sequence = 0;
  std::uint64_t worker_sequence = 0;
  bool report_due = false;
  bool stopping = false;
  std::string stop_cause;
  bool gave_up = false; ///< no master wants it, or none is there: its end is a failure
  std::vector<Slot> slots;
  SlotsOrder slots_order;
  GenerationOrder generation;
  SaveOrder save;
  ArmedFaults faults;
  Generation opened; ///< newest generation a segment was made for here
  std::unique_ptr<Segment> segment;
  std::map<std::uint64_t, std::pair<std::uint32_t, Incarnation>> tokens; ///< running processes
  std::uint64_t next_token = 1;
};

caf::behavior node_actor(caf::stateful_actor<NodeState>* self, const NodeSettings* settings, caf::actor gate,
                         const Directory* names);

/// Roles in `names`.
namespace role {
inline constexpr const char* agent = "agent";
inline constexpr const char* persister = "persister";
} // namespace role

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ProcessEnded)

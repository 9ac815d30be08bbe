// What goes up: workers and nodes state what is so, whole, every time something changed. Nothing here is a delta, so
// any report may be lost, repeated or overtaken; `sequence` tells which of two is newer. Plain values.
#pragma once

#include "base/clock.hpp"
#include "base/piece_key.hpp"
#include "base/reflect.hpp"
#include "troupe/ids.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class Tier : std::uint8_t { live, previous, staging, snapshot, peer_copy, checkpoint };

/// One complete, checksummed copy of a piece set. `pieces` 0 is everything that is replicated; sharded boxes will be
/// numbered from 1.
struct Holding {
  std::uint32_t pieces = 0;
  PieceKey key;
  Tier tier = Tier::snapshot;
  std::uint64_t digest = 0;
  bool agreed = false; ///< all members of a generation had this digest at this key
  friend bool operator==(const Holding&, const Holding&) = default;
  TROUPE_FIELDS(pieces, key, tier, digest, agreed)
};

enum class FailureClass : std::uint8_t {
  none,
  startup,       ///< threw in build, or could not load the module: never retried
  exception,     ///< the trainer threw elsewhere
  out_of_memory,
  signal,        ///< killed or crashed
  hang,          ///< no progress within limits.hang
  silent,        ///< no heartbeat within limits.lost_after (stopped, or its host is starved)
  node_loss,
  partition,
  notice,        ///< asked to leave (preemption)
  communicator,  ///< could not join its generation in time
  corrupt_data,  ///< wrong digest, unreadable sample, values not finite
};

struct Failure {
  FailureClass kind = FailureClass::none;
  std::int32_t signal = 0;
  std::int32_t exit_code = 0;
  std::string what;    ///< first cause in words, at most 2000 bytes
  std::string during;  ///< gradient, reduce, update, restore, … or empty
  Step step;           ///< step it was in
  Time killed_at{};    ///< when a fault or the bench killed it; epoch if not known
  friend bool operator==(const Failure&, const Failure&) = default;
  TROUPE_FIELDS(kind, signal, exit_code, what, during, step, killed_at)
};

/// Where a worker is in the life of generation `SlotFact::generation`.
enum class WorkerPhase : std::uint8_t {
  empty,      ///< no process in the slot
  starting,   ///< process runs, trainer not built yet
  ready,      ///< built, in no generation
  connecting, ///< has the plan of `generation`, joins its segment
  restoring,
  running,
  drained,    ///< will never contribute to or apply `generation` again; holdings are final
  finished,   ///< all steps done, state published
  exited,     ///< process is gone, `failure` says why (kind none: as ordered)
};

/// Moments of the last change of generation on this worker (monotonic clock of its host; epoch: not passed yet).
struct Milestones {
  Time detected{};   ///< generation was poisoned
  Time aborted{};    ///< the trainer's wait returned
  Time drained{};
  Time ordered{};    ///< plan of the next generation received
  Time connected{};
  Time restored{};
  Time first_step{}; ///< first step of the generation committed
  friend bool operator==(const Milestones&, const Milestones&) = default;
  TROUPE_FIELDS(detected, aborted, drained, ordered, connected, restored, first_step)
};

struct SlotFact {
  SlotId slot;
  Incarnation incarnation;
  std::int64_t pid = 0;
  WorkerPhase phase = WorkerPhase::empty;
  Generation generation;
  Step step;                        ///< next step to compute
  std::uint64_t model_digest = 0;   ///< when finished
  std::uint64_t layout = 0;         ///< hash of names, shapes and dtypes, once built
  std::vector<Holding> holdings;    ///< of this slot's memory, also when its worker is gone
  Failure failure;
  Milestones times;
  std::string restore_source;       ///< "local", "worker 2", "snapshot", "checkpoint": of the last restore
  std::int32_t dead_rank = -1;      ///< rank of `generation` whose life-lock was found dead when it drained; -1: none
  std::string cause;                ///< why it drained
  friend bool operator==(const SlotFact&, const SlotFact&) = default;
  TROUPE_FIELDS(slot, incarnation, pid, phase, generation, step, model_digest, layout, holdings, failure, times,
                restore_source, dead_rank, cause)
};

struct NodeReport {
  static constexpr std::string_view tag = "node_report";
  NodeId node;
  Incarnation agent;               ///< life of the node process
  Term term;                       ///< master this is said to
  std::uint64_t sequence = 0;
  std::string host;
  std::int64_t pid = 0;
  std::vector<SlotFact> slots;     ///< one per slot, in order
  friend bool operator==(const NodeReport&, const NodeReport&) = default;
  TROUPE_FIELDS(node, agent, term, sequence, host, pid, slots)
};

std::string_view to_string(Tier);
std::string_view to_string(FailureClass);
std::string_view to_string(WorkerPhase);
constexpr std::size_t enum_count(Tier) { return 6; }
constexpr std::size_t enum_count(FailureClass) { return 12; }
constexpr std::size_t enum_count(WorkerPhase) { return 9; }

} // namespace troupe

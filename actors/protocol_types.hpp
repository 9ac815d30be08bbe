// Bodies of the messages between processes that are no kernel's own. Plain reflected values;
// schema/protocol.capnp has the same fields. Rules as in actors/protocol.hpp.
#pragma once

#include "actors/job_config.hpp"
#include "actors/kernel/faults.hpp"

namespace troupe {

/// A node's first words, and again after each loss of the connection.
struct NodeHello {
  std::string host;
  std::int64_t pid = 0;
  Incarnation agent;         ///< life of the node process, unique in the job
  std::vector<NodeId> known; ///< its number, when an earlier life of the master's door gave it one
  std::uint32_t slots = 0;
  std::string version;
  std::uint64_t module_hash = 0; ///< of the trainer library's bytes
  friend bool operator==(const NodeHello&, const NodeHello&) = default;
  TROUPE_FIELDS(host, pid, agent, known, slots, version, module_hash)
};

struct NodeWelcome {
  Term term;
  NodeId node;
  std::string refusal; ///< why the node may not join; empty: it may
  friend bool operator==(const NodeWelcome&, const NodeWelcome&) = default;
  TROUPE_FIELDS(term, node, refusal)
};

/// End of the job for a node: all workers leave, then the node does.
struct StopNode {
  Term term;
  std::string cause;
  friend bool operator==(const StopNode&, const StopNode&) = default;
  TROUPE_FIELDS(term, cause)
};

/// A worker's first words: it is built, and needs memory of this layout.
struct WorkerHello {
  SlotId slot;
  Incarnation incarnation;
  std::int64_t pid = 0;
  std::uint64_t layout = 0;       ///< hash that members must agree on
  std::vector<std::uint8_t> bank; ///< checkpoint::BankLayout::encode() of one version
  std::uint64_t leaf_floats = 0;
  std::uint64_t leaf_doubles = 0;
  std::uint64_t attachment_bytes = 0;
  friend bool operator==(const WorkerHello&, const WorkerHello&) = default;
  TROUPE_FIELDS(slot, incarnation, pid, layout, bank, leaf_floats, leaf_doubles, attachment_bytes)
};

/// `samples` samples of finished epochs were handed to `gradient` of committed steps `count` times.
struct SampleCount {
  std::uint32_t count = 0;
  std::uint64_t samples = 0;
  friend bool operator==(const SampleCount&, const SampleCount&) = default;
  TROUPE_FIELDS(count, samples)
};

/// A worker's whole present state. Sent at each change and every heartbeat.
struct WorkerReport {
  std::uint64_t sequence = 0;
  SlotFact fact;
  std::string cause; ///< when drained: why its generation ended
  std::uint64_t steps_lost = 0;
  std::vector<std::string> modes;            ///< promises given up, tuning chosen
  std::vector<SampleCount> samples_by_count; ///< when finished
  PieceKey mismatch;                         ///< generation > 0: digests of version `step` differed in it
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
  TROUPE_FIELDS(sequence, fact, cause, steps_lost, modes, samples_by_count, mismatch)
};

/// A node's whole present wish to one worker.
struct WorkerOrder {
  Term term;
  std::uint64_t sequence = 0; ///< of the node, counts up with every order
  GenerationOrder generation;
  SaveOrder save;
  ArmedFaults faults;
  bool stop = false; ///< leave at the next boundary
  std::string cause;
  friend bool operator==(const WorkerOrder&, const WorkerOrder&) = default;
  TROUPE_FIELDS(term, sequence, generation, save, faults, stop, cause)
};

struct MetricValue {
  std::string name;
  double value = 0;
  friend bool operator==(const MetricValue&, const MetricValue&) = default;
  TROUPE_FIELDS(name, value)
};

/// One committed step, or one evaluation (then `metrics` is not empty).
struct ProgressRow {
  Step step;
  Generation generation;
  std::uint64_t epoch = 0;
  std::uint64_t samples = 0;
  double loss_sum = 0;
  double loss_weight = 0;
  std::int64_t at = 0; ///< wall clock, ns
  std::uint32_t members = 0;
  std::uint32_t skipped = 0;
  std::vector<MetricValue> metrics;
  bool best = false;
  bool stop = false;
  friend bool operator==(const ProgressRow&, const ProgressRow&) = default;
  TROUPE_FIELDS(step, generation, epoch, samples, loss_sum, loss_weight, at, members, skipped, metrics, best,
                stop)
};

/// Where the trainer thread's time went since the process started.
struct SpentTimes {
  Duration build{};
  Duration idle{};
  Duration connect{};
  Duration restore{};
  Duration useful{};
  Duration lost{};
  Duration wait{};
  Duration evaluation{};
  Duration snapshot{};
  Duration drain{};
  friend bool operator==(const SpentTimes&, const SpentTimes&) = default;
  TROUPE_FIELDS(build, idle, connect, restore, useful, lost, wait, evaluation, snapshot, drain)
};

/// Volatile: how far a worker is. Rows come from rank 0 only.
struct ProgressReport {
  WorkerKey worker;
  Rank rank;
  Generation generation;
  Step step;                     ///< next step to compute
  std::vector<ProgressRow> rows; ///< at most 4096
  SpentTimes spent;
  std::vector<MetricValue> published; ///< by module actors, newest of each name
  friend bool operator==(const ProgressReport&, const ProgressReport&) = default;
  TROUPE_FIELDS(worker, rank, generation, step, rows, spent, published)
};

/// A worker pinned a version that is to be persisted.
struct SaveReady {
  std::uint64_t request = 0;
  WorkerKey worker;
  PieceKey key;
  std::uint32_t slot = 0;
  bool best = false;
  friend bool operator==(const SaveReady&, const SaveReady&) = default;
  TROUPE_FIELDS(request, worker, key, slot, best)
};

struct ControlRequest {
  std::string command; ///< status, scale, pause, unpause, save, stop, kill
  std::vector<std::string> arguments;
  friend bool operator==(const ControlRequest&, const ControlRequest&) = default;
  TROUPE_FIELDS(command, arguments)
};

struct ControlReply {
  bool ok = false;
  std::string text; ///< for people: what was done, or why not
  std::string json; ///< for programs; status only
  friend bool operator==(const ControlReply&, const ControlReply&) = default;
  TROUPE_FIELDS(ok, text, json)
};

} // namespace troupe

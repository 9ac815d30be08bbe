// What a run shows of itself: the view behind the progress line and `troupe status`, and the report that a
// run leaves. Plain reflected values, filled by the master and turned into screens and JSON in cli/
// (docs/report.md has every key); field names are the JSON keys, `failure_class` apart, which is written
// `class`. Times in the units of the names.
#pragma once

#include "base/reflect.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe {

/// How long each phase of one recovery took, in milliseconds.
struct RecoveryTimes {
  double detect = 0;  ///< death to poison seen
  double abort = 0;   ///< until the survivors' waits returned
  double drain = 0;   ///< until the last survivor was at its boundary
  double plan = 0;    ///< until the next generation was announced; includes waiting for a replacement
  double connect = 0; ///< until its members were in it
  double restore = 0;
  double first_step = 0; ///< until its first step committed
  double total = 0;      ///< the sum
  friend bool operator==(const RecoveryTimes&, const RecoveryTimes&) = default;
  TROUPE_FIELDS(detect, abort, drain, plan, connect, restore, first_step, total)
};

/// One failure, or one member lost by choice of a strategy. Several that are answered by one generation
/// change share its times.
struct FailureRow {
  std::uint64_t id = 0;        ///< from 1, in the order seen
  std::string kind = "worker"; ///< worker, node
  std::string failure_class;   ///< to_string(FailureClass)
  std::uint32_t node = 0;
  std::int64_t worker = -1; ///< rank in the generation it died in; -1: in none
  std::uint64_t incarnation = 0;
  std::int64_t pid = 0;
  std::int32_t signal = 0;
  std::string during;           ///< gradient, reduce, update, restore, … or empty
  std::string what;             ///< words of an exception, or empty
  std::uint64_t step = 0;       ///< it was in
  bool recovered = false;       ///< a later generation took a step; the rest is only then set
  std::uint64_t generation = 0; ///< that answered it
  std::uint64_t resumed_step = 0;
  std::string restore_source;
  RecoveryTimes ms;
  friend bool operator==(const FailureRow&, const FailureRow&) = default;
  TROUPE_FIELDS(id, kind, failure_class, node, worker, incarnation, pid, signal, during, what, step,
                recovered, generation, resumed_step, restore_source, ms)
};

struct FaultRow {
  std::string spec;
  bool armed = false;
  bool fired = false;
  bool exempt = false; ///< Poisson: never firing is no fault of the run
  friend bool operator==(const FaultRow&, const FaultRow&) = default;
  TROUPE_FIELDS(spec, armed, fired, exempt)
};

struct CheckpointRow {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;
  std::string path;
  std::uint64_t bytes = 0;
  double ms = 0;
  bool best = false;
  bool verified = false; ///< read back and compared
  std::string reason;
  friend bool operator==(const CheckpointRow&, const CheckpointRow&) = default;
  TROUPE_FIELDS(step, generation, path, bytes, ms, best, verified, reason)
};

/// Worker-seconds by what they were spent on; all but `total` sum to `total`.
struct Goodput {
  double useful = 0;
  double startup = 0;
  double evaluation = 0;
  double recompute = 0;
  double checkpoint = 0;
  double detect = 0;
  double reconfigure = 0;
  double reload = 0;
  double straggler_wait = 0;
  double redundancy = 0;
  double rebalance = 0;
  double spare_idle = 0;
  double repair = 0;
  double notice_drain = 0;
  double pause = 0;
  double queue = 0;
  double total = 0;
  friend bool operator==(const Goodput&, const Goodput&) = default;
  TROUPE_FIELDS(useful, startup, evaluation, recompute, checkpoint, detect, reconfigure, reload,
                straggler_wait, redundancy, rebalance, spare_idle, repair, notice_drain, pause, queue, total)
};

struct WorkerCounts {
  std::uint32_t start = 0;
  std::uint32_t end = 0;
  friend bool operator==(const WorkerCounts&, const WorkerCounts&) = default;
  TROUPE_FIELDS(start, end)
};

struct HostRow {
  std::string name;
  std::string cpu;
  std::uint32_t cpus = 0; ///< this process may run on
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  friend bool operator==(const HostRow&, const HostRow&) = default;
  TROUPE_FIELDS(name, cpu, cpus, memory_bytes, kernel)
};

struct RunReport {
  std::string job;
  std::string result; ///< done, failed, stopped, interrupted
  std::string cause;  ///< first cause first; empty when done
  std::vector<std::string>
    details; ///< lines for the failure screen: the first worker's own words, what to do
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;       ///< committed; the version of the model at the end
  std::uint64_t total_steps = 0; ///< wanted
  std::uint64_t samples = 0;
  std::uint64_t epochs = 0;              ///< finished
  std::map<std::string, double> metrics; ///< of the last evaluation, and what module actors published
  std::string model_digest;              ///< 16 hex digits; empty when the run ended without one
  WorkerCounts workers;
  std::uint64_t generations = 0;
  std::uint64_t steps_redone = 0;
  std::vector<FailureRow> failures;
  std::vector<FaultRow> faults;
  std::map<std::uint64_t, std::uint64_t>
    samples_by_count;        ///< how many samples of finished epochs were used so often
  std::uint64_t skipped = 0; ///< steps left out for values that were not finite
  Goodput goodput;
  std::vector<CheckpointRow> checkpoints;
  std::vector<std::string> modes; ///< promises given up, tuning chosen
  double wall_s = 0;
  std::string dir;
  std::string version;
  std::map<std::string, std::map<std::string, std::string>> config;
  HostRow host;
  friend bool operator==(const RunReport&, const RunReport&) = default;
  TROUPE_FIELDS(job, result, cause, details, seed, steps, total_steps, samples, epochs, metrics, model_digest,
                workers, generations, steps_redone, failures, faults, samples_by_count, skipped, goodput,
                checkpoints, modes, wall_s, dir, version, config, host)
};

/// One moment of a running job: the progress line.
struct RunView {
  std::string job;
  std::string state = "running"; ///< starting, running, recovering, paused, waiting, ending
  std::string note;              ///< why it is not running; empty otherwise
  std::uint64_t step = 0;
  std::uint64_t total_steps = 0; ///< 0: not known yet
  double steps_per_s = 0;
  bool has_loss = false;
  double loss = 0;
  std::uint32_t workers = 0; ///< in the present generation
  std::uint32_t target = 0;
  std::uint64_t generation = 0;
  std::uint64_t failures = 0;
  std::uint64_t steps_lost = 0;
  friend bool operator==(const RunView&, const RunView&) = default;
  TROUPE_FIELDS(job, state, note, step, total_steps, steps_per_s, has_loss, loss, workers, target, generation,
                failures, steps_lost)
};

struct NodeView {
  std::uint32_t node = 0;
  std::string host;
  std::uint32_t slots = 0;
  std::uint32_t used = 0;
  std::vector<std::int64_t> ranks; ///< of its workers in the present generation
  double heartbeat_ms = 0;         ///< since the last one
  std::string notes;
  friend bool operator==(const NodeView&, const NodeView&) = default;
  TROUPE_FIELDS(node, host, slots, used, ranks, heartbeat_ms, notes)
};

/// `troupe status`; with --json these are the keys.
struct StatusView {
  std::string job;
  std::string state;
  std::string note;
  std::uint64_t term = 0;
  std::uint64_t generation = 0;
  std::int64_t since_ns = 0; ///< wall clock: when the generation began
  std::uint64_t step = 0;
  std::uint64_t total_steps = 0;
  double steps_per_s = 0;
  double loss = 0;
  std::uint32_t workers = 0;
  std::uint32_t target = 0;
  std::uint64_t failures = 0;
  std::uint64_t steps_lost = 0;
  double master_up_s = 0;
  std::uint64_t master_restarts = 0;
  std::string dir;
  std::vector<NodeView> nodes;
  friend bool operator==(const StatusView&, const StatusView&) = default;
  TROUPE_FIELDS(job, state, note, term, generation, since_ns, step, total_steps, steps_per_s, loss, workers,
                target, failures, steps_lost, master_up_s, master_restarts, dir, nodes)
};

} // namespace troupe

// The job file as plain values: what every part of a job reads its settings from. Parsed and checked in cli/ (the
// table there has defaults, units, ranges and reasons); everybody else gets it complete and valid, and never sees
// TOML. Paths are absolute. Reflected, so that it can be sent to workers and shown in the report. Copied freely,
// never changed while a job runs.
#pragma once

#include "actors/kernel/settings.hpp"
#include "base/clock.hpp"
#include "base/reflect.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class CadenceKind : std::uint8_t {
  automatic, ///< the reader decides; what that means stands with each setting
  never,
  steps,
  epochs,
  time,
};

/// "auto", "never", "50 steps", "2 epochs" or "30s".
struct Cadence {
  CadenceKind kind = CadenceKind::automatic;
  std::uint64_t count = 0; ///< when kind is steps or epochs
  Duration every{};        ///< when kind is time
  friend bool operator==(const Cadence&, const Cadence&) = default;
  TROUPE_FIELDS(kind, count, every)
};

/// What happens when reduced values are not finite.
enum class NonFinite : std::uint8_t {
  rollback, ///< redo the step once from the last version, then fail
  fail,
  skip,     ///< leave the model as it is and go on with the next step
};

struct JobSettings {
  std::string name;
  std::string module;         ///< shared library of the trainer
  std::uint64_t steps = 0;    ///< 0: not limited by steps
  std::uint64_t epochs = 0;   ///< 0: not limited by epochs. The smaller of both ends the job
  std::uint64_t seed = 1;
  std::string dir;            ///< journal, logs, metrics and run files
  std::string init_from;      ///< a checkpoint to start from; empty: as built
  bool deterministic = true;
  NonFinite nonfinite = NonFinite::rollback;
  std::uint64_t digest_every = 100; ///< steps between comparisons of the state digest; 0: never
  friend bool operator==(const JobSettings&, const JobSettings&) = default;
  TROUPE_FIELDS(name, module, steps, epochs, seed, dir, init_from, deterministic, nonfinite, digest_every)
};

struct WorkersSettings {
  std::uint32_t start = 1;
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::uint32_t virtual_workers = 0; ///< V; key `virtual`
  std::uint64_t micro_batch = 1;     ///< samples per virtual worker and step
  friend bool operator==(const WorkersSettings&, const WorkersSettings&) = default;
  TROUPE_FIELDS(start, min, max, virtual_workers, micro_batch)
};

enum class DataOrder : std::uint8_t { permuted }; // blocks and leased are refused by the parser until they are there

/// Column of a CSV row that is the field "label" (i32); the others are "features" (f32).
enum class LabelAt : std::uint8_t { none, first, last };

struct DataSettings {
  std::string path;
  DataOrder order = DataOrder::permuted;
  LabelAt label = LabelAt::last;
  double scale = 1;              ///< features are multiplied by it
  std::uint64_t test = 0;        ///< rows kept out of training, evenly over the labels: the evaluation data
  std::uint64_t split_seed = 1;  ///< which rows those are
  friend bool operator==(const DataSettings&, const DataSettings&) = default;
  TROUPE_FIELDS(path, order, label, scale, test, split_seed)
};

enum class MetricMode : std::uint8_t { max, min };

struct EvaluationSettings {
  std::string path;           ///< evaluation data, all rows; empty: the `data.test` rows of data.path, if any
  Cadence every;              ///< automatic: at the end of each epoch. The last step is always evaluated
  std::string metric;         ///< that decides which version is the best; empty: none
  MetricMode mode = MetricMode::max;
  std::uint64_t patience = 0; ///< evaluations without improvement before the job ends; 0: no limit
  friend bool operator==(const EvaluationSettings&, const EvaluationSettings&) = default;
  TROUPE_FIELDS(path, every, metric, mode, patience)
};

struct CheckpointSettings {
  std::string dir;
  bool local = false;         ///< each host has its own `dir`
  Cadence every;              ///< automatic: 10 s to 10 min (automatic_interval). One at the end unless never
  Cadence snapshot_every;     ///< automatic: every step while it costs under 1 % of a worker's time; else steps
  std::uint32_t keep = KernelSettings{}.keep; ///< newest checkpoints kept, besides the best one
  std::uint32_t slots = 5;    ///< versions of the state a worker's memory on the node has room for
  std::uint32_t peer_copies = 0;
  friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
  TROUPE_FIELDS(dir, local, every, snapshot_every, keep, slots, peer_copies)
};

/// "3 per 60s": so many failures of a class within `window`, counted over the whole job; one more fails it.
struct FailureBudget {
  std::uint32_t restarts = 0;
  Duration window = std::chrono::seconds(60);
  friend bool operator==(const FailureBudget&, const FailureBudget&) = default;
  TROUPE_FIELDS(restarts, window)
};

/// A kernel's default, as the job file has it.
inline FailureBudget default_budget(KernelBudget KernelBudgets::*which) {
  const auto budget = KernelBudgets{}.*which;
  return {budget.restarts, budget.window};
}

/// Budgets are named after FailureClass; startup has none, it is never retried.
struct RecoverySettings {
  std::string strategy = KernelSettings{}.strategy;
  Duration hold = KernelSettings{}.hold; ///< how long `respawn` waits for the replacement; 0: go on at once
  Duration backoff = KernelSettings{}.backoff; ///< before another restart of a life that reached no step; doubles
  Duration backoff_most = KernelSettings{}.backoff_most;
  FailureBudget budget_exception = default_budget(&KernelBudgets::exception);
  FailureBudget budget_out_of_memory = default_budget(&KernelBudgets::out_of_memory);
  FailureBudget budget_signal = default_budget(&KernelBudgets::signal);
  FailureBudget budget_hang = default_budget(&KernelBudgets::hang);
  FailureBudget budget_silent = default_budget(&KernelBudgets::silent);
  FailureBudget budget_node_loss = default_budget(&KernelBudgets::node_loss);
  FailureBudget budget_partition = default_budget(&KernelBudgets::partition);
  FailureBudget budget_notice = default_budget(&KernelBudgets::notice);
  FailureBudget budget_communicator = default_budget(&KernelBudgets::communicator);
  FailureBudget budget_corrupt_data = default_budget(&KernelBudgets::corrupt_data);
  friend bool operator==(const RecoverySettings&, const RecoverySettings&) = default;
  TROUPE_FIELDS(strategy, hold, backoff, backoff_most, budget_exception, budget_out_of_memory, budget_signal,
                budget_hang, budget_silent, budget_node_loss, budget_partition, budget_notice, budget_communicator,
                budget_corrupt_data)
};

/// Those of actors/kernel/settings.hpp with its defaults, `request` and `node_grace`.
struct LimitsSettings {
  Duration heartbeat = KernelLimits{}.heartbeat;
  Duration lost_after = KernelLimits{}.lost_after;
  Duration hang = KernelLimits{}.hang;        ///< without progress; also at least 10 median steps
  Duration build = KernelLimits{}.build;       ///< from exec to a built trainer
  Duration gather = KernelLimits{}.gather;      ///< for `workers.start` workers at the start
  Duration drain = KernelLimits{}.drain;       ///< a survivor's way to its boundary
  Duration form = KernelLimits{}.form;        ///< from the plan to all members running
  Duration retire = KernelLimits{}.retire;      ///< a worker that is no longer wanted, to leave its generation
  Duration stop = KernelLimits{}.stop;         ///< asked to leave, until killed
  Duration save = KernelLimits{}.save;
  Duration request = std::chrono::seconds(5);      ///< any request between processes
  Duration below_min = KernelLimits{}.below_min;
  Duration node_grace = std::chrono::seconds(10);
  Duration master_grace = KernelLimits{}.master_grace;
  friend bool operator==(const LimitsSettings&, const LimitsSettings&) = default;
  TROUPE_FIELDS(heartbeat, lost_after, hang, build, gather, drain, form, retire, stop, save, request, below_min,
                node_grace, master_grace)
};

enum class CommBackend : std::uint8_t { automatic, host };

struct CommSettings {
  CommBackend backend = CommBackend::automatic;
  friend bool operator==(const CommSettings&, const CommSettings&) = default;
  TROUPE_FIELDS(backend)
};

enum class ParametersMode : std::uint8_t { all_reduce };

struct ParametersSettings {
  ParametersMode mode = ParametersMode::all_reduce;
  friend bool operator==(const ParametersSettings&, const ParametersSettings&) = default;
  TROUPE_FIELDS(mode)
};

struct ConsoleSettings {
  std::string listen; ///< HOST:PORT; empty: no console
  friend bool operator==(const ConsoleSettings&, const ConsoleSettings&) = default;
  TROUPE_FIELDS(listen)
};

enum class TrainerValueKind : std::uint8_t { boolean, integer, number, text, integers, numbers, texts };

/// One key of [trainer], as written. Keys of tables inside are joined with dots.
struct TrainerValue {
  std::string key;
  TrainerValueKind kind = TrainerValueKind::text;
  std::string value;              ///< of the single kinds: "true", "-3", "0.001", or the text without quotes
  std::vector<std::string> list;  ///< of the list kinds, each as `value`
  std::string where;              ///< "digits.toml:19" or "--set trainer.hidden", for messages
  std::uint32_t line = 0;         ///< in the job file; 0: from the command line
  friend bool operator==(const TrainerValue&, const TrainerValue&) = default;
  TROUPE_FIELDS(key, kind, value, list, where, line)
};

struct JobConfig {
  std::string file;          ///< the job file
  std::uint64_t hash = 0;    ///< of all keys that may not change on resume
  JobSettings job;
  WorkersSettings workers;
  DataSettings data;
  EvaluationSettings evaluation;
  CheckpointSettings checkpoint;
  RecoverySettings recovery;
  LimitsSettings limits;
  CommSettings comm;
  ParametersSettings parameters;
  ConsoleSettings console;
  std::vector<TrainerValue> trainer; ///< in the order of the file, then of --set
  friend bool operator==(const JobConfig&, const JobConfig&) = default;
  TROUPE_FIELDS(file, hash, job, workers, data, evaluation, checkpoint, recovery, limits, comm, parameters, console,
                trainer)
};

// Names as in the job file, except `automatic`, which is written "auto".
constexpr std::string_view to_string(CadenceKind v) {
  constexpr std::string_view names[] = {"automatic", "never", "steps", "epochs", "time"};
  return names[static_cast<unsigned>(v)];
}
constexpr std::string_view to_string(NonFinite v) {
  constexpr std::string_view names[] = {"rollback", "fail", "skip"};
  return names[static_cast<unsigned>(v)];
}
constexpr std::string_view to_string(DataOrder) { return "permuted"; }
constexpr std::string_view to_string(LabelAt v) {
  constexpr std::string_view names[] = {"none", "first", "last"};
  return names[static_cast<unsigned>(v)];
}
constexpr std::string_view to_string(MetricMode v) { return v == MetricMode::max ? "max" : "min"; }
constexpr std::string_view to_string(CommBackend v) { return v == CommBackend::automatic ? "automatic" : "host"; }
constexpr std::string_view to_string(ParametersMode) { return "all_reduce"; } // written "all-reduce"
constexpr std::string_view to_string(TrainerValueKind v) {
  constexpr std::string_view names[] = {"boolean", "integer", "number", "text", "integers", "numbers", "texts"};
  return names[static_cast<unsigned>(v)];
}
constexpr std::size_t enum_count(CadenceKind) { return 5; }
constexpr std::size_t enum_count(NonFinite) { return 3; }
constexpr std::size_t enum_count(DataOrder) { return 1; }
constexpr std::size_t enum_count(LabelAt) { return 3; }
constexpr std::size_t enum_count(MetricMode) { return 2; }
constexpr std::size_t enum_count(CommBackend) { return 2; }
constexpr std::size_t enum_count(ParametersMode) { return 1; }
constexpr std::size_t enum_count(TrainerValueKind) { return 7; }

} // namespace troupe

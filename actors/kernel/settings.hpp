// Every number a kernel goes by: the part of the job file (actors/job_config.hpp, same names and units) that decisions
// depend on. The defaults here are also those of the job file; the ranges that users may set stand in the table of the
// configuration, the ranges that simulations draw from in sim/. Plain values, fixed for one term.
#pragma once

#include "actors/kernel/fault_spec.hpp"

namespace troupe {

/// Time-outs. Each bounds a wait that nothing else ends.
struct KernelLimits {
  Duration heartbeat = std::chrono::milliseconds(100);  ///< between two Alive of one node
  Duration lost_after = std::chrono::seconds(1);        ///< not heard for so long: silent; >= 4 heartbeats
  Duration hang = std::chrono::seconds(30);             ///< no progress while not waiting; also >= 10 median steps
  Duration build = std::chrono::minutes(10);            ///< from the order to a built trainer
  Duration gather = std::chrono::seconds(60);           ///< for workers.start at the start, from the first one ready
  Duration drain = std::chrono::seconds(30);            ///< a survivor's way to its boundary; then it counts as hung
  Duration form = std::chrono::seconds(60);             ///< from a plan to all members running
  Duration retire = std::chrono::seconds(30);           ///< a worker no longer wanted, to leave its generation
  Duration stop = std::chrono::seconds(5);              ///< asked to leave, until killed
  Duration save = std::chrono::seconds(120);            ///< from a SaveOrder to its answer; then another source
  Duration below_min = std::chrono::minutes(10);        ///< fewer than workers.min: wait so long, then fail
  Duration master_grace = std::chrono::seconds(60);     ///< workers go on without a master for at most so long
  TROUPE_FIELDS(heartbeat, lost_after, hang, build, gather, drain, form, retire, stop, save, below_min, master_grace)
};

/// At most `restarts` failures of a class in any window, over the whole job; one more fails it.
struct KernelBudget {
  std::uint32_t restarts = 0;
  Duration window = std::chrono::seconds(60);
  friend bool operator==(const KernelBudget&, const KernelBudget&) = default;
  TROUPE_FIELDS(restarts, window)
};

/// By failure class; a start-up error has none, it is never retried.
struct KernelBudgets {
  KernelBudget exception{.restarts = 3};
  KernelBudget out_of_memory{.restarts = 3};
  KernelBudget signal{.restarts = 50};
  KernelBudget hang{.restarts = 5, .window = std::chrono::minutes(10)};
  KernelBudget silent{.restarts = 20};
  KernelBudget node_loss{.restarts = 100};
  KernelBudget partition{.restarts = 100};
  KernelBudget notice{.restarts = 1000};
  KernelBudget communicator{.restarts = 10};
  KernelBudget corrupt_data{.restarts = 3, .window = std::chrono::minutes(10)};
  TROUPE_FIELDS(exception, out_of_memory, signal, hang, silent, node_loss, partition, notice, communicator,
                corrupt_data)
};
/// Null for none and startup.
const KernelBudget* budget_of(const KernelBudgets&, FailureClass);

enum class SaveCadence : std::uint8_t { automatic, never, steps, time };

struct KernelOption {
  std::string key;
  std::string value;
  friend bool operator==(const KernelOption&, const KernelOption&) = default;
  TROUPE_FIELDS(key, value)
};

struct KernelSettings {
  std::uint64_t seed = 1;
  Step total_steps;                    ///< the job ends at this version
  std::uint64_t samples_per_epoch = 0; ///< rows of the data set
  std::uint64_t global_batch = 0;      ///< samples per step
  std::uint32_t start = 1;             ///< workers.start
  std::uint32_t min = 1;
  std::uint32_t max = 1;               ///< <= virtual_workers
  std::uint32_t virtual_workers = 1;
  KernelLimits limits;
  KernelBudgets budgets;
  /// Before the next life of a worker that died k times in a row without taking a step: backoff * 2^(k-1), at most
  /// backoff_most. One that had got to work starts again at once.
  Duration backoff = std::chrono::milliseconds(100);
  Duration backoff_most = std::chrono::seconds(10);
  std::string strategy = "respawn";
  Duration hold = std::chrono::milliseconds(200);
  std::vector<KernelOption> options;   ///< of the strategy
  SaveCadence cadence = SaveCadence::automatic; ///< checkpoint.every
  std::uint64_t save_steps = 0;        ///< when steps (epochs are converted)
  Duration save_time{};                ///< when time
  std::uint32_t keep = 3;
  bool save_at_end = true;
  std::vector<FaultSpec> faults;       ///< --chaos, numbered by `id` from 0
  TROUPE_FIELDS(seed, total_steps, samples_per_epoch, global_batch, start, min, max, virtual_workers, limits, budgets,
                backoff, backoff_most, strategy, hold, options, cadence, save_steps, save_time, keep, save_at_end,
                faults)
};

/// Empty, or what contradicts what, naming both.
std::string check_settings(const KernelSettings&);

std::string_view to_string(SaveCadence);
constexpr std::size_t enum_count(SaveCadence) { return 4; }

} // namespace troupe

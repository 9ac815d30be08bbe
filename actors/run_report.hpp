// What a run was, as plain values: the report file, the last screen and the status answer are all made of this. Filled
// by the master's history from the records of a job; shown and written in cli/. Durations in their own type, absent
// figures as negative ones.
#pragma once

#include "actors/protocol_types.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// One recovery, phase by phase. `total` runs from the kill (or, when that is not known, from its detection) to the
/// end of the first step that all members of the next generation committed; the phases sum to it.
struct RecoveryTimes {
  std::optional<Duration> detect;  ///< empty: the moment of death is not known
  Duration abort{};
  Duration drain{};
  Duration plan{};
  Duration connect{};
  Duration restore{};
  Duration first_step{};
  Duration total{};
};

struct FailureRow {
  std::uint32_t id = 0;
  Failure failure;
  WorkerKey worker;
  std::int32_t rank = -1;          ///< in the generation it died in; -1: member of none
  std::int64_t pid = 0;
  std::int64_t wall_ns = 0;        ///< noticed
  std::optional<Step> resumed;     ///< empty: not recovered (yet)
  std::string restore_source;
  std::optional<RecoveryTimes> ms;
  std::uint64_t steps_redone = 0;
};

struct GenerationRow {
  Generation generation;
  Step resumed;
  std::uint32_t members = 0;
  std::int64_t wall_ns = 0;
  std::string reason;
};

struct FaultRow {
  std::string spec;
  bool poisson = false;
  std::uint32_t fired = 0;
};

struct CheckpointRow {
  Step step;
  Generation generation;
  std::string path;
  bool ok = true;
  bool best = false;
  std::string error;
};

enum class RunResult : std::uint8_t { running, done, failed, interrupted };
constexpr std::string_view to_string(RunResult r) {
  constexpr std::string_view names[] = {"running", "done", "failed", "interrupted"};
  return names[static_cast<unsigned>(r)];
}

struct RunReport {
  std::string job;
  RunResult result = RunResult::running;
  std::string cause;                     ///< why it failed or was interrupted
  std::optional<FailureRow> first;       ///< failure that ended it
  std::uint64_t seed = 0;
  Term term;
  Generation generation;
  Step step;                             ///< next to compute
  std::uint64_t total_steps = 0;
  std::uint64_t samples = 0;
  std::uint64_t epochs = 0;              ///< finished
  std::uint64_t virtual_workers = 0;
  std::uint32_t workers_start = 0;
  std::uint32_t workers_end = 0;
  std::uint32_t workers_now = 0;
  bool paused = false;
  double loss = 0;
  double steps_per_second = 0;
  std::map<std::string, double> metrics; ///< newest evaluation, and what module actors published
  std::uint64_t model_digest = 0;
  std::vector<GenerationRow> generations;
  std::vector<FailureRow> failures;
  std::vector<FaultRow> faults;
  std::map<std::uint32_t, std::uint64_t> samples_by_count;
  std::uint64_t skipped = 0;
  std::map<std::string, double> goodput; ///< worker-seconds by category
  std::vector<CheckpointRow> checkpoints;
  std::vector<std::string> modes;
  Duration wall{};
  std::int64_t started_ns = 0;           ///< wall clock
  std::vector<std::string> never_fired;  ///< sentences of armed faults: exit status 3
};

/// One row of `troupe status`.
struct StatusWorker {
  NodeId node;
  std::string host;
  SlotId slot;
  std::int32_t rank = -1;
  Incarnation incarnation;
  std::int64_t pid = 0;
  std::string phase;
  std::int64_t heard_ms = -1;
};

} // namespace troupe

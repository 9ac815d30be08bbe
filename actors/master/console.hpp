// Watches the journal and tells people: folds every record into the History, keeps metrics.jsonl, redraws the
// progress line, answers `status`, and says how the job ended. Decides nothing; a new life reads the event
// log again.
#pragma once

#include "actors/master/gate.hpp"
#include "actors/master/history.hpp"
#include "actors/master/metrics_file.hpp"
#include "actors/master/run_face.hpp"

#include <future>

namespace troupe {

struct ConsoleOutlets {
  RunDisplay* display = nullptr; ///< outlives the actor
  std::uint64_t total_steps = 0;
  std::string metrics_path;
  std::promise<RunReport>* outcome = nullptr;
};

struct ConsoleState {
  static inline const char* name = "troupe.console";
  MasterWiring* wiring = nullptr;
  const ConsoleOutlets* settings = nullptr;
  std::unique_ptr<History> history;
  std::unique_ptr<MetricsFile> metrics;
  bool told = false;
};

caf::behavior console_actor(caf::stateful_actor<ConsoleState>* self, MasterWiring* wiring,
                            const ConsoleOutlets* settings);

} // namespace troupe

// Watches the journal and tells people: folds every record into the History, keeps metrics.jsonl, redraws the
// progress line, answers `status`, and says how the job ended. Decides nothing; a new life reads the event
// log again.
#pragma once

#include "actors/master/gate.hpp"
#include "actors/master/history.hpp"
#include "actors/master/metrics_file.hpp"

#include <future>

namespace troupe {

/// Where the console's words go; made in cli/. Called on the console's thread.
class RunDisplay {
public:
  virtual ~RunDisplay() = default;
  virtual void event(const RunEvent& event) = 0;
  virtual void progress(const RunView& view, Time now) = 0;
  virtual std::string status_json(const StatusView& status) = 0;
};

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

// What a master shows of itself, and the files it keeps: what the command line hands in and is called back with. No
// actor is seen here.
#pragma once

#include "actors/run_report.hpp"
#include "base/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// Something that people are told when it happens; exactly one of the three.
struct RunEvent {
  struct Formed {
    std::uint64_t generation = 0;
    std::uint32_t workers = 0;
    std::uint64_t step = 0;
    std::string source;
    std::optional<RecoveryTimes> ms; ///< when it answered a failure
  };
  std::int64_t wall_ns = 0;
  std::string text;
  std::optional<FailureRow> failure;
  std::optional<Formed> formed;
};

/// Where the console's words go; made in cli/. Called on the console's thread.
class RunDisplay {
public:
  virtual ~RunDisplay() = default;
  virtual void event(const RunEvent& event) = 0;
  virtual void progress(const RunView& view, Time now) = 0;
  virtual std::string status_json(const StatusView& status) = 0;
};

struct JournalPaths {
  std::string journal;
  std::string events; ///< empty: no event log
};

} // namespace troupe

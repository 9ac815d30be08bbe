// metrics.jsonl: one JSON object per line for each committed step and each evaluation, keyed by (step, generation).
// Rows wait in memory until their step can no longer become void, and are written in order of steps. Appends whole
// lines or none; a full disk loses rows of metrics, never the job (the first error is kept). One thread.
#pragma once

#include "actors/protocol_types.hpp"
#include "base/unique_fd.hpp"

#include <map>
#include <string>

namespace troupe {

class MetricsFile {
public:
  /// Opens for appending; rows of steps that the file already has are dropped when they come again.
  explicit MetricsFile(const std::string& path);

  void add(const ProgressRow& row);
  /// Rows of steps >= `from` made by generations < `generation` are void.
  void forget(Generation generation, Step from);
  /// Rows of steps < `before` are final: writes them.
  void write_before(Step before);
  const std::string& error() const { return error_; }

private:
  void append(const std::string& text);

  static constexpr std::size_t most_waiting = 1 << 20;
  UniqueFd fd_;
  std::map<std::pair<Step, bool>, ProgressRow>
    waiting_; ///< by step; evaluations (true) of version `step` after it
  Step written_before_;
  std::string error_;
};

/// One line, without the newline. Numbers that are not finite become null.
std::string metrics_line(const ProgressRow& row);

} // namespace troupe

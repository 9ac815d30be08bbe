// Runs `troupe run` as a child, for benches that measure whole jobs: a job file with settings on top, in a
// scratch directory that is removed with the object, and the report it leaves. The child's words are shown
// only when it fails.
#pragma once

#include "actors/run_report.hpp"
#include "base/clock.hpp"
#include "base/errors.hpp"

#include <string>
#include <vector>

namespace troupe::bench {

/// A directory under $TMPDIR that ends with this object.
class Scratch {
public:
  explicit Scratch(const std::string& name);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

struct JobRun {
  std::string job_file;
  std::vector<std::string> words; ///< more of the command line: "--workers", "4", "--set", …
  Duration at_most = std::chrono::minutes(10);
};

/// Errc::invalid with the command's last words when it did not exit with 0; Errc::deadline when it was ended.
result<RunReport> run_job(const Scratch& scratch, const JobRun& run);

/// The digits example of this build tree or installation.
result<std::string> example_job();

/// Wall-clock times (s) of committed steps from the job's metrics.jsonl: one per step, by step.
result<std::vector<std::pair<std::uint64_t, double>>> step_times(const std::string& metrics_file);

} // namespace troupe::bench

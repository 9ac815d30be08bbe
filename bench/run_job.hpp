// Runs `troupe run` as a child, for benches that measure whole jobs: a job file with settings on top, in a
// scratch directory that is removed with the object, and the report it leaves. The child's words are shown
// only when it fails.
#pragma once

#include "actors/node/process.hpp"
#include "actors/run_report.hpp"
#include "base/clock.hpp"
#include "base/errors.hpp"
#include "checkpoint/slot_bank.hpp"

#include <memory>
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

/// A job that runs while the bench looks at it, and is told to end with the object. It may be halted and let go again:
/// all its processes but the launcher at once, so that none of them misses another. One that is halted when the bench
/// dies is ended by its launcher.
class RunningJob {
public:
  /// Returns when all `workers` train. errors: as run_job.
  static result<std::unique_ptr<RunningJob>> start(const Scratch& scratch, const JobRun& run, std::uint32_t workers);
  ~RunningJob();
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  void signal(int number) const;
  /// The threads that train, one in each worker process.
  std::vector<pid_t> trainer_threads() const;
  /// Committed steps of worker 0, give or take the one at hand.
  std::uint64_t steps() const;
  std::uint64_t generation() const;
  /// Whether all worker processes of the start are still there.
  bool workers_live() const;

private:
  RunningJob(Process launcher, std::string words) : launcher_(std::move(launcher)), words_(std::move(words)) {}
  result<void> find_workers(std::uint32_t workers);

  Process launcher_;
  std::string words_;       ///< file with what the command says
  std::vector<pid_t> pids_; ///< master, node, workers
  std::vector<pid_t> workers_;
  std::vector<checkpoint::SlotBank> banks_;
};

/// The digits example of this build tree or installation.
result<std::string> example_job();

} // namespace troupe::bench

// The master of a job: its children under one supervisor, from the first record to the last word. Blocks its
// caller, the process's main thread, until the job ended and nothing of it runs any more.
#pragma once

#include "actors/job_config.hpp"
#include "actors/kernel/checkpoints.hpp"
#include "actors/kernel/fault_spec.hpp"
#include "actors/master/run_face.hpp"
#include "base/errors.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

class Directory;

struct MasterInputs {
  JobConfig config;
  std::uint64_t rows = 0; ///< samples of the training data
  std::vector<FaultSpec> faults;
  JournalPaths journal;
  std::string metrics_path;
  RunDisplay* display = nullptr;
  std::vector<FoundCheckpoint> checkpoints; ///< newest first, the first one verified
  std::function<void(std::uint16_t port)> listening;
};

/// Ends a running master in order; safe from any thread, before, during and after run_master.
class MasterStop {
public:
  void request(const std::string& reason);

private:
  friend result<RunReport> run_master(const MasterInputs&, MasterStop&);
  std::mutex mutex_;
  std::string reason_;
  Directory* directory_ = nullptr;
};

/// Errc::exhausted, Errc::fenced (another master has the journal), Errc::corrupt: nothing was started.
result<RunReport> run_master(const MasterInputs& inputs, MasterStop& stop);

} // namespace troupe

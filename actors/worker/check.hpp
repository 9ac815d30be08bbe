// Does this trainer keep the promises? Trains a few steps with 1, 2 and 3 workers, with a worker killed in a
// reduction and replaced, and with every process killed and resumed from memory; compares every registered
// tensor after every step bit for bit with the run of one worker, and names the first one that differs with a
// guess at the reason. Workers are forked processes with the real communicator, engine and slot banks; only
// the master is played by a script. Call it before this process starts a thread. Nothing is left behind.
#pragma once

#include "actors/job_config.hpp"
#include "actors/worker/job_data.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe {

struct TrainerCheckOptions {
  std::uint64_t steps = 6;   ///< at least 2
  std::uint64_t kill_at = 3; ///< step in which workers are killed
  std::uint32_t workers = 3; ///< largest number tried; never more than V
};

/// One thing that was tried.
struct TrainerCheckCase {
  std::string name; ///< "1, 2, 3 workers", "worker 1 killed at step 3"
  bool passed = false;
  std::string
    finding; ///< "differ: tensor 'adam/m/w2' from step 3 on, first at [0, 17]"; "same bits" when passed
  std::string hint; ///< what to look at; empty when passed
};

struct TrainerCheckReport {
  bool passed = false;
  std::uint64_t steps = 0;
  std::string model_digest; ///< of the reference run, hex
  std::vector<TrainerCheckCase> cases;
};

/// `on_case` is called as each case ends. Errc::invalid: the module does not load, or `build` fails: wrong
/// usage, with the cause. Any other failure of a run is a case that did not pass.
result<TrainerCheckReport> check_trainer(const JobConfig& job, const JobData& data,
                                         const TrainerCheckOptions& options = {},
                                         const std::function<void(const TrainerCheckCase&)>& on_case = {});

} // namespace troupe

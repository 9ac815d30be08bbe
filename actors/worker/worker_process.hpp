// The life of a worker process's trainer thread: load the module and the data, make the trainer, run the engine on the
// port, and turn whatever ends it into a Failure that the node reports.
#pragma once

#include "actors/worker/process_port.hpp"

namespace troupe {

/// Returns when the engine left; false when the trainer failed (the port knows how). Trainer's thread.
bool run_trainer(const JobConfig& config, ProcessPort& port);

} // namespace troupe

// The life of a worker process's trainer thread: load the module and the data, make the trainer, run the
// engine on the port, and turn whatever ends it into a Failure that the node reports.
#pragma once

#include "actors/worker/process_port.hpp"
#include "troupe/registry.hpp"

#include <functional>

namespace troupe {

/// Called on the trainer's thread once the trainer is built, with the actors its module brings along. An
/// error is a start-up failure.
using OnActors = std::function<result<void>(const std::vector<ActorSpec>&)>;

/// Returns when the engine left; false when the trainer failed (the port knows how). Trainer's thread.
bool run_trainer(const JobConfig& config, ProcessPort& port, const OnActors& on_actors);

} // namespace troupe

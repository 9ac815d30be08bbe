// A whole worker process. Three threads matter: the trainer's (load the module and the data, make the trainer, run the
// engine on the port, turn whatever ends it into a Failure that the node reports), CAF's (the worker actor), and the
// life-lock's. Small on purpose, since how fast it starts is part of how fast a job recovers.
#pragma once

#include "actors/job_config.hpp"
#include "actors/kernel/orders.hpp"

#include <cstdint>

namespace troupe {

inline constexpr const char* trainer_thread_name = "trainer"; ///< as tools of the system show it

struct WorkerInputs {
  JobConfig config;
  WorkerKey me;
  int channel = -1;             ///< to the node, for descriptors and last words
  std::uint16_t node_port = 0;  ///< where the node listens, on loopback
};

/// Returns when the engine left; false when the trainer failed (the node knows how). Main thread.
bool run_worker(const WorkerInputs& inputs);

} // namespace troupe

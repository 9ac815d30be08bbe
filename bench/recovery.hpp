// How long a job stands still when a worker is killed: from the kill to the end of the next step, over many
// kills of one real job, phase by phase. Kills are chaos sentences spread over ranks and steps.
#pragma once

#include "bench/bench.hpp"
#include "cli/options.hpp"

#include <functional>

namespace troupe::bench {

/// Cases "hold" (waits for the replacement), "shrink" (goes on with the survivors at once) and "shrink
/// build=3s" (the same with a trainer that takes 3 s to build). Metrics: total_ms, and each phase as NAME_ms.
/// torchrun is measured beside the first two where there is a python3 with torch, and noted as left out elsewhere.
result<BenchReport> recovery(const BenchOptions& options,
                             const std::function<void(const std::string&)>& show);

} // namespace troupe::bench

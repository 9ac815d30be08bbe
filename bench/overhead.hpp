// What the runtime costs when nothing fails: steps per second of a real job with snapshots and ledger on,
// against the same trainer, data and communicator in a bare loop of as many processes. Both live at once and take
// turns.
#pragma once

#include "bench/bench.hpp"
#include "cli/options.hpp"

#include <functional>

namespace troupe::bench {

/// Cases "digits" (as shipped) and "digits 1 ms" (steps of a millisecond and more). Metric: ratio.
result<BenchReport> overhead(const BenchOptions& options,
                             const std::function<void(const std::string&)>& show);

} // namespace troupe::bench

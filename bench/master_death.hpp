// What the death of the master costs a job: its process is killed again and again while workers train, and its
// launcher starts it again. Measured are the steps of the second around each kill against the seconds before and
// after, and the time from the kill until the new master is in charge: in its own term, with all workers heard.
#pragma once

#include "bench/bench.hpp"
#include "cli/options.hpp"

#include <functional>

namespace troupe::bench {

/// Case "master killed"; metrics `steps_ratio` and `back_ms`. errors: as run_job; deadline when a master was not back
/// in 10 s; exhausted when a worker or a generation did not outlive it.
result<BenchReport> master_death(const BenchOptions& options, const std::function<void(const std::string&)>& show);

} // namespace troupe::bench

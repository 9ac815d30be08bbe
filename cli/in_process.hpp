// `troupe run --in-process`: all virtual workers in this process, on this thread, without time-outs; for a
// debugger.
#pragma once

#include "cli/job_file.hpp"
#include "cli/options.hpp"

namespace troupe {

/// Trains, prints the last screen, writes the report if one is wanted. Leaves nothing in job.dir. Returns the
/// exit status. Chaos is refused: nothing may die here.
int run_job_in_process(const JobFile& job, const RunOptions& options);

} // namespace troupe

// The directory of a job before it starts: whether one may start there, and what is moved aside for it.
#pragma once

#include "actors/job_config.hpp"
#include "base/errors.hpp"
#include "base/unique_fd.hpp"

namespace troupe {

enum class StartMode : std::uint8_t { normal, resume, resume_if_any, fresh };

/// Makes job.dir ready: a finished run's directory is moved aside (DIR.1, DIR.2, …), an unfinished one or an
/// existing checkpoint is an error unless `mode` says what to do with it. Errc::invalid says which options
/// there are. Returns true when an earlier run goes on.
result<bool> prepare_job_dir(const JobConfig& config, StartMode mode);

/// The same under a lock that the caller keeps for as long as the job runs: of two commands that start at once, one
/// gets it and the other an error, and nothing of the first is touched. errors: invalid.
result<UniqueFd> own_job_dir(const JobConfig& config, StartMode mode);

/// Removes what only a running job needs.
void clean_job_dir(const JobConfig& config);

} // namespace troupe

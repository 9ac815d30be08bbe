// A checked configuration handed to a child process without writing it anywhere.
#pragma once

#include "actors/job_config.hpp"
#include "base/errors.hpp"
#include "base/unique_fd.hpp"

namespace troupe {

/// A sealed memfd with the encoded configuration; children inherit it. Not close-on-exec. errors: exhausted.
result<UniqueFd> config_memfd(const JobConfig& config);
/// errors: invalid.
result<JobConfig> read_config_fd(int fd);

} // namespace troupe

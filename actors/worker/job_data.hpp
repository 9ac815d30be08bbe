// The data of a job as its configuration names it: rows to train on, and rows to evaluate on if there are
// any. Read once at the start of a process; a pure function of the files and the configuration.
#pragma once

#include "actors/job_config.hpp"
#include "data/dataset.hpp"

#include <optional>

namespace troupe {

struct JobData {
  data::Dataset train;
  std::optional<data::Dataset> evaluation;
};

/// Errors name file, line and key: Errc::invalid.
result<JobData> read_job_data(const JobConfig& job);

} // namespace troupe

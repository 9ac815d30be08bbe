// From what the job file says to what the kernels go by.
#pragma once

#include "actors/job_config.hpp"
#include "actors/kernel/settings.hpp"

namespace troupe {

/// `rows`: samples of the training data.
KernelSettings kernel_settings_of(const JobConfig& config, std::uint64_t rows, std::vector<FaultSpec> faults);

} // namespace troupe

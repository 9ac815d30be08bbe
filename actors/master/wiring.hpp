// What the children of one master share: made before them, outlives them, never changes while they live but
// for the directory. No child keeps a pointer to another child.
#pragma once

#include "actors/directory.hpp"
#include "actors/job_config.hpp"
#include "actors/kernel/settings.hpp"

namespace troupe {

/// Roles in the directory, besides the kernels' names.
namespace role {
inline constexpr const char* journal = "journal";
inline constexpr const char* gate = "gate";
inline constexpr const char* console = "console";
} // namespace role

struct MasterWiring {
  JobConfig config;
  KernelSettings settings;
  Term term;
  std::vector<std::string> kernels; ///< roles of the kernels
  Directory directory;
};

} // namespace troupe

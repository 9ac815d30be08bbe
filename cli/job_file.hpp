// Reads a job file (TOML) and --set overrides into a complete and checked JobConfig. Every error names the
// file and line, shows the line with a caret, and suggests the nearest key. Keeps where each key came from,
// so that later errors (a module that does not load, a value the trainer rejects) can point there too. Paths
// in the file are relative to the file, those given with --set to the working directory. Runs once at the
// start, in the launcher and again in the master; nothing is written.
#pragma once

#include "actors/job_config.hpp"
#include "cli/diagnostic.hpp"

#include <tl/expected.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct JobFileOptions {
  std::vector<std::string> overrides;   ///< "section.key=value", later ones win
  std::optional<std::uint32_t> workers; ///< --workers: workers.start, after the overrides
  std::string working_dir = "."; ///< what relative paths in overrides and the default job.dir start from
  std::vector<std::string> module_dirs; ///< where job.module is looked for after the job file's own directory
  bool check_files = true;              ///< module, data and init_from must exist
};

struct JobFile {
  JobConfig config;
  std::map<std::string, Diagnostic, std::less<>> places; ///< "section.key" -> its place, without a message

  /// An error about a key ("job.module"), shown at its place if it was written.
  Diagnostic error_at(std::string_view key, std::string message, std::string hint = {}) const;
  /// "digits.toml:19", "--set", or the file for a key that was not written.
  std::string where(std::string_view key) const;
};

/// Where this installation (or build tree) keeps trainer modules; $TROUPE_MODULE_PATH, colon-separated,
/// first.
std::vector<std::string> module_directories();

using ParsedJob = tl::expected<JobFile, Diagnostic>;

ParsedJob load_job(const std::string& path, const JobFileOptions& options);
/// `file` is its name for messages and the place that relative paths start from.
ParsedJob parse_job(std::string_view text, const std::string& file, const JobFileOptions& options);

/// What must hold between keys; fills in defaults that depend on other keys. Part of parse_job.
tl::expected<void, Diagnostic> check_job(JobFile& job, const JobFileOptions& options);

} // namespace troupe

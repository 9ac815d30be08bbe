#include "cli/job_dir.hpp"

#include "base/checksum.hpp"
#include "checkpoint/store.hpp"
#include "cli/process_setup.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>

namespace troupe {

namespace {

namespace fs = std::filesystem;

result<void> move_aside(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error) || fs::is_empty(path, error))
    return {};
  for (int n = 1;; ++n) {
    const auto aside = fmt::format("{}.{}", path, n);
    if (fs::exists(aside, error))
      continue;
    fs::rename(path, aside, error);
    if (error)
      return fail(Errc::invalid, fmt::format("cannot move {} to {}: {}", path, aside, error.message()));
    return {};
  }
}

result<void> make_dirs(const JobPaths& paths, const std::string& checkpoints) {
  std::error_code error;
  for (const auto& dir : {paths.dir, paths.logs, paths.run, checkpoints}) {
    fs::create_directories(dir, error);
    if (error)
      return fail(Errc::invalid, fmt::format("cannot make directory {}: {}", dir, error.message()));
  }
  return {};
}

} // namespace

result<bool> prepare_job_dir(const JobConfig& config, StartMode mode) {
  const JobPaths paths(config.job.dir);
  std::error_code error;
  if (master_runs(paths))
    return fail(Errc::invalid, fmt::format("the job in {} is running; 'troupe stop' ends it", paths.dir));
  if (fs::exists(paths.finished, error)) {
    if (mode == StartMode::resume)
      return fail(Errc::invalid,
                  fmt::format("the run in {} is finished; leave out --resume to start a new one", paths.dir));
    TROUPE_TRY(move_aside(paths.dir));
  }
  const bool begun = fs::exists(paths.journal, error);
  const bool saved = !checkpoint::list(config.checkpoint.dir).empty();
  if (mode == StartMode::fresh) {
    TROUPE_TRY(move_aside(paths.dir));
    TROUPE_TRY(move_aside(config.checkpoint.dir));
  } else if (begun || saved) {
    if (mode == StartMode::normal)
      return fail(
        Errc::invalid,
        fmt::format("{} {}: --resume goes on with it, --fresh moves it aside, --resume-if-any takes either",
                    begun ? paths.dir : config.checkpoint.dir,
                    begun ? "holds an unfinished run" : "holds checkpoints of another run"));
    const auto before = read_file(paths.fingerprint, 64);
    if (before && *before != hex64(config.hash) + "\n")
      return fail(Errc::invalid, "the job file changed in a key that may not change on --resume (see "
                                 "docs/configuration.md); set it back, or start with --fresh");
  } else if (mode == StartMode::resume) {
    return fail(
      Errc::invalid,
      fmt::format("nothing to resume in {}; leave out --resume, or use --resume-if-any", paths.dir));
  }
  TROUPE_TRY(make_dirs(paths, config.checkpoint.dir));
  TROUPE_TRY(write_file_atomically(paths.fingerprint, hex64(config.hash) + "\n"));
  return mode != StartMode::fresh && (begun || saved);
}

result<UniqueFd> own_job_dir(const JobConfig& config, StartMode mode) {
  const auto dir = fs::absolute(config.job.dir);
  std::error_code error;
  fs::create_directories(dir.parent_path(), error);
  const auto open_dir = [](const fs::path& path) {
    return UniqueFd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  };
  const auto in_use = [&] {
    return fail(Errc::invalid, fmt::format("the job in {} is running; 'troupe stop' ends it", config.job.dir));
  };
  // The directory itself may be moved aside, so whoever looks at it holds its parent.
  const auto parent = open_dir(dir.parent_path());
  if (!parent || ::flock(parent.get(), LOCK_EX) != 0)
    return fail_errno(Errc::invalid, fmt::format("cannot use directory {}", dir.parent_path().string()), errno);
  if (const auto before = open_dir(dir); before && ::flock(before.get(), LOCK_EX | LOCK_NB) != 0)
    return in_use();
  TROUPE_TRY(prepare_job_dir(config, mode));
  auto own = open_dir(dir);
  if (!own || ::flock(own.get(), LOCK_EX | LOCK_NB) != 0)
    return in_use();
  return own;
}

void clean_job_dir(const JobConfig& config) {
  std::error_code error;
  fs::remove_all(JobPaths(config.job.dir).run, error);
}

} // namespace troupe

#include "bench/run_job.hpp"

#include "actors/node/process.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;

std::string last_lines(const std::string& path, std::size_t bytes) {
  auto text = read_file(path, 64 << 20).value_or("");
  return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

} // namespace

Scratch::Scratch(const std::string& name) {
  std::error_code ignored;
  auto pattern = (fs::temp_directory_path(ignored) / ("troupe-" + name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) != nullptr)
    path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty())
    fs::remove_all(path_, ignored);
}

result<RunReport> run_job(const Scratch& scratch, const JobRun& run) {
  if (scratch.path().empty())
    return fail(Errc::exhausted, "cannot make a scratch directory");
  const auto report = scratch.path() + "/report.json";
  const auto words = scratch.path() + "/words";
  std::error_code ignored;
  fs::remove(report, ignored);
  UniqueFd output(::open(words.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  SpawnSpec spec;
  spec.program = fs::read_symlink("/proc/self/exe", ignored).string();
  spec.arguments = {"run",   run.job_file, "--quiet", "--fresh", "--report", report,
                    "--set", "job.dir=" + scratch.path() + "/job"};
  spec.arguments.insert(spec.arguments.end(), run.words.begin(), run.words.end());
  spec.output = output.get();
  TROUPE_ASSIGN(const auto child, spawn(spec, SIGTERM));
  const bool late = !ended_within(child, run.at_most);
  if (late) {
    send_signal(child, SIGTERM);
    if (!ended_within(child, std::chrono::seconds(20)))
      send_signal(child, SIGKILL);
  }
  const auto end = reap(child);
  if (late)
    return fail(Errc::deadline, fmt::format("the job was still running after {:.0f} s:\n{}",
                                            to_ms(run.at_most) / 1e3, last_lines(words, 2000)));
  if (end.signal != 0 || (end.code != 0 && end.code != 3))
    return fail(end.code == 2 ? Errc::invalid : Errc::exhausted,
                fmt::format("the job ended with {}:\n{}", end.signal != 0 ? 128 + end.signal : end.code,
                            last_lines(words, 2000)));
  return read_report(report);
}

result<std::string> example_job() {
  std::error_code ignored;
  const auto here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> places = {here.parent_path() / "share/troupe/examples/digits/digits.toml"};
  for (auto dir = here; dir.has_parent_path() && dir != dir.root_path(); dir = dir.parent_path())
    places.push_back(dir / "examples/digits/digits.toml");
  for (const auto& place : places)
    if (fs::exists(place, ignored))
      return place.string();
  return fail(Errc::invalid, "the digits example is not here; name a job file with --job");
}

result<std::vector<std::pair<std::uint64_t, double>>> step_times(const std::string& metrics_file) {
  std::vector<std::pair<std::uint64_t, double>> times;
  std::ifstream in(metrics_file);
  if (!in)
    return fail_errno(Errc::invalid, metrics_file, errno);
  for (std::string line; std::getline(in, line);) {
    const auto time = line.find("\"time\":");
    if (!line.starts_with("{\"step\":") || line.find("\"loss\":") == std::string::npos ||
        time == std::string::npos)
      continue;
    times.emplace_back(std::strtoull(line.c_str() + 8, nullptr, 10),
                       std::strtod(line.c_str() + time + 7, nullptr));
  }
  return times;
}

} // namespace troupe::bench

#include "bench/run_job.hpp"

#include "actors/worker/worker_process.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;

constexpr auto job_patience = std::chrono::seconds(30); // for a job to train, and to end when told to

result<Process> launch(const Scratch& scratch, const JobRun& run, const std::string& report, const std::string& words) {
  if (scratch.path().empty())
    return fail(Errc::exhausted, "cannot make a scratch directory");
  std::error_code ignored;
  fs::remove(report, ignored);
  UniqueFd output(::open(words.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  SpawnSpec spec;
  spec.program = fs::read_symlink("/proc/self/exe", ignored).string();
  spec.arguments = {"run",   run.job_file, "--quiet", "--fresh", "--report", report,
                    "--set", "job.dir=" + scratch.path() + "/job"};
  spec.arguments.insert(spec.arguments.end(), run.words.begin(), run.words.end());
  spec.output = output.get();
  return spawn(spec, SIGTERM);
}

/// Direct children of the processes in `of`.
std::vector<pid_t> children_of(const std::vector<pid_t>& of) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto pid = std::atoi(entry.path().filename().c_str());
    const auto stat = pid > 0 ? read_file(entry.path() / "stat", 4096).value_or("") : std::string();
    const auto name_end = stat.rfind(')'); // "pid (name) state parent …", and the name may hold anything
    if (name_end != std::string::npos && name_end + 4 < stat.size() &&
        std::ranges::find(of, std::atoi(stat.c_str() + name_end + 4)) != of.end())
      found.push_back(pid);
  }
  return found;
}

/// Adds the banks of versions that process `pid` holds open (a node does) and whose worker trains.
void add_banks(pid_t pid, std::vector<checkpoint::SlotBank>& banks) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ignored)) {
    if (!fs::read_symlink(entry, ignored).native().starts_with("/memfd:troupe-bank"))
      continue;
    const UniqueFd fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    auto bank = checkpoint::SlotBank::attach(fd.get(), checkpoint::SlotBank::Access::read_only);
    if (bank && bank->pulse().step.load() > 0)
      banks.push_back(std::move(*bank));
  }
}

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
  const auto report = scratch.path() + "/report.json";
  const auto words = scratch.path() + "/words";
  TROUPE_ASSIGN(const auto child, launch(scratch, run, report, words));
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

result<std::unique_ptr<RunningJob>> RunningJob::start(const Scratch& scratch, const JobRun& run,
                                                      std::uint32_t workers) {
  auto words = scratch.path() + "/words";
  TROUPE_ASSIGN(auto launcher, launch(scratch, run, scratch.path() + "/report.json", words));
  std::unique_ptr<RunningJob> job(new RunningJob(std::move(launcher), std::move(words)));
  TROUPE_TRY(job->find_workers(workers));
  return job;
}

result<void> RunningJob::find_workers(std::uint32_t workers) {
  const auto until = monotonic_now() + job_patience;
  while (!ended_within(launcher_, std::chrono::milliseconds(20)) && monotonic_now() < until) {
    pids_ = children_of({launcher_.pid});
    banks_.clear();
    for (const auto pid : pids_)
      add_banks(pid, banks_);
    workers_ = children_of(pids_);
    pids_.insert(pids_.end(), workers_.begin(), workers_.end());
    if (banks_.size() == workers)
      return {};
  }
  return fail(Errc::exhausted, fmt::format("the job does not train: {} of {} workers do:\n{}", banks_.size(), workers,
                                           last_lines(words_, 2000)));
}

RunningJob::~RunningJob() {
  signal(SIGCONT);
  send_signal(launcher_, SIGTERM);
  if (!ended_within(launcher_, job_patience))
    send_signal(launcher_, SIGKILL);
  reap(launcher_);
}

void RunningJob::signal(int number) const {
  for (const auto pid : pids_)
    ::kill(pid, number);
}

std::uint64_t RunningJob::steps() const {
  return banks_.front().pulse().step.load(std::memory_order_relaxed);
}

std::uint64_t RunningJob::generation() const {
  return banks_.front().pulse().generation.load(std::memory_order_relaxed);
}

std::vector<pid_t> RunningJob::trainer_threads() const {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto pid : workers_)
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/task", pid), ignored))
      if (read_file(entry.path() / "comm", 64).value_or("") == fmt::format("{}\n", trainer_thread_name))
        found.push_back(std::atoi(entry.path().filename().c_str()));
  return found;
}

bool RunningJob::workers_live() const {
  return std::ranges::all_of(workers_, [](pid_t pid) { return ::kill(pid, 0) == 0; });
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

} // namespace troupe::bench

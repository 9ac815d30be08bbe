#include "bench/torchrun.hpp"

#include "actors/node/process.hpp"
#include "base/clock.hpp"
#include "bench/run_job.hpp"
#include "cli/json_reflect.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// One command's end: its exit status (-1: a signal) and all it wrote.
struct Ended {
  int status = -1;
  std::string words;
};

/// SIGTERM when it is late, SIGKILL when that does not help.
result<Ended> run(const Scratch& scratch, const std::string& program, std::vector<std::string> arguments,
                  Duration at_most) {
  const auto path = scratch.path() + "/words";
  const UniqueFd output(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  if (!output)
    return fail_errno(Errc::exhausted, path, errno);
  SpawnSpec spec;
  spec.program = program;
  spec.arguments = std::move(arguments);
  spec.output = output.get();
  TROUPE_ASSIGN(const auto child, spawn(spec, SIGTERM));
  const bool late = !ended_within(child, at_most);
  if (late) {
    send_signal(child, SIGTERM);
    if (!ended_within(child, 30s))
      send_signal(child, SIGKILL);
  }
  const auto end = reap(child);
  if (late)
    return fail(Errc::deadline,
                fmt::format("{} was still running after {:.0f} s", program, to_ms(at_most) / 1e3));
  TROUPE_ASSIGN(auto words, read_file(path, 1 << 20));
  return Ended{end.signal == 0 ? end.code : -1, std::move(words)};
}

/// The first python3 on PATH that can import torch: a distribution's own need not be the first of all.
result<std::string> python_with_torch(const Scratch& scratch) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto python = folder + "/python3";
    if (!python.starts_with('/') || ::access(python.c_str(), X_OK) != 0)
      continue;
    const auto tried = run(scratch, python, {"-c", "import torch"}, 60s);
    if (tried && tried->status == 0)
      return python;
  }
  return fail(Errc::unsupported, "no python3 here can import torch (Debian: python3-torch)");
}

/// Installed, or above the build tree.
result<std::string> find_script() {
  std::error_code ignored;
  const auto here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> places = {here.parent_path() / "share/troupe/bench/peers/torchrun_recovery.py"};
  for (auto dir = here; dir.has_parent_path() && dir != dir.root_path(); dir = dir.parent_path())
    places.push_back(dir / "bench/peers/torchrun_recovery.py");
  for (const auto& place : places)
    if (fs::exists(place, ignored))
      return place.string();
  return fail(Errc::unsupported, "torchrun_recovery.py is not here");
}

/// Its last line is the object; what libraries say stands before it.
result<TorchrunTimes> parse(const std::string& words) {
  const auto from = words.rfind("\n{");
  const auto json = Json::parse(words.substr(from == std::string::npos ? 0 : from), nullptr, false);
  TorchrunTimes times;
  try {
    json.at("default").get_to(times.by_default);
    json.at("monitor 0.1").get_to(times.monitor_100ms);
    json.at("torch").get_to(times.torch);
  } catch (const Json::exception& wrong) {
    return fail(Errc::exhausted,
                fmt::format("torchrun_recovery.py wrote no figures ({}):\n{}", wrong.what(), words));
  }
  if (times.by_default.empty() || times.monitor_100ms.empty())
    return fail(Errc::exhausted, "torchrun_recovery.py wrote no figures:\n" + words);
  return times;
}

} // namespace

result<TorchrunTimes> torchrun_recovery(std::uint32_t workers, std::uint32_t kills) {
  TROUPE_ASSIGN(const auto script, find_script());
  const Scratch scratch("bench-torchrun");
  if (scratch.path().empty())
    return fail(Errc::exhausted, "cannot make a scratch directory");
  TROUPE_ASSIGN(const auto python, python_with_torch(scratch));
  TROUPE_ASSIGN(const auto done, run(scratch, python,
                                     {"-B", script, "--workers", std::to_string(workers), "--kills",
                                      std::to_string(kills), "--dir", scratch.path()},
                                     10min));
  if (done.status != 0)
    return fail(Errc::exhausted, "torchrun_recovery.py failed:\n" + done.words);
  return parse(done.words);
}

} // namespace troupe::bench

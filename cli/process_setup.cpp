#include "cli/process_setup.hpp"

#include "base/assert.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace troupe {

namespace fs = std::filesystem;

std::map<std::string, std::string> internal_options(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> options;
  for (const auto& pair : pairs)
    if (const auto at = pair.find('='); at != std::string::npos)
      options[pair.substr(0, at)] = pair.substr(at + 1);
  return options;
}

std::string own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

result<std::string> worker_program() {
  const auto here = fs::path(own_program()).parent_path();
  for (const auto& place : {here / "cli/troupe-worker", here / "../libexec/troupe/troupe-worker"})
    if (std::error_code error; fs::exists(place, error))
      return fs::weakly_canonical(place).string();
  return fail(Errc::invalid,
              "troupe-worker is neither in cli/ (a build tree) nor in ../libexec/troupe: build or install again");
}

JobPaths::JobPaths(const std::string& d)
    : dir(d), journal(d + "/journal/journal.log"), events(d + "/events.log"), metrics(d + "/metrics.jsonl"),
      logs(d + "/logs"), run(d + "/run"), endpoint(d + "/run/master"), finished(d + "/finished"),
      fingerprint(d + "/job.hash") {}

result<void> write_endpoint(const JobPaths& paths, const Endpoint& endpoint) {
  return write_file_atomically(paths.endpoint, fmt::format("{} {}\n", endpoint.port, endpoint.pid));
}

result<Endpoint> read_endpoint(const JobPaths& paths) {
  TROUPE_ASSIGN(const auto text, read_file(paths.endpoint, 256));
  Endpoint endpoint;
  unsigned port = 0;
  long long pid = 0;
  if (std::sscanf(text.c_str(), "%u %lld", &port, &pid) != 2 || port > 65535)
    return fail(Errc::invalid, paths.endpoint + " is not what a master writes");
  endpoint.port = static_cast<std::uint16_t>(port);
  endpoint.pid = pid;
  return endpoint;
}

bool master_runs(const JobPaths& paths) {
  const UniqueFd journal{::open(paths.journal.c_str(), O_RDONLY | O_CLOEXEC)};
  return journal && ::flock(journal.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

SignalThread::SignalThread(std::function<void(int, int)> on_signal)
    : on_signal_(std::move(on_signal)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = UniqueFd{::signalfd(-1, &set, SFD_CLOEXEC)};
  TROUPE_ASSERT(stop_ && signals_, "no descriptors for signals");
  thread_ = std::thread([this] {
    int count = 0;
    for (;;) {
      pollfd fds[] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0)
        continue;
      if (fds[1].revents != 0)
        return;
      signalfd_siginfo info{};
      if (::read(signals_.get(), &info, sizeof info) == sizeof info)
        on_signal_(static_cast<int>(info.ssi_signo), ++count);
    }
  });
}

SignalThread::~SignalThread() {
  const std::uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

} // namespace troupe

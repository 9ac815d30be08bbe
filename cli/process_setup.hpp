// What the processes of one job share on the command line's side: finding the worker program, handing a
// checked configuration to a child without writing it anywhere, files under job.dir, and signals as events.
#pragma once

#include "actors/config_fd.hpp"
#include "base/errors.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

/// "key=value" pairs that `troupe run` gives its children.
std::map<std::string, std::string> internal_options(const std::vector<std::string>& pairs);

/// Absolute path of this executable, and of the worker program beside it or in libexec.
std::string own_program();
result<std::string> worker_program();

/// Paths under job.dir.
struct JobPaths {
  explicit JobPaths(const std::string& dir);
  std::string dir, journal, events, metrics, logs, run, endpoint, finished, fingerprint;
};

/// Where a running master listens; written by it, removed with the job.
struct Endpoint {
  std::uint16_t port = 0;
  std::int64_t pid = 0;
};
result<void> write_endpoint(const JobPaths& paths, const Endpoint& endpoint);
result<Endpoint> read_endpoint(const JobPaths& paths);
/// Whether a master has this job's journal open. A pid alone would not tell: it may be a zombie, or another
/// process.
bool master_runs(const JobPaths& paths);

/// Calls `on_signal(number, count)` on a thread of its own for SIGINT, SIGTERM and SIGHUP. Make it before any
/// other thread of the process, so that all of them block these signals.
class SignalThread {
public:
  explicit SignalThread(std::function<void(int signal, int count)> on_signal);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

private:
  std::function<void(int, int)> on_signal_;
  UniqueFd stop_;
  UniqueFd signals_;
  std::thread thread_;
};

} // namespace troupe

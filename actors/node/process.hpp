// Operating-system processes of this node. `spawn` starts one with exactly the descriptors it is given;
// ProcessWatcher is one thread that waits for the ends of all of them and reports each once. The watcher must
// outlive its callbacks' targets; callbacks run on the watcher's thread and must not block.
#pragma once

#include "base/clock.hpp"
#include "base/errors.hpp"
#include "base/unique_fd.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

struct SpawnSpec {
  std::string program;                ///< absolute path
  std::vector<std::string> arguments; ///< without the program's name
  std::vector<int> inherit;           ///< descriptors kept open, at their numbers
  int output = -1;                    ///< becomes stdout and stderr; -1: inherit
};

struct Process {
  pid_t pid = 0;
  UniqueFd pidfd;
};

/// The child gets `death_signal` (0: none) when the calling thread ends, its own process group, default signals, and no
/// descriptors but 0, 1, 2 and `inherit`.
result<Process> spawn(const SpawnSpec& spec, int death_signal);

/// How a process ended.
struct ExitStatus {
  int code = 0; ///< exit code, when signal is 0
  int signal = 0;
};

/// To this very process and never to one that got its number since.
void send_signal(const Process& process, int signal);
/// Whether it ended before `time` was over; it is not reaped.
bool ended_within(const Process& process, Duration time);
/// Waits for the end of a child and reaps it. For children that no ProcessWatcher watches.
ExitStatus reap(const Process& process);

class ProcessWatcher {
public:
  using Callback = std::function<void(std::uint64_t token, ExitStatus status)>;
  explicit ProcessWatcher(Callback on_exit);
  ~ProcessWatcher();
  ProcessWatcher(const ProcessWatcher&) = delete;
  ProcessWatcher& operator=(const ProcessWatcher&) = delete;

  /// Reports the end of the process behind `pidfd` as `token`, reaping it. Any thread.
  result<void> watch(int pidfd, std::uint64_t token);

private:
  void loop();
  Callback on_exit_;
  UniqueFd epoll_;
  UniqueFd stop_;
  std::thread thread_;
};

} // namespace troupe

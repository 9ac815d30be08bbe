#include "actors/node/process.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <linux/close_range.h>
#include <mutex>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

namespace {

// Only async-signal-safe calls: the parent has threads.
[[noreturn]] void become(const char* program, char* const* argv, const SpawnSpec& spec, pid_t parent,
                         int death_signal) {
  ::setpgid(0, 0);
  const sched_param ordinary{};
  ::sched_setscheduler(0, ::sched_getscheduler(parent), &ordinary); // not that of the actor's thread that forks
  if (death_signal != 0)
    ::prctl(PR_SET_PDEATHSIG, death_signal);
  if (::getppid() != parent)
    ::_exit(127);
  for (int s = 1; s < NSIG; ++s)
    if (s != SIGKILL && s != SIGSTOP)
      ::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (spec.output >= 0) {
    ::dup2(spec.output, 1);
    ::dup2(spec.output, 2);
  }
  // inherit is sorted: close the gaps between its members.
  unsigned next = 3;
  for (const int fd : spec.inherit) {
    if (static_cast<unsigned>(fd) > next)
      ::syscall(SYS_close_range, next, static_cast<unsigned>(fd) - 1, CLOSE_RANGE_CLOEXEC);
    ::fcntl(fd, F_SETFD, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  ::syscall(SYS_close_range, next, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(program, argv);
  ::_exit(127);
}

} // namespace

result<Process> spawn(const SpawnSpec& wanted, int death_signal) {
  SpawnSpec spec = wanted;
  std::sort(spec.inherit.begin(), spec.inherit.end());
  if (::access(spec.program.c_str(), X_OK) != 0)
    return fail_errno(Errc::invalid, "cannot run " + spec.program, errno);
  std::vector<char*> argv;
  argv.push_back(spec.program.data());
  for (auto& a : spec.arguments)
    argv.push_back(a.data());
  argv.push_back(nullptr);
  const auto parent = ::getpid();
  const auto pid = ::fork();
  if (pid < 0)
    return fail_errno(Errc::exhausted, "start " + spec.program, errno);
  if (pid == 0)
    become(spec.program.c_str(), argv.data(), spec, parent, death_signal);
  ::setpgid(pid, pid);
  UniqueFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (!pidfd) {
    const auto why = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail_errno(Errc::exhausted, "watch " + spec.program, why);
  }
  return Process{pid, std::move(pidfd)};
}

ProcessWatcher::ProcessWatcher(Callback on_exit)
    : on_exit_(std::move(on_exit)), epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  TROUPE_ASSERT(epoll_ && stop_, "no descriptors for the process watcher");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = ~0ULL;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event);
  thread_ = std::thread([this] { loop(); });
}

void send_signal(const Process& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.pidfd.get(), signal, nullptr, 0);
}

namespace {

ExitStatus status_of(const siginfo_t& info) {
  ExitStatus status;
  (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
  return status;
}

} // namespace

bool ended_within(const Process& process, Duration time) {
  pollfd end{process.pidfd.get(), POLLIN, 0};
  const auto deadline = monotonic_now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - monotonic_now());
    const int n = ::poll(&end, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000)));
    if (n > 0 || left.count() <= 0)
      return n > 0;
  }
}

ExitStatus reap(const Process& process) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  return status_of(info);
}

ProcessWatcher::~ProcessWatcher() {
  const std::uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

result<void> ProcessWatcher::watch(int pidfd, std::uint64_t token) {
  // The set keeps its own copy so that the caller may close `pidfd` at any time; the token carries both.
  TROUPE_ASSERT(token < (1ULL << 32), "process tokens have 32 bits");
  const int own = ::fcntl(pidfd, F_DUPFD_CLOEXEC, 3);
  if (own < 0)
    return fail_errno(Errc::exhausted, "watch a process", errno);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = (token << 32) | static_cast<std::uint64_t>(own);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own, &event) != 0) {
    const auto why = errno;
    ::close(own);
    return fail_errno(Errc::exhausted, "watch a process", why);
  }
  return {};
}

void ProcessWatcher::loop() {
  for (;;) {
    epoll_event event{};
    const int n = ::epoll_wait(epoll_.get(), &event, 1, -1);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 || event.data.u64 == ~0ULL)
      return;
    const int pidfd = static_cast<int>(event.data.u64 & 0xffffffffULL);
    siginfo_t info{};
    ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pidfd, nullptr);
    ::close(pidfd);
    on_exit_(event.data.u64 >> 32, status_of(info));
  }
}

} // namespace troupe

#include "comm/urgency.hpp"

#include <csignal>
#include <cstdint>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe {

namespace {

// The lowest of them: below everything the system itself runs as real-time.
sched_param lowest_real_time() {
  sched_param lowest{};
  lowest.sched_priority = 1;
  return lowest;
}

// Real-time threads never yield to ordinary ones, and the thread sanitizer's own locks spin and yield.
#if defined(__SANITIZE_THREAD__)
constexpr bool allowed = false;
#else
constexpr bool allowed = true;
#endif

constexpr std::uint64_t shortest_slice_ns = 100'000;

} // namespace

void be_urgent() {
  const auto lowest = lowest_real_time();
  if (allowed && ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0)
    return;
  // struct sched_attr of the kernel; its runtime is the slice of a fair thread since Linux 6.12.
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline_ns, period_ns;
  } fair{48, SCHED_OTHER, 0, ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())), 0, shortest_slice_ns, 0, 0};
  ::syscall(SYS_sched_setattr, 0, &fair, 0);
}

void Urgency::raise(pid_t thread) {
  const int policy = ::sched_getscheduler(thread);
  if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE)
    return;
  // Without reset-on-fork, which could not be taken back without privilege.
  const auto lowest = lowest_real_time();
  if (!allowed || ::sched_setscheduler(thread, SCHED_FIFO, &lowest) != 0)
    return;
  raised_ = thread;
  policy_ = policy;
}

void Urgency::relax() {
  const sched_param ordinary{};
  if (raised_ != 0 && ::tgkill(::getpid(), raised_, 0) == 0) // still a thread of this process
    ::sched_setscheduler(raised_, policy_, &ordinary);
  raised_ = 0;
}

} // namespace troupe

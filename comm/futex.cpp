#include "comm/futex.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe::futex {

namespace {

constexpr long nothing = 0;
// Since Linux 5.16; Debian 12 has newer headers, but the number is the same on every architecture.
constexpr long futex_waitv_call = 449;
struct WaitVector {
  std::uint64_t value;
  std::uint64_t address;
  std::uint32_t flags;
  std::uint32_t reserved;
};
constexpr std::uint32_t size_32 = 2;

timespec to_timespec(Duration d) {
  const auto ns = std::max<std::int64_t>(d.count(), 0);
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

std::atomic<bool> has_waitv{true};

} // namespace

bool wait(const Word& word, std::uint32_t expected, Time deadline) noexcept {
  timespec until{};
  timespec* timeout = nullptr;
  if (deadline != Time::max()) {
    until = to_timespec(deadline.time_since_epoch());
    timeout = &until;
  }
  // The bitset form takes an absolute time of the monotonic clock.
  const long rc = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
  return !(rc < 0 && errno == ETIMEDOUT);
}

void wake_all(const Word& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, nothing);
}

void wake_private(const Word& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, nothing);
}

void wait_any(std::span<const Watched> words) noexcept {
  if (has_waitv.load(std::memory_order_relaxed)) {
    std::array<WaitVector, max_watched> vector{};
    const auto count = std::min(words.size(), max_watched);
    for (std::size_t i = 0; i < count; ++i)
      vector[i] = {words[i].expected, reinterpret_cast<std::uintptr_t>(words[i].word),
                   size_32 | (words[i].is_private ? FUTEX_PRIVATE_FLAG : 0u), 0};
    if (::syscall(futex_waitv_call, vector.data(), count, 0, nullptr, 0) >= 0 || errno == EAGAIN || errno == EINTR)
      return;
    if (errno == ENOSYS || errno == EPERM)
      has_waitv.store(false, std::memory_order_relaxed);
  }
  const auto shared = std::find_if(words.begin(), words.end(), [](const Watched& w) { return !w.is_private; });
  const auto& one = shared != words.end() ? *shared : words.front();
  const auto timeout = to_timespec(std::chrono::milliseconds(1));
  ::syscall(SYS_futex, one.word, one.is_private ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT, one.expected, &timeout, nullptr,
            nothing);
}

} // namespace troupe::futex

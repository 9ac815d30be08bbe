#include "checkpoint/process_identity.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace troupe::checkpoint {

namespace {

constexpr unsigned start_bits = 40;
constexpr std::uint64_t start_mask = (std::uint64_t{1} << start_bits) - 1;

struct Stat {
  bool found = false; ///< false: no such process, or no /proc
  char state = '?';
  std::uint64_t start = 0; ///< clock ticks since boot
};

// "pid (name) S ppid …": the name may contain anything, so fields are counted from the last ')'. Start time is the
// 22nd field, the state the third.
Stat read_stat(std::int64_t pid) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(pid));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return {};
  char buffer[1024];
  const auto n = ::read(fd, buffer, sizeof buffer);
  ::close(fd);
  if (n <= 0)
    return {};
  std::string_view text(buffer, static_cast<std::size_t>(n));
  const auto name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size())
    return {};
  text.remove_prefix(name_end + 2);
  Stat stat;
  stat.found = true;
  stat.state = text.front();
  for (int field = 3; field < 22; ++field)
    text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  std::from_chars(text.data(), text.data() + text.size(), stat.start);
  return stat;
}

std::uint64_t make_identity(std::int64_t pid, std::uint64_t start) {
  return static_cast<std::uint64_t>(pid) << start_bits | (start & start_mask);
}

} // namespace

std::uint64_t process_identity(std::int64_t pid) {
  const auto stat = read_stat(pid);
  if (stat.found)
    return stat.state == 'Z' || stat.state == 'X' ? 0 : make_identity(pid, stat.start);
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM ? make_identity(pid, 0) : 0;
}

std::uint64_t own_identity() {
  static std::atomic<std::uint64_t> cached{0};
  const auto pid = ::getpid();
  auto own = cached.load(std::memory_order_relaxed);
  if (own >> start_bits != static_cast<std::uint64_t>(pid)) { // first use, or a forked child
    own = process_identity(pid);
    cached.store(own, std::memory_order_relaxed);
  }
  return own;
}

bool process_alive(std::uint64_t identity) {
  const auto pid = static_cast<std::int64_t>(identity >> start_bits);
  return identity == own_identity() || process_identity(pid) == identity;
}

} // namespace troupe::checkpoint

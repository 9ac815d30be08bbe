#include "comm/memory_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

namespace troupe {

namespace {

constexpr std::uint64_t always_fine = 16ull << 20; // not worth reading files on the way to a new generation
constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

std::string read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  std::string text(16384, '\0');
  text.resize(file ? std::fread(text.data(), 1, text.size(), file.get()) : 0);
  return text;
}

// The number after `key` at the start of a line.
std::uint64_t number_after(const std::string& text, std::string_view key) {
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    unsigned long long value = 0;
    if (text.compare(at, key.size(), key) == 0 && std::sscanf(text.c_str() + at + key.size(), " %llu", &value) == 1)
      return value;
    if (text.find('\n', at) == std::string::npos)
      break;
  }
  return unknown;
}

std::uint64_t free_in_control_group() {
  const auto own = read_text("/proc/self/cgroup");
  const auto start = own.find("0::");
  if (start == std::string::npos)
    return unknown;
  auto path = own.substr(start + 3, own.find('\n', start) - start - 3);
  auto least = unknown;
  for (;;) { // a limit may sit on any ancestor
    const auto dir = "/sys/fs/cgroup" + path;
    const auto limit = number_after(read_text(dir + "/memory.max"), "");
    const auto used = number_after(read_text(dir + "/memory.current"), "");
    if (limit != unknown && used != unknown) {
      const auto cache = number_after(read_text(dir + "/memory.stat"), "inactive_file ");
      const auto busy = used - std::min(used, cache == unknown ? 0 : cache);
      least = std::min(least, limit - std::min(limit, busy));
    }
    if (path.empty() || path == "/")
      return least;
    path.resize(std::min(path.size(), path.rfind('/') + 1) - 1);
  }
}

} // namespace

result<void> check_memory_for(std::uint64_t bytes, std::string_view what) {
  if (bytes <= always_fine)
    return {};
  const auto kilobytes = number_after(read_text("/proc/meminfo"), "MemAvailable:");
  const auto host = kilobytes == unknown ? unknown : kilobytes * 1024;
  const auto available = std::min(host, free_in_control_group());
  if (bytes <= available)
    return {};
  return fail(Errc::exhausted, fmt::format("{}: {} MiB of shared memory wanted, {} MiB available", what, bytes >> 20,
                                           available >> 20));
}

} // namespace troupe

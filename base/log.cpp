#include "base/log.hpp"

#include "base/clock.hpp"
#include "base/flight_recorder.hpp"

#include <ctime>
#include <mutex>
#include <unistd.h>

namespace troupe {

namespace {

constexpr int max_lines_per_second = 200;

struct Sink {
  std::mutex mutex;
  std::string role = "troupe";
  LogLevel lowest = LogLevel::warn;
  int fd = 2;
  std::int64_t second = 0;
  int lines = 0;
};

Sink& sink() {
  static Sink instance;
  return instance;
}

} // namespace

void configure_log(std::string role, LogLevel lowest, int fd) {
  auto& s = sink();
  std::lock_guard lock(s.mutex);
  s.role = std::move(role);
  s.lowest = lowest;
  s.fd = fd;
}

void write_log(LogLevel level, std::string_view event, std::string_view details) {
  const auto now = wall_clock_ns();
  const std::time_t seconds = now / 1'000'000'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  auto& s = sink();
  std::lock_guard lock(s.mutex);
  auto line = fmt::format("{:02}:{:02}:{:02}.{:03} {} {} {}\n", local.tm_hour, local.tm_min, local.tm_sec,
                          now / 1'000'000 % 1000, s.role, event, details);
  flight_recorder().note(std::string_view(line).substr(0, line.size() - 1));
  if (level < s.lowest)
    return;
  if (s.second != seconds) {
    s.second = seconds;
    s.lines = 0;
  }
  if (++s.lines > max_lines_per_second)
    return;
  if (s.lines == max_lines_per_second)
    line += "(more lines in this second were dropped)\n";
  [[maybe_unused]] auto n = ::write(s.fd, line.data(), line.size());
}

} // namespace troupe

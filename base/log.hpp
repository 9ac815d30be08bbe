// One line per event: "12:34:56.789 node worker.exited slot=2 signal=9". Lines go to a file descriptor (stderr at
// first) and to the flight recorder. Bounded per second so that a storm cannot fill the disk. Any thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace troupe {

enum class LogLevel { debug, info, warn, error };

/// Sets role (shown on each line), lowest level written, and the descriptor; the descriptor stays the caller's.
void configure_log(std::string role, LogLevel lowest, int fd);
void write_log(LogLevel level, std::string_view event, std::string_view details);

template <class... Args>
void log(LogLevel level, std::string_view event, fmt::format_string<Args...> format, Args&&... args) {
  write_log(level, event, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace troupe

// The JSON that a run leaves (--report FILE, docs/report.md) and shows (`status --json`). Writing is atomic:
// a reader sees the old file or the whole new one. Any thread.
#pragma once

#include "actors/run_report.hpp"
#include "base/errors.hpp"

#include <string>

namespace troupe {

std::string report_json(const RunReport& report);
std::string status_json(const StatusView& status);
result<RunReport> parse_report(std::string_view json);
result<StatusView> parse_status(std::string_view json);

result<void> write_report(const std::string& path, const RunReport& report);
result<RunReport> read_report(const std::string& path);

/// Exit status of a run that left this report: 0 done, 1 failed, 3 a fault never fired, 130 interrupted.
int exit_status(const RunReport& report);

/// Temporary file beside `path`, fsync, rename, fsync of the directory. A `path` that exists and is no
/// regular file (a pipe, /dev/stdout) is written directly.
result<void> write_file_atomically(const std::string& path, std::string_view text);
result<std::string> read_file(const std::string& path, std::size_t most);

/// This machine, for reports.
HostRow this_host();

} // namespace troupe

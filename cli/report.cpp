#include "cli/report.hpp"

#include "base/unique_fd.hpp"
#include "cli/json_reflect.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::size_t largest_report = 256 << 20;

template <class T>
result<T> parse(std::string_view text, std::string_view what) {
  try {
    T value;
    from_json_value(Json::parse(text), value);
    return value;
  } catch (const std::exception& e) {
    return fail(Errc::invalid, fmt::format("this is no {}: {}", what, e.what()));
  }
}

result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail_errno(Errc::exhausted, "write " + path, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

std::string first_line_value(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key))
      if (const auto colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return {};
}

} // namespace

std::string report_json(const RunReport& report) {
  return to_json_value(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string status_json(const StatusView& status) {
  return to_json_value(status).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

result<RunReport> parse_report(std::string_view json) {
  return parse<RunReport>(json, "report of a run");
}

result<StatusView> parse_status(std::string_view json) {
  return parse<StatusView>(json, "status of a job");
}

int exit_status(const RunReport& report) {
  if (report.result == "interrupted")
    return 130;
  if (report.result == "failed")
    return 1;
  if (report.result == "done")
    for (const auto& fault : report.faults)
      if (fault.armed && !fault.fired && !fault.exempt)
        return 3;
  return 0;
}

result<void> write_file_atomically(const std::string& path, std::string_view text) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return fd ? write_all(fd.get(), text, path) : fail_errno(Errc::invalid, "open " + path, errno);
  }
  const auto temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd)
    return fail_errno(Errc::invalid, "create " + temporary, errno);
  auto done = write_all(fd.get(), text, temporary);
  if (done && ::fsync(fd.get()) != 0)
    done = fail_errno(Errc::exhausted, "fsync " + temporary, errno);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0)
    done = fail_errno(Errc::invalid, "rename to " + path, errno);
  if (!done) {
    ::unlink(temporary.c_str());
    return done;
  }
  const auto parent = std::filesystem::path(path).parent_path();
  UniqueFd dir(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir && ::fsync(dir.get()) != 0)
    return fail_errno(Errc::exhausted, "fsync " + parent.string(), errno);
  return {};
}

result<std::string> read_file(const std::string& path, std::size_t most) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return fail_errno(Errc::invalid, path, errno);
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const auto n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail_errno(Errc::invalid, "read " + path, errno);
    if (n == 0)
      return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > most)
      return fail(Errc::invalid, fmt::format("{} is larger than {} bytes", path, most));
  }
}

result<void> write_report(const std::string& path, const RunReport& report) {
  return write_file_atomically(path, report_json(report));
}

result<RunReport> read_report(const std::string& path) {
  TROUPE_ASSIGN(const auto text, read_file(path, largest_report));
  auto report = parse_report(text);
  if (!report)
    return fail(Errc::invalid, path + ": " + report.error().context);
  return report;
}

HostRow this_host() {
  HostRow host;
  utsname names{};
  if (::uname(&names) == 0) {
    host.name = names.nodename;
    host.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0)
    host.cpus = static_cast<std::uint32_t>(CPU_COUNT(&cpus));
  struct sysinfo info {};
  if (::sysinfo(&info) == 0)
    host.memory_bytes = static_cast<std::uint64_t>(info.totalram) * info.mem_unit;
  host.cpu = first_line_value("/proc/cpuinfo", "model name");
  return host;
}

} // namespace troupe

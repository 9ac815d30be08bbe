// `troupe status|scale|pause|unpause|save|stop|kill`: one question to a running master, found by its
// directory.
#include "actors/control_client.hpp"
#include "cli/commands.hpp"
#include "cli/process_setup.hpp"
#include "cli/report.hpp"
#include "cli/screen.hpp"
#include "cli/terminal.hpp"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace troupe {

namespace {

// The job's directory that was given, or the only one here in which a job runs.
result<std::string> find_dir(const ControlOptions& options) {
  if (!options.dir.empty())
    return options.dir;
  std::vector<std::string> running;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(".", error))
    if (entry.path().extension() == ".troupe-run" && master_runs(JobPaths(entry.path().string())))
      running.push_back(entry.path().string());
  if (running.size() == 1)
    return running.front();
  return fail(Errc::invalid, running.empty() ? "no job runs in this directory; name its directory with --dir"
                                             : "several jobs run in this directory; name one with --dir");
}

result<std::pair<std::string, std::uint16_t>> find_master(const ControlOptions& options) {
  if (!options.master.empty()) {
    const auto colon = options.master.rfind(':');
    const int port = colon == std::string::npos ? 0 : std::atoi(options.master.c_str() + colon + 1);
    if (port <= 0 || port > 65535)
      return fail(Errc::invalid, "--master needs HOST:PORT, got '" + options.master + "'");
    return std::pair{options.master.substr(0, colon), static_cast<std::uint16_t>(port)};
  }
  TROUPE_ASSIGN(const auto dir, find_dir(options));
  const JobPaths paths(dir);
  auto endpoint = read_endpoint(paths);
  if (!endpoint || !master_runs(paths))
    return fail(Errc::invalid, "no job runs in " + dir);
  return std::pair{std::string("127.0.0.1"), endpoint->port};
}

} // namespace

int cmd_control(const ControlOptions& options) {
  auto master = find_master(options);
  if (!master)
    return complain(master.error().context, master.error().code == Errc::invalid ? exit_usage : exit_failed);
  std::signal(SIGPIPE, SIG_IGN);
  const auto patience = options.command == "save" ? std::chrono::seconds(130) : std::chrono::seconds(10);
  const auto reply = ask_master(master->first, master->second, {options.command, options.arguments}, patience);
  if (!reply && reply.error().code == Errc::retry_later)
    return complain("no master answers at " + master->first + ":" + std::to_string(master->second), exit_failed);
  if (!reply)
    return complain("the master did not answer: " + reply.error().context, exit_failed);
  if (!reply->ok)
    return complain(reply->text, exit_failed);
  if (reply->json.empty() || options.json) {
    std::puts(reply->json.empty() ? reply->text.c_str() : reply->json.c_str());
    return exit_done;
  }
  if (auto view = parse_status(reply->json))
    std::fputs(status_screen(*view, terminal_facts(STDOUT_FILENO).style).c_str(), stdout);
  return exit_done;
}

} // namespace troupe

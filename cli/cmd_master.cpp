// `troupe master`: decides for one job. Shows the job's progress on its standard error and the last screen on
// its standard output; its exit status is the job's.
#include "actors/master/master.hpp"
#include "actors/worker/job_data.hpp"
#include "base/log.hpp"
#include "checkpoint/store.hpp"
#include "cli/chaos_spec.hpp"
#include "cli/commands.hpp"
#include "cli/job_file.hpp"
#include "cli/process_setup.hpp"
#include "cli/report.hpp"
#include "cli/screen.hpp"
#include "cli/settings.hpp"
#include "cli/terminal.hpp"
#include "troupe/version.hpp"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace troupe {

namespace {

class TerminalDisplay final : public RunDisplay {
public:
  explicit TerminalDisplay(bool quiet) : screen_(STDERR_FILENO, terminal_facts(STDERR_FILENO), quiet) {}
  void event(const RunEvent& e) override {
    std::string text = e.text;
    if (e.failure)
      text = death_text(*e.failure);
    if (e.formed)
      text = formed_text(e.formed->generation, e.formed->workers, e.formed->step, e.formed->source,
                         e.formed->ms ? &*e.formed->ms : nullptr);
    screen_.event(event_line(e.wall_ns, text, screen_.style()));
  }
  void progress(const RunView& view, Time now) override { screen_.progress(view, now); }
  std::string status_json(const StatusView& status) override { return troupe::status_json(status); }
  void final(const RunReport& report, const std::string& reference) {
    screen_.final(report.result == "failed" ? failure_screen(report, screen_.style())
                                            : summary_screen(report, reference, screen_.style()));
  }

private:
  Screen screen_;
};

// Newest first; the first one that verifies leads, those above it that do not are told about and left out.
std::vector<FoundCheckpoint> checkpoints_of(const JobConfig& config) {
  std::vector<FoundCheckpoint> found;
  for (const auto& entry : checkpoint::list(config.checkpoint.dir)) {
    if (found.empty())
      if (auto sound = checkpoint::verify(entry.path); !sound) {
        std::fprintf(stderr, "troupe: checkpoint %s is damaged (%s); looking at the one before\n",
                     entry.path.c_str(), sound.error().context.c_str());
        continue;
      }
    found.push_back({entry.key, entry.digest, entry.path, entry.best});
  }
  return found;
}

} // namespace

int cmd_master(const MasterOptions& options) {
  auto internal = internal_options(options.internal);
  if (!internal.contains("config"))
    return complain("a master of its own is not in this version; 'troupe run' starts one", exit_usage);
  auto config = read_config_fd(std::atoi(internal["config"].c_str()));
  if (!config)
    return complain(config.error().context, exit_usage);
  auto faults = read_faults(options.chaos);
  if (!faults)
    return complain(render(faults.error()), exit_usage);

  const JobPaths paths(config->job.dir);
  MasterStop stop;
  SignalThread signals([&](int, int) { stop.request("interrupted"); });
  std::signal(SIGPIPE, SIG_IGN);
  UniqueFd log_fd{
    ::open((paths.logs + "/master.log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644)};
  configure_log("master", LogLevel::info, log_fd ? log_fd.get() : STDERR_FILENO);

  auto data = read_job_data(*config);
  if (!data)
    return complain(data.error().context, data.error().code == Errc::invalid ? exit_usage : exit_failed);
  TerminalDisplay display(internal["quiet"] == "1");
  MasterInputs inputs;
  inputs.config = *config;
  inputs.rows = data->train.rows();
  inputs.faults = std::move(*faults);
  inputs.journal = {paths.journal, options.events.empty() ? paths.events : options.events};
  inputs.metrics_path = paths.metrics;
  inputs.display = &display;
  inputs.checkpoints = checkpoints_of(*config);
  const int ready_fd = internal.contains("ready") ? std::atoi(internal["ready"].c_str()) : -1;
  inputs.listening = [&](std::uint16_t port) {
    (void)write_endpoint(paths, {port, ::getpid()});
    if (ready_fd >= 0)
      ::dprintf(ready_fd, "%u\n", static_cast<unsigned>(port));
  };
  auto told = run_master(inputs, stop);
  std::error_code gone;
  std::filesystem::remove_all(paths.run, gone);
  if (!told)
    return complain(told.error().context, told.error().code == Errc::invalid ? exit_usage : exit_failed);
  auto& report = *told;
  report.dir = config->job.dir;
  report.version = TROUPE_VERSION;
  report.config = config_values(*config);
  report.host = this_host();
  if (report.result == "done")
    (void)write_file_atomically(paths.finished, report.model_digest + "\n");
  display.final(report, internal["reference"]);
  if (!options.report.empty())
    if (auto written = write_report(options.report, report); !written)
      return complain(written.error().context, exit_failed);
  return exit_status(report);
}

} // namespace troupe

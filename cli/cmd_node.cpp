// `troupe node`: the agent of one host. Serves until the master stops it or is gone.
#include "actors/node/node_process.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "cli/commands.hpp"
#include "cli/process_setup.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace troupe {

int cmd_node(const NodeOptions& options) {
  auto internal = internal_options(options.internal);
  if (!internal.contains("config"))
    return complain(
      "nodes of several hosts are not in this version; 'troupe run' starts the node of this host",
      exit_usage);
  const int config_fd = std::atoi(internal["config"].c_str());
  auto config = read_config_fd(config_fd);
  if (!config)
    return complain(config.error().context, exit_usage);
  auto worker = worker_program();
  if (!worker)
    return complain(worker.error().context, exit_usage);
  const auto colon = options.master.rfind(':');
  const auto host = options.master.substr(0, colon);
  const int port = colon == std::string::npos ? 0 : std::atoi(options.master.c_str() + colon + 1);
  if (port <= 0 || port > 65535)
    return complain("--master needs HOST:PORT, got '" + options.master + "'", exit_usage);

  std::signal(SIGPIPE, SIG_IGN);
  const JobPaths paths(config->job.dir);
  configure_log("node", LogLevel::info, 2);
  NodeSettings settings;
  settings.config = *config;
  settings.config_fd = config_fd;
  settings.worker_program = *worker;
  settings.log_dir = paths.logs;
  settings.slots = options.slots;
  settings.host = host;
  settings.master_host = host;
  settings.master_port = [&paths] {
    const auto endpoint = read_endpoint(paths);
    return endpoint ? endpoint->port : std::uint16_t{0};
  };
  settings.agent = Incarnation{static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count())};

  NodeStop stop; // for the signal thread, which is made before all others
  SignalThread signals([&](int, int) { stop.request("the node got a signal"); });
  const auto end = run_node(settings, static_cast<std::uint16_t>(port), stop);
  if (!end && end.error().code == Errc::retry_later)
    return complain("no master at " + options.master + ": " + end.error().context, exit_failed);
  return end ? exit_done : exit_failed;
}

} // namespace troupe

// `troupe run`: the whole job on this machine. Checks everything that can be checked before anything starts,
// then watches two kinds of child, the master and the node, passes signals on, and cleans up whatever way it
// ends. Knows nothing of training.
#include "actors/node/process.hpp"
#include "actors/trainer/module.hpp"
#include "cli/chaos_spec.hpp"
#include "cli/commands.hpp"
#include "cli/in_process.hpp"
#include "cli/job_dir.hpp"
#include "cli/job_file.hpp"
#include "cli/process_setup.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

/// How one child ended: its exit code, or 128 + signal.
int end_of(const Process& process) {
  const auto status = reap(process);
  return status.signal != 0 ? 128 + status.signal : status.code;
}

// Ask, wait, kill, reap.
void finish(Process& process, int ask, Duration grace) {
  if (!ended_within(process, Duration{}))
    send_signal(process, ask);
  if (!ended_within(process, grace))
    send_signal(process, SIGKILL);
  (void)reap(process);
}

class Launcher {
public:
  Launcher(const JobConfig& config, const RunOptions& options, std::string job_file)
      : config_(config), options_(options), job_file_(std::move(job_file)), wake_(::eventfd(0, EFD_CLOEXEC)) {
  }

  int run(int config_fd);
  /// From the signal thread.
  void signal(int count) {
    signals_.store(count);
    const std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(wake_.get(), &one, sizeof one);
  }

private:
  result<Process> start_master(int config_fd, UniqueFd& ready);
  result<Process> start_node(int config_fd);
  result<void> wait_ready(const Process& master, int ready);
  void pass_on_signals(const Process& master);
  static bool within_budget(std::deque<Time>& deaths, std::size_t most);
  bool may_restart_master(int status);
  bool restart_master(Process& master, int config_fd, UniqueFd& ready);
  int told(int status) const;

  const JobConfig& config_;
  const RunOptions& options_;
  std::string job_file_;
  UniqueFd wake_;
  std::atomic<int> signals_{0};
  int passed_on_ = 0; ///< of them
  Time asked_at_{};   ///< when the master was asked to end; epoch: it was not
  std::deque<Time> master_deaths_;
  std::deque<Time> node_deaths_;
};

result<Process> Launcher::start_master(int config_fd, UniqueFd& ready) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail_errno(Errc::exhausted, "make a pipe", errno);
  ready = UniqueFd{ends[0]};
  UniqueFd write_end{ends[1]};
  SpawnSpec spec;
  spec.program = own_program();
  spec.arguments = {"master",     job_file_,
                    "--internal", fmt::format("config={}", config_fd),
                    "--internal", fmt::format("ready={}", write_end.get()),
                    "--internal", fmt::format("quiet={}", options_.quiet ? 1 : 0)};
  if (!options_.compare.empty()) {
    TROUPE_ASSIGN(const auto undisturbed, read_report(options_.compare));
    spec.arguments.insert(spec.arguments.end(), {"--internal", "reference=" + undisturbed.model_digest});
  }
  for (const auto& sentence : options_.chaos)
    spec.arguments.insert(spec.arguments.end(), {"--chaos", sentence});
  if (!options_.report.empty())
    spec.arguments.insert(spec.arguments.end(), {"--report", options_.report});
  if (!options_.events.empty())
    spec.arguments.insert(spec.arguments.end(), {"--events", options_.events});
  spec.inherit = {config_fd, write_end.get()};
  return spawn(spec, SIGTERM);
}

result<Process> Launcher::start_node(int config_fd) {
  const JobPaths paths(config_.job.dir);
  TROUPE_ASSIGN(const auto door, read_endpoint(paths)); // each life of the master's door has another port
  UniqueFd log{::open((paths.logs + "/node.log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644)};
  SpawnSpec spec;
  spec.program = own_program();
  spec.arguments = {"node",
                    "--master",
                    fmt::format("127.0.0.1:{}", door.port),
                    "--slots",
                    std::to_string(config_.workers.max),
                    "--internal",
                    fmt::format("config={}", config_fd)};
  spec.inherit = {config_fd};
  spec.output = log.get();
  return spawn(spec, SIGTERM);
}

void Launcher::pass_on_signals(const Process& master) {
  std::uint64_t n = 0;
  [[maybe_unused]] const auto r = ::read(wake_.get(), &n, sizeof n);
  passed_on_ = signals_.load();
  send_signal(master, passed_on_ > 1 ? SIGKILL : SIGTERM);
  asked_at_ = monotonic_now();
}

// Errc::peer_lost when the master ended before it listened. As long as it takes: it may have data to read and
// checkpoints to verify; a signal ends it.
result<void> Launcher::wait_ready(const Process& master, int ready) {
  char text[16] = {};
  for (;;) {
    pollfd fds[] = {{ready, POLLIN, 0}, {master.pidfd.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (::poll(fds, 3, -1) < 0)
      continue;
    if (fds[2].revents != 0)
      pass_on_signals(master);
    if ((fds[0].revents & POLLIN) != 0 && ::read(ready, text, sizeof text) > 0)
      return {};
    if (fds[1].revents != 0)
      return fail(Errc::peer_lost, "the master ended before it listened");
  }
}

// How often a child may die before the job is given up, so that one that cannot live is not started for ever.
bool Launcher::within_budget(std::deque<Time>& deaths, std::size_t most) {
  constexpr auto window = std::chrono::seconds(10);
  const auto now = monotonic_now();
  deaths.push_back(now);
  while (now - deaths.front() > window)
    deaths.pop_front();
  return deaths.size() <= most;
}

// It continues from its journal, and nodes and workers go on meanwhile. Only a kill is answered so: a master that exits
// has said why.
bool Launcher::may_restart_master(int status) {
  return signals_.load() == 0 && status > 128 && status != exit_interrupted && within_budget(master_deaths_, 20);
}

bool Launcher::restart_master(Process& master, int config_fd, UniqueFd& ready) {
  std::fprintf(stderr, "troupe: the master was killed; starting it again\n");
  auto again = start_master(config_fd, ready);
  if (again)
    master = std::move(*again);
  return again.has_value();
}

// The exit status of the job, after the master's end; what it could not say itself is said here.
int Launcher::told(int status) const {
  if (status <= 128 || status == exit_interrupted) // 130 is the master's own word
    return status;
  const std::string hint = "the same command with --resume goes on from the newest checkpoint";
  if (passed_on_ > 0)
    return complain("interrupted; " + hint, exit_interrupted);
  return complain(fmt::format("the master was killed by signal {}; {}", status - 128, hint), exit_failed);
}

int Launcher::run(int config_fd) {
  UniqueFd ready;
  auto master = start_master(config_fd, ready);
  if (!master)
    return complain(master.error().context, exit_failed);
  while (!wait_ready(*master, ready.get()))
    if (const int status = end_of(*master); !may_restart_master(status) || !restart_master(*master, config_fd, ready))
      return told(status);
  auto node = start_node(config_fd);
  if (!node) {
    finish(*master, SIGTERM, config_.limits.stop);
    return complain(node.error().context, exit_failed);
  }
  std::optional<Process> agent = std::move(*node);
  Time node_left{}; ///< when a node ended that may have been told to; epoch: none did
  bool node_gave_up = false;
  int status = 0;
  for (;;) {
    if (ended_within(*master, Duration{})) {
      status = end_of(*master);
      if (asked_at_ != Time{} || !may_restart_master(status) || !restart_master(*master, config_fd, ready))
        break;
      (void)wait_ready(*master, ready.get()); // its end is seen above
      continue;
    }
    pollfd fds[] = {{master->pidfd.get(), POLLIN, 0},
                    {agent ? agent->pidfd.get() : -1, POLLIN, 0},
                    {wake_.get(), POLLIN, 0}};
    const int limit = asked_at_ == Time{} && agent ? -1 : 50;
    if (::poll(fds, 3, limit) < 0)
      continue;
    if (asked_at_ != Time{} && monotonic_now() - asked_at_ > 2 * config_.limits.stop + std::chrono::seconds(2))
      send_signal(*master, SIGKILL); // it was asked long enough ago
    if (fds[2].revents != 0)
      pass_on_signals(*master);
    if (agent && fds[1].revents != 0) {
      node_left = end_of(*agent) == 0 ? monotonic_now() : Time{};
      agent.reset();
    }
    // At the end of a job the node goes first, in order. A node that died, or left though the job goes on, is replaced.
    if (agent || asked_at_ != Time{} || fds[0].revents != 0 || monotonic_now() - node_left < config_.limits.stop)
      continue;
    std::fprintf(stderr, "troupe: the node process ended; starting it again\n");
    node_left = {};
    if (within_budget(node_deaths_, 5))
      if (auto again = start_node(config_fd))
        agent = std::move(*again);
    if (!agent) {
      node_gave_up = true;
      asked_at_ = monotonic_now();
      send_signal(*master, SIGTERM);
    }
  }
  if (agent)
    finish(*agent, SIGTERM, config_.limits.stop + std::chrono::seconds(2));
  if (node_gave_up && status != exit_done)
    return complain("the node process is gone, and so are its workers; " + config_.job.dir +
                      "/logs/node.log says why. The same command with --resume goes on from the newest checkpoint",
                    exit_failed);
  return told(status);
}

StartMode start_mode(const RunOptions& o) {
  return o.resume          ? StartMode::resume
         : o.fresh         ? StartMode::fresh
         : o.resume_if_any ? StartMode::resume_if_any
                           : StartMode::normal;
}

// Why a file cannot be written there, found before the training and not after it; empty: it can.
std::string unwritable(const std::string& path) {
  if (path.empty())
    return {};
  std::error_code error;
  const std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, error))
    return "is a directory";
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? "" : fmt::format("{}: {}", folder.string(), std::strerror(errno));
}

} // namespace

int cmd_run(const RunOptions& options) {
  JobFileOptions parse;
  parse.overrides = options.set;
  parse.workers = options.workers;
  parse.module_dirs = module_directories();
  auto job = load_job(options.job_file, parse);
  if (!job) {
    std::fprintf(stderr, "%s\n", render(job.error()).c_str());
    return exit_usage;
  }
  const auto& config = job->config;
  if (auto faults = read_faults(options.chaos); !faults) {
    std::fprintf(stderr, "%s\n", render(faults.error()).c_str());
    return exit_usage;
  }
  if (auto module = Module::load(config.job.module); !module) {
    std::fprintf(stderr, "%s\n", render(job->error_at("job.module", module.error().context)).c_str());
    return exit_usage;
  }
  if (const auto why = unwritable(options.report); !why.empty())
    return complain("--report " + options.report + ": " + why, exit_usage);
  if (options.nodes != 1)
    return complain("several nodes are not in this version: leave out --nodes", exit_usage);
  if (options.in_process)
    return run_job_in_process(*job, options);
  if (auto worker = worker_program(); !worker)
    return complain(worker.error().context, exit_usage);

  Launcher launcher(config, options, options.job_file);
  SignalThread signals([&](int, int count) { launcher.signal(count); });
  const auto owned = own_job_dir(config, start_mode(options));
  if (!owned)
    return complain(owned.error().context, exit_usage);
  auto fd = config_memfd(config);
  if (!fd)
    return complain(fd.error().context, exit_failed);
  const int status = launcher.run(fd->get());
  clean_job_dir(config);
  return status;
}

} // namespace troupe

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
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

namespace {

/// How one child ended: its exit code, or 128 + signal.
int reap(const Process& process) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

bool ended(const Process& process, Duration within) {
  pollfd fd{process.pidfd.get(), POLLIN, 0};
  return ::poll(&fd, 1,
                static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(within).count())) == 1;
}

// Ask, wait, kill, reap.
void finish(Process& process, int ask, Duration grace) {
  if (!ended(process, Duration{}))
    ::kill(process.pid, ask);
  if (!ended(process, grace))
    ::kill(process.pid, SIGKILL);
  reap(process);
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
  result<Process> start_node(int config_fd, int port);
  result<int> wait_ready(const Process& master, int ready);

  const JobConfig& config_;
  const RunOptions& options_;
  std::string job_file_;
  UniqueFd wake_;
  std::atomic<int> signals_{0};
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

result<Process> Launcher::start_node(int config_fd, int port) {
  const JobPaths paths(config_.job.dir);
  UniqueFd log{::open((paths.logs + "/node.log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644)};
  SpawnSpec spec;
  spec.program = own_program();
  spec.arguments = {"node",
                    "--master",
                    fmt::format("127.0.0.1:{}", port),
                    "--slots",
                    std::to_string(config_.workers.max),
                    "--internal",
                    fmt::format("config={}", config_fd)};
  spec.inherit = {config_fd};
  spec.output = log.get();
  return spawn(spec, SIGTERM);
}

// The port, or Errc::peer_lost when the master ended before it listened.
result<int> Launcher::wait_ready(const Process& master, int ready) {
  char text[16] = {};
  for (;;) {
    pollfd fds[] = {{ready, POLLIN, 0}, {master.pidfd.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0)
      continue;
    if ((fds[0].revents & POLLIN) != 0 && ::read(ready, text, sizeof text - 1) > 0)
      return std::atoi(text);
    if (fds[1].revents != 0)
      return fail(Errc::peer_lost, "the master ended before it listened");
  }
}

int Launcher::run(int config_fd) {
  UniqueFd ready;
  auto master = start_master(config_fd, ready);
  if (!master)
    return complain(master.error().context, exit_failed);
  auto port = wait_ready(*master, ready.get());
  if (!port)
    return reap(*master); // it said why
  auto node = start_node(config_fd, *port);
  if (!node) {
    finish(*master, SIGTERM, config_.limits.stop);
    return complain(node.error().context, exit_failed);
  }
  bool node_here = true;
  int asked = 0;
  Time asked_at{};
  int restarts = 0;
  while (!ended(*master, Duration{})) {
    pollfd fds[] = {{master->pidfd.get(), POLLIN, 0},
                    {node_here ? node->pidfd.get() : -1, POLLIN, 0},
                    {wake_.get(), POLLIN, 0}};
    const int limit = asked_at == Time{} ? -1 : 100;
    if (::poll(fds, 3, limit) < 0)
      continue;
    if (asked_at != Time{} && monotonic_now() - asked_at > 2 * config_.limits.stop + std::chrono::seconds(2))
      ::kill(master->pid, SIGKILL); // it was asked long enough ago
    if (fds[2].revents != 0) {
      std::uint64_t n = 0;
      [[maybe_unused]] auto r = ::read(wake_.get(), &n, sizeof n);
      ::kill(master->pid, signals_.load() > 1 ? SIGKILL : SIGTERM);
      asked = signals_.load();
      asked_at = monotonic_now();
    }
    if (node_here && fds[1].revents != 0) {
      const int code = reap(*node);
      node_here = false;
      if (ended(*master, config_.limits.stop))
        break;
      if (asked == 0 && code != 0 && ++restarts <= 3) {
        std::fprintf(stderr, "troupe: the node process ended (%d); starting it again\n", code);
        if (auto again = start_node(config_fd, *port)) {
          *node = std::move(*again);
          node_here = true;
          continue;
        }
      }
      std::fprintf(stderr, "troupe: the node process is gone\n");
      asked_at = monotonic_now();
      ::kill(master->pid, SIGTERM);
    }
  }
  const int status = reap(*master);
  if (node_here)
    finish(*node, SIGTERM, config_.limits.stop + std::chrono::seconds(2));
  if (status > 128 && status != exit_interrupted) // 130 is the master's own word
    return complain(
      fmt::format("the master was killed by signal {}; the same command with --resume goes on from the "
                  "newest checkpoint",
                  status - 128),
      asked > 0 ? exit_interrupted : exit_failed);
  return status;
}

StartMode start_mode(const RunOptions& o) {
  return o.resume          ? StartMode::resume
         : o.fresh         ? StartMode::fresh
         : o.resume_if_any ? StartMode::resume_if_any
                           : StartMode::normal;
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
  if (options.nodes != 1)
    return complain("several nodes are not in this version: leave out --nodes", exit_usage);
  if (options.in_process)
    return run_job_in_process(*job, options);
  if (auto worker = worker_program(); !worker)
    return complain(worker.error().context, exit_usage);

  Launcher launcher(config, options, options.job_file);
  SignalThread signals([&](int, int count) { launcher.signal(count); });
  auto prepared = prepare_job_dir(config, start_mode(options));
  if (!prepared)
    return complain(prepared.error().context, exit_usage);
  auto fd = config_memfd(config);
  if (!fd)
    return complain(fd.error().context, exit_failed);
  const int status = launcher.run(fd->get());
  clean_job_dir(config);
  return status;
}

} // namespace troupe

#include "bench/master_death.hpp"

#include "actors/control_client.hpp"
#include "bench/run_job.hpp"
#include "cli/process_setup.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <csignal>
#include <poll.h>

namespace troupe::bench {

namespace {

constexpr auto back_patience = std::chrono::seconds(10);
constexpr auto half = std::chrono::milliseconds(500);
constexpr double promised_ratio = 0.9;
constexpr double promised_back_ms = 500;

void wait_until(Time time) {
  for (auto left = time - monotonic_now(); left > Duration{}; left = time - monotonic_now())
    ::poll(nullptr, 0, static_cast<int>(to_ms(left)) + 1);
}

/// Steps per second of one span of time.
class Span {
public:
  explicit Span(const RunningJob& job) : job_(job), steps_(job.steps()), began_(monotonic_now()) {}
  double per_second() const {
    return static_cast<double>(job_.steps() - steps_) / (to_ms(monotonic_now() - began_) / 1e3);
  }

private:
  const RunningJob& job_;
  std::uint64_t steps_;
  Time began_;
};

/// Returns the master's term when it listens as another process than `before`, and has heard of all workers.
result<std::uint64_t> in_charge(const JobPaths& paths, std::int64_t before, std::uint32_t workers) {
  const auto until = monotonic_now() + back_patience;
  while (monotonic_now() < until) {
    ::poll(nullptr, 0, 2);
    const auto endpoint = read_endpoint(paths);
    if (!endpoint || endpoint->pid == before)
      continue;
    const auto reply = ask_master("127.0.0.1", endpoint->port, {"status", {}}, std::chrono::seconds(1));
    const auto status = reply ? parse_status(reply->json) : result<StatusView>(fail(Errc::retry_later, ""));
    if (!status)
      continue;
    std::uint32_t heard = 0;
    for (const auto& node : status->nodes)
      heard += node.heartbeat_ms >= 0 ? node.used : 0;
    if (heard == workers)
      return status->term;
  }
  return fail(Errc::deadline, fmt::format("no master was in charge {} s after a kill", back_patience.count()));
}

} // namespace

result<BenchReport> master_death(const BenchOptions& options, const std::function<void(const std::string&)>& show) {
  auto file = options.job;
  if (file.empty()) {
    TROUPE_ASSIGN(file, example_job());
  }
  Scratch scratch("bench-master");
  JobRun run;
  run.job_file = file;
  run.words = {"--workers", std::to_string(options.workers), "--set", "job.epochs=0", "--set", "job.steps=1000000000",
               "--set", "evaluation.every=never", "--set", "checkpoint.every=never"};
  TROUPE_ASSIGN(const auto job, RunningJob::start(scratch, run, options.workers));
  const JobPaths paths(scratch.path() + "/job");
  const auto generation = job->generation();

  const auto kills = options.quick ? 3u : options.kills;
  std::vector<double> around, normal, back;
  TROUPE_ASSIGN(auto term, in_charge(paths, 0, options.workers));
  for (std::uint32_t k = 0; k <= kills; ++k) {
    show(fmt::format("master killed: {} of {}", k, kills));
    const Span calm(*job);
    wait_until(monotonic_now() + 2 * half);
    normal.push_back(calm.per_second());
    if (k == kills)
      break;
    TROUPE_ASSIGN(const auto master, read_endpoint(paths));
    const Span span(*job);
    const auto killed = monotonic_now() + half;
    wait_until(killed);
    ::kill(static_cast<pid_t>(master.pid), SIGKILL);
    TROUPE_ASSIGN(const auto next, in_charge(paths, master.pid, options.workers));
    back.push_back(to_ms(monotonic_now() - killed));
    wait_until(killed + half);
    around.push_back(span.per_second());
    if (next <= term)
      return fail(Errc::exhausted, fmt::format("term {} was followed by term {}", term, next));
    term = next;
    if (job->generation() != generation)
      return fail(Errc::exhausted, fmt::format("kill {} of the master ended generation {}", k + 1, generation));
  }
  if (!job->workers_live())
    return fail(Errc::exhausted, "a worker process did not outlive the master");
  show("");

  std::vector<double> ratios;
  for (std::size_t k = 0; k < around.size(); ++k)
    ratios.push_back(2 * around[k] / (normal[k] + normal[k + 1]));
  BenchReport report{"master", {}, {}};
  BenchRow speed{"master killed", "steps_ratio", median(ratios)};
  speed.bound = promised_ratio;
  speed.met = speed.value >= promised_ratio;
  speed.note = fmt::format("second around a kill against the two beside it, {:.0f} steps/s; one in 20 below {:.2f}",
                           median(normal), percentile(ratios, 0.05));
  report.rows.push_back(std::move(speed));
  auto row = spread_row("master killed", "back_ms", back);
  row.bound = promised_back_ms;
  row.met = *row.p99 <= promised_back_ms;
  row.note = fmt::format("kill to in charge, {} kills; workers kept processes and generation", kills);
  report.rows.push_back(std::move(row));
  return report;
}

} // namespace troupe::bench

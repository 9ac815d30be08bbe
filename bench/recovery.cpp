#include "bench/recovery.hpp"

#include "bench/run_job.hpp"
#include "bench/torchrun.hpp"
#include "cli/job_file.hpp"
#include "troupe/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace troupe::bench {

namespace {

struct KillCase {
  std::string name;
  std::string job;
  std::string hold;
  std::uint64_t spacing; ///< steps between two kills
  double p50_ms;         ///< promised
  double p99_ms;         ///< 0: not promised
  std::uint32_t kills;
  std::vector<std::string> more;
};

/// One kill every `spacing` steps, give or take a third, of a random rank (not the last: it may be gone just
/// then).
result<std::uint64_t> write_kills(const std::string& path, const KillCase& c, std::uint32_t workers) {
  std::ofstream out(path);
  Random random(1, "bench recovery " + c.name);
  std::uint64_t step = 100;
  for (std::uint32_t k = 0; k < c.kills; ++k) {
    step += c.spacing - c.spacing / 3 + random.below(2 * c.spacing / 3 + 1);
    out << fmt::format("kill worker {} at step {}\n", random.below(std::max(workers, 2u) - 1), step);
  }
  if (!out.flush())
    return fail(Errc::exhausted, "cannot write " + path);
  return step + c.spacing;
}

constexpr std::pair<const char*, double RecoveryTimes::*> phases[] = {
  {"detect_ms", &RecoveryTimes::detect},         {"abort_ms", &RecoveryTimes::abort},
  {"drain_ms", &RecoveryTimes::drain},           {"plan_ms", &RecoveryTimes::plan},
  {"connect_ms", &RecoveryTimes::connect},       {"restore_ms", &RecoveryTimes::restore},
  {"first_step_ms", &RecoveryTimes::first_step},
};

result<void> measure(const KillCase& c, const BenchOptions& options, BenchReport& report) {
  Scratch scratch("bench-recovery");
  const auto chaos = scratch.path() + "/kills";
  TROUPE_ASSIGN(const auto steps, write_kills(chaos, c, options.workers));
  JobRun run;
  run.job_file = c.job;
  run.words = {
    "--workers", std::to_string(options.workers),    "--chaos", chaos,
    "--set",     fmt::format("job.steps={}", steps), "--set",   "job.epochs=0",
    "--set",     "recovery.hold=" + c.hold,          "--set",   "recovery.budget_signal=1000000 per 1s",
    "--set",     "evaluation.every=never",           "--set",   "checkpoint.every=never"};
  run.words.insert(run.words.end(), c.more.begin(), c.more.end());
  TROUPE_ASSIGN(const auto done, run_job(scratch, run));
  std::vector<double> totals;
  for (const auto& f : done.failures)
    if (f.recovered && f.ms.total > 0)
      totals.push_back(f.ms.total);
  if (totals.empty())
    return fail(Errc::exhausted, fmt::format("case {}: no kill was recovered from", c.name));
  auto row = spread_row(c.name, "total_ms", totals);
  row.bound = c.p50_ms;
  row.met = *row.p50 <= c.p50_ms && (c.p99_ms <= 0 || *row.p99 <= c.p99_ms);
  row.note = fmt::format("{} kills; promised p50{}", totals.size(),
                         c.p99_ms > 0 ? fmt::format(" (and p99 {:.0f} ms)", c.p99_ms) : "");
  report.rows.push_back(std::move(row));
  for (const auto& [metric, phase] : phases) {
    std::vector<double> values;
    for (const auto& f : done.failures)
      if (f.recovered && f.ms.total > 0)
        values.push_back(f.ms.*phase);
    report.rows.push_back(spread_row(c.name, metric, values));
  }
  if (totals.size() < c.kills)
    report.notes.push_back(fmt::format("case {}: {} of {} kills struck a worker that was in a generation",
                                       c.name, totals.size(), c.kills));
  return {};
}

/// torchrun beside the rows that promise the same thing: the next step after a worker was killed.
void add_torchrun(const BenchOptions& options, BenchReport& report) {
  const auto times = torchrun_recovery(options.workers, 5);
  if (!times) {
    report.notes.push_back("torchrun left out: " + times.error().context);
    return;
  }
  for (auto& row : report.rows)
    if (row.metric == "total_ms" && (row.name == "hold" || row.name == "shrink")) {
      add_peer(row, "torchrun", median(times->by_default), true);
      add_peer(row, "torchrun 0.1s", median(times->monitor_100ms), true);
    }
  const auto range = [](const std::vector<double>& ms) {
    const auto [least, most] = std::minmax_element(ms.begin(), ms.end());
    return fmt::format("{} kills, {:.0f} to {:.0f} ms", ms.size(), *least, *most);
  };
  report.notes.push_back(fmt::format("torchrun of torch {}: {}; with --monitor-interval 0.1: {}",
                                     times->torch, range(times->by_default), range(times->monitor_100ms)));
}

/// A job whose trainer takes 3 s to build and about 1 ms a step (tests/modules/paced.cpp), with the data of
/// `job`.
result<std::string> slow_job(const Scratch& scratch, const std::string& job) {
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const auto module = here / "tests/modules/libpaced.so";
  if (!std::filesystem::exists(module, ignored))
    return fail(Errc::unsupported, "it needs libpaced.so of the tests, which are not built here");
  JobFileOptions parse;
  parse.module_dirs = module_directories();
  const auto file = load_job(job, parse);
  if (!file)
    return fail(Errc::invalid, render(file.error()));
  const auto path = scratch.path() + "/slow.toml";
  std::ofstream out(path);
  out << fmt::format(
    "[job]\nname = \"slow\"\nmodule = \"{}\"\nsteps = 1\n[workers]\nvirtual = 8\n[data]\npath = "
    "\"{}\"\n[trainer]\nbuild_ms = 3000\ngradient_us = 250\n",
    module.string(), file->config.data.path);
  if (!out.flush())
    return fail(Errc::exhausted, "cannot write " + path);
  return path;
}

} // namespace

result<BenchReport> recovery(const BenchOptions& options,
                             const std::function<void(const std::string&)>& show) {
  auto job = options.job;
  if (job.empty()) {
    TROUPE_ASSIGN(job, example_job());
  }
  const auto kills = options.quick ? options.kills / 30 + 1 : options.kills;
  const auto few = options.quick ? 2u : std::min(10u, options.kills);
  // Far enough apart that a replacement is back before the next kill.
  std::vector<KillCase> cases = {
    {"hold", job, "5s", 120, 50, 200, kills, {}},
    {"shrink", job, "0s", 300, 20, 80, kills, {}},
  };
  BenchReport report{"recovery", {}, {}};
  const Scratch scratch("bench-recovery-job");
  if (const auto slow = slow_job(scratch, job))
    cases.push_back({"shrink build=3s", *slow, "0s", 3000, 20, 0, few, {}});
  else
    report.notes.push_back("shrink build=3s left out: " + slow.error().context);
  for (const auto& c : cases) {
    show(fmt::format("{}: {} kills", c.name, c.kills));
    TROUPE_TRY(measure(c, options, report));
  }
  if (options.quick) {
    report.notes.emplace_back("torchrun left out: a quick run");
  } else {
    show("torchrun: 5 kills each");
    add_torchrun(options, report);
  }
  show("");
  return report;
}

} // namespace troupe::bench

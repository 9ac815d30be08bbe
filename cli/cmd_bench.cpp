// `troupe bench NAME`: measures, prints a table, writes rows as JSON. What is measured and how stands in
// bench/.
#include "bench/bench.hpp"
#include "bench/detect.hpp"
#include "bench/master_death.hpp"
#include "bench/overhead.hpp"
#include "bench/recovery.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

namespace troupe {

namespace {

using bench::BenchReport;

/// A line on standard error that is redrawn on a terminal and silent elsewhere.
void show(const std::string& text) {
  if (::isatty(STDERR_FILENO) == 1)
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
}

result<BenchReport> detect(const BenchOptions& options) {
  bench::DetectOptions what;
  what.ranks = options.workers;
  what.small_kills = what.computing_kills = options.quick ? options.kills / 10 + 1 : options.kills;
  what.ballast_kills = options.quick ? 3 : what.ballast_kills;
  if (options.quick)
    what.ballast_bytes = 256ull << 20;
  what.progress = [](const std::string& name, std::uint32_t done, std::uint32_t total) {
    show(fmt::format("{}  {}/{}", name, done, total));
    return true;
  };
  TROUPE_ASSIGN(const auto cases, bench::run_detect(what));
  show("");
  BenchReport report{"detect", {}, {}};
  for (const auto& one : cases) {
    if (!one.skipped.empty()) {
      report.notes.push_back(fmt::format("{} left out: {}", one.name, one.skipped));
      continue;
    }
    std::vector<double> free, seen;
    for (const auto& sample : one.samples) {
      free.push_back(to_ms(sample.free));
      seen.push_back(to_ms(sample.seen));
    }
    auto row = bench::spread_row(one.name, "free_ms", free);
    const bool p50_met = one.bar_p50_ms <= 0 || *row.p50 <= one.bar_p50_ms;
    if (one.bar_p99_ms > 0)
      row.bound = one.bar_p99_ms;
    row.met = p50_met && (!row.bound || *row.p99 <= *row.bound);
    row.note = fmt::format("kill to last of {} survivors free; promised p99{}", one.survivors,
                           one.bar_p50_ms > 0 ? fmt::format(" (and p50 {} ms)", one.bar_p50_ms) : "");
    report.rows.push_back(std::move(row));
    report.rows.push_back(bench::spread_row(one.name, "seen_ms", seen));
  }
  return report;
}

} // namespace

int cmd_bench(const BenchOptions& options) {
  auto report = options.name == "detect"     ? detect(options)
                : options.name == "master"   ? bench::master_death(options, show)
                : options.name == "recovery" ? bench::recovery(options, show)
                                             : bench::overhead(options, show);
  if (report)
    if (auto done = bench::publish(*report, options.json); !done)
      report = tl::make_unexpected(done.error());
  if (report)
    return exit_done;
  std::fprintf(stderr, "troupe bench %s: %s\n", options.name.c_str(), report.error().context.c_str());
  return report.error().code == Errc::invalid || report.error().code == Errc::unsupported ? exit_usage
                                                                                          : exit_failed;
}

} // namespace troupe

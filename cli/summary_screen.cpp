#include "cli/screen.hpp"
#include "cli/table.hpp"
#include "cli/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::size_t most_failures = 12;

/// Below a hundred with one digit after the point, as in the progress of a recovery.
std::string ms(double value) {
  return value >= 100 ? with_commas(static_cast<std::uint64_t>(value + 0.5)) : fmt::format("{:.1f}", value);
}

std::string number_of(std::uint64_t n, std::string_view thing) {
  return fmt::format("{} {}{}", with_commas(n), thing, n == 1 ? "" : "s");
}

std::string metric_text(const std::string& name, double value) {
  if (name.find("accuracy") != std::string::npos && value >= 0 && value <= 1)
    return fmt::format("{:.1f} %", value * 100);
  return fmt::format("{:.4g}", value);
}

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string used_text(const RunReport& r) {
  if (r.samples_by_count.empty())
    return {};
  if (r.samples_by_count.size() == 1 && r.samples_by_count.begin()->first == 1)
    return ", each exactly once per epoch";
  std::string text = ", NOT each once per epoch:";
  for (const auto& [count, samples] : r.samples_by_count)
    text += fmt::format(" {} {}", with_commas(samples),
                        count == 0   ? "never"
                        : count == 1 ? "once"
                                     : fmt::format("{} times", count));
  return text;
}

std::string goodput_text(const Goodput& g) {
  if (!(g.total > 0))
    return {};
  const auto percent = [&](double part) { return 100 * part / g.total; };
  const double recover = g.recompute + g.detect + g.reconfigure + g.reload + g.rebalance + g.repair;
  const double rest = g.redundancy + g.spare_idle + g.notice_drain + g.queue;
  std::string text = fmt::format("useful {:.1f} %  start {:.1f} %", percent(g.useful), percent(g.startup));
  const auto add = [&](std::string_view name, double part, bool always) {
    if (always || percent(part) >= 0.05)
      text += fmt::format("  {} {:.1f} %", name, percent(part));
  };
  add("evaluation", g.evaluation, false);
  add("recover", recover, true);
  add("checkpoint", g.checkpoint, true);
  add("waiting", g.straggler_wait, false);
  add("paused", g.pause, false);
  add("other", rest, false);
  return text;
}

std::string digest_text(const RunReport& r, std::string_view reference) {
  if (r.model_digest.empty())
    return {};
  auto text = fmt::format("model digest  {}", r.model_digest);
  if (!reference.empty())
    text += r.model_digest == reference ? "  (undisturbed run: the same)"
                                        : fmt::format("  (undisturbed run: {}, ANOTHER MODEL)", reference);
  return text;
}

std::string percentiles(const std::vector<FailureRow>& failures) {
  std::vector<double> totals;
  for (const auto& f : failures)
    if (f.recovered && f.ms.total > 0)
      totals.push_back(f.ms.total);
  if (totals.empty())
    return {};
  std::sort(totals.begin(), totals.end());
  const auto at = [&](double q) {
    return totals[static_cast<std::size_t>(q * static_cast<double>(totals.size() - 1) + 0.5)];
  };
  return fmt::format("recovery time p50 {} ms, p99 {} ms, longest {} ms", ms(at(0.5)), ms(at(0.99)),
                     ms(totals.back()));
}

std::string failure_table(const RunReport& r) {
  using Align = TextTable::Align;
  TextTable table({{"what"},
                   {"at step", Align::right},
                   {"resumed", Align::right},
                   {"state from"},
                   {"total", Align::right},
                   {"detect", Align::right},
                   {"abort", Align::right},
                   {"drain", Align::right},
                   {"plan", Align::right},
                   {"connect", Align::right},
                   {"restore", Align::right},
                   {"first step", Align::right}});
  const auto shown = std::min(r.failures.size(), most_failures);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& f = r.failures[i];
    if (f.recovered && f.ms.total > 0) // one that died in no generation held nobody up
      table.row(
        {failure_summary(f), with_commas(f.step), with_commas(f.resumed_step), f.restore_source,
         fmt::format("{} ms", f.ms.total >= 1 ? with_commas(static_cast<std::uint64_t>(f.ms.total + 0.5))
                                              : ms(f.ms.total)),
         ms(f.ms.detect), ms(f.ms.abort), ms(f.ms.drain), ms(f.ms.plan), ms(f.ms.connect), ms(f.ms.restore),
         ms(f.ms.first_step)});
    else
      table.row({failure_summary(f), with_commas(f.step), "-", "-", "-", "", "", "", "", "", "", ""});
  }
  auto text = table.text(4);
  if (shown < r.failures.size())
    text += fmt::format("    and {} more\n", with_commas(r.failures.size() - shown));
  return text;
}

} // namespace

std::string summary_screen(const RunReport& r, std::string_view reference, const ScreenStyle& style) {
  const auto title = style.colour ? fmt::format("\x1b[1m{}\x1b[0m", r.job) : r.job;
  const auto outcome = r.result == "done"      ? std::string("finished")
                       : r.result == "stopped" ? "stopped in order"
                                               : r.result;
  std::string text = fmt::format("{} {}: {}, {}, {}{}\n", title, outcome, number_of(r.steps, "step"),
                                 number_of(r.epochs, "epoch"), number_of(r.samples, "sample"), used_text(r));
  const auto line = [&](std::string_view label, const std::string& value, const std::string& more = {}) {
    auto row = more.empty() ? fmt::format("  {:<16}  {}", label, value)
                            : fmt::format("  {:<16}  {:<14}  {}", label, value, more);
    row.erase(row.find_last_not_of(' ') + 1);
    text.append(row).append("\n");
  };
  auto digest = digest_text(r, reference);
  for (const auto& [name, value] : r.metrics) {
    line(words(name), metric_text(name, value), digest);
    digest.clear();
  }
  if (!digest.empty())
    line("model digest", digest.substr(std::string_view("model digest  ").size()));
  line("wall time", human_seconds(r.wall_s), goodput_text(r.goodput));

  const auto recovered = static_cast<std::uint64_t>(
    std::count_if(r.failures.begin(), r.failures.end(), [](const FailureRow& f) { return f.recovered; }));
  if (r.failures.empty()) {
    line("failures", "none");
  } else {
    line("failures", fmt::format("{} of {} recovered, {} redone", with_commas(recovered),
                                 with_commas(r.failures.size()), number_of(r.steps_redone, "step")));
    if (r.failures.size() > most_failures)
      line("", percentiles(r.failures));
    text += failure_table(r);
  }
  if (r.skipped > 0)
    line("skipped", fmt::format("{} with values that were not finite", number_of(r.skipped, "step")));
  if (!r.checkpoints.empty()) {
    const auto newest = std::max_element(r.checkpoints.begin(), r.checkpoints.end(),
                                         [](const auto& a, const auto& b) { return a.step < b.step; });
    line("checkpoints", fmt::format("{} written, newest step {}{}", with_commas(r.checkpoints.size()),
                                    with_commas(newest->step), newest->verified ? ", verified" : ""));
  }
  for (const auto& mode : r.modes)
    line("mode", mode);
  std::size_t unfired = 0;
  for (const auto& fault : r.faults)
    if (fault.armed && !fault.fired && !fault.exempt)
      line(unfired++ == 0 ? "never happened" : "", fault.spec);
  if (r.result == "stopped" || r.result == "interrupted")
    line("go on with", "the same command and --resume");
  return text;
}

} // namespace troupe

#include "cli/screen.hpp"

#include "cli/table.hpp"
#include "cli/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <ctime>

namespace troupe {

namespace {

constexpr std::string_view dim = "\x1b[2m", bold = "\x1b[1m", red = "\x1b[31m", yellow = "\x1b[33m",
                           plain = "\x1b[0m";

std::string painted(std::string_view text, std::string_view colour, const ScreenStyle& style) {
  return style.colour ? fmt::format("{}{}{}", colour, text, plain) : std::string(text);
}

std::string count_of(std::uint64_t n, std::string_view thing) {
  return fmt::format("{} {}{}", with_commas(n), thing, n == 1 ? "" : "s");
}

std::string bar(double part, std::size_t cells, bool utf8) {
  part = std::clamp(part, 0.0, 1.0);
  if (!utf8) {
    const auto full = static_cast<std::size_t>(part * static_cast<double>(cells));
    return fmt::format("[{}{}]", std::string(full, '#'), std::string(cells - full, ' '));
  }
  constexpr std::array<std::string_view, 8> parts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(part * static_cast<double>(cells * 8));
  std::string text = "▕";
  for (std::size_t i = 0; i < eighths / 8; ++i)
    text += "█";
  text += parts[eighths % 8];
  text.append(cells - eighths / 8 - (eighths % 8 > 0 ? 1 : 0), ' ');
  return text.append("▏");
}

std::string rate_text(double per_s) {
  if (per_s >= 100)
    return fmt::format("{} steps/s", with_commas(static_cast<std::uint64_t>(per_s + 0.5)));
  return per_s >= 1 ? fmt::format("{:.1f} steps/s", per_s) : fmt::format("{:.3f} steps/s", per_s);
}

std::string ms_text(double ms) {
  return ms >= 100 ? with_commas(static_cast<std::uint64_t>(ms + 0.5)) : fmt::format("{:.1f}", ms);
}

} // namespace

std::string human_seconds(double s) {
  if (!(s > 0))
    return "0 s";
  if (s < 0.01)
    return fmt::format("{:.1f} ms", s * 1e3);
  if (s < 1)
    return fmt::format("{:.0f} ms", s * 1e3);
  if (s < 10)
    return fmt::format("{:.1f} s", s);
  const auto whole = static_cast<std::uint64_t>(s + 0.5);
  if (whole < 120)
    return fmt::format("{} s", whole);
  if (whole < 7200)
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

namespace {
/// Whole seconds, so that the line does not flicker.
std::string eta_text(double seconds) {
  return seconds < 60 ? fmt::format("{:.0f} s", std::ceil(seconds)) : human_seconds(seconds);
}
} // namespace

std::string progress_line(const RunView& v, const ScreenStyle& style) {
  const std::string dot = style.utf8 ? " · " : ", ";
  const double part =
    v.total_steps > 0 ? static_cast<double>(v.step) / static_cast<double>(v.total_steps) : 0;
  const bool running = v.state == "running";
  const auto state = fmt::format("{}{}", v.state, v.note.empty() ? "" : ": " + clipped(v.note, 48));
  const auto steps = v.total_steps > 0
                       ? fmt::format("step {}/{}", with_commas(v.step), with_commas(v.total_steps))
                       : fmt::format("step {}", with_commas(v.step));
  const auto percent = fmt::format("{:.0f}%", std::floor(part * 100));
  const auto workers = v.workers == v.target || v.target == 0
                         ? count_of(v.workers, "worker")
                         : fmt::format("{} of {} workers", v.workers, v.target);
  std::string generation = fmt::format("{}{}gen {}", workers, dot, v.generation);
  std::string failures;
  if (v.failures > 0)
    failures =
      fmt::format("{}{}, {} lost", dot, count_of(v.failures, "failure"), count_of(v.steps_lost, "step"));
  const auto loss = v.has_loss ? fmt::format("  loss {:.4g}", v.loss) : std::string{};
  const auto rate = running && v.steps_per_s > 0 ? "  " + rate_text(v.steps_per_s) : std::string{};
  std::string eta;
  if (running && v.steps_per_s > 0 && v.total_steps > v.step)
    eta = "  eta " + eta_text(static_cast<double>(v.total_steps - v.step) / v.steps_per_s);

  // Wider first: everything, a short bar, no bar, no loss and time, no failures.
  const auto head = fmt::format("{}  {}", painted(v.job, bold, style), steps);
  const auto shown_state = running ? std::string{} : "  " + painted(state, yellow, style);
  const auto bar_text = [&](std::size_t cells) {
    return fmt::format(" {} {}", bar(part, cells, style.utf8), percent);
  };
  const auto tail = fmt::format("  {}{}", generation, failures);
  const std::string candidates[] = {
    head + bar_text(20) + shown_state + rate + loss + tail + eta,
    head + bar_text(10) + shown_state + rate + loss + tail + eta,
    head + " " + percent + shown_state + rate + loss + tail + eta,
    head + " " + percent + shown_state + rate + loss + "  " + generation + eta,
    head + " " + percent + shown_state + rate + "  " + generation + eta,
    head + " " + percent + shown_state + rate + eta,
    head + " " + percent + shown_state,
  };
  for (const auto& text : candidates)
    if (style.width == 0 || display_width(text) <= style.width)
      return text;
  return clipped(fmt::format("{}  {}", v.job, steps), style.width);
}

std::string event_line(std::int64_t wall_ns, std::string_view text, const ScreenStyle& style) {
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm at{};
  ::localtime_r(&seconds, &at);
  const auto time =
    fmt::format("{:02}:{:02}:{:02}.{:03}", at.tm_hour, at.tm_min, at.tm_sec, wall_ns / 1'000'000 % 1'000);
  return fmt::format("{}  {}", painted(time, dim, style), text);
}

namespace {

bool crash(std::int32_t signal) {
  return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

std::string cause_of(const FailureRow& f, bool event) {
  const auto& kind = f.failure_class;
  if (kind == "signal")
    return event ? fmt::format("{} by signal {}", crash(f.signal) ? "crashed" : "killed", f.signal)
                 : fmt::format("{} (signal {})", crash(f.signal) ? "crashed" : "killed", f.signal);
  if (kind == "startup")
    return "could not start";
  if (kind == "exception")
    return "threw";
  if (kind == "out_of_memory")
    return "ran out of memory";
  if (kind == "hang")
    return "hung";
  if (kind == "silent")
    return "fell silent";
  if (kind == "node_loss")
    return "lost with its node";
  if (kind == "partition")
    return "cut off";
  if (kind == "notice")
    return "was asked to leave";
  if (kind == "communicator")
    return "could not join its generation";
  if (kind == "corrupt_data")
    return "had wrong numbers";
  return event ? "ended" : kind.empty() || kind == "none" ? "ended" : kind;
}

/// The moment as chaos sentences name it, whichever part of the runtime told it.
std::string_view moment(std::string_view during) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
    {"restoring", "restore"}, {"connecting", "connect"}, {"draining", "drain"}, {"building", "build"}};
  for (const auto& [from, to] : names)
    if (during == from)
      return to;
  return during;
}

std::string who(const FailureRow& f) {
  if (f.kind == "node")
    return fmt::format("node {}", f.node);
  return f.worker >= 0 ? fmt::format("worker {}", f.worker) : std::string("a starting worker");
}

} // namespace

std::string failure_summary(const FailureRow& f) {
  auto text = fmt::format("{} {}", who(f), cause_of(f, false));
  if (!f.during.empty())
    text.append(" in ").append(moment(f.during));
  return text;
}

std::string death_text(const FailureRow& f) {
  auto text =
    fmt::format("{} (node {}, pid {}, life {}) {}", who(f), f.node, f.pid, f.incarnation, cause_of(f, true));
  text += f.during.empty() ? fmt::format(" at step {}", with_commas(f.step))
                           : fmt::format(" in {} of step {}", moment(f.during), with_commas(f.step));
  if (!f.what.empty() && f.failure_class != "signal") // the signal says it all
    text.append(": ").append(f.what);
  return text;
}

std::string formed_text(std::uint64_t generation, std::uint32_t workers, std::uint64_t step,
                        std::string_view source, const RecoveryTimes* t) {
  auto text = fmt::format("generation {}: {}, {} at step {}", generation, count_of(workers, "worker"),
                          source.empty() ? "begins" : "resumed", with_commas(step));
  if (!source.empty())
    text.append(" from ").append(source);
  if (t != nullptr)
    text +=
      fmt::format(" · {} (detect {}  abort {}  drain {}  plan {}  connect {}  restore {}  first step {})",
                  human_seconds(t->total / 1e3), ms_text(t->detect), ms_text(t->abort), ms_text(t->drain),
                  ms_text(t->plan), ms_text(t->connect), ms_text(t->restore), ms_text(t->first_step));
  return text;
}

std::string failure_screen(const RunReport& r, const ScreenStyle& style) {
  std::string text = fmt::format("{} {} failed at step {}: {}\n", painted("troupe:", red, style), r.job,
                                 with_commas(r.steps), r.cause.empty() ? "the cause is not known" : r.cause);
  for (const auto& line : r.details)
    text.append("  ").append(line).append("\n");
  if (!r.dir.empty())
    text += fmt::format("  logs: {}/logs\n", r.dir);
  return text;
}

std::string status_screen(const StatusView& s, const ScreenStyle& style) {
  const std::string dot = style.utf8 ? " · " : ", ";
  std::string text = painted(s.job, bold, style);
  const auto add = [&](const std::string& part) { text.append(dot).append(part); };
  add(s.note.empty() ? s.state : fmt::format("{}: {}", s.state, s.note));
  add(fmt::format("term {}", s.term));
  const auto seconds = static_cast<std::time_t>(s.since_ns / 1'000'000'000);
  std::tm at{};
  ::localtime_r(&seconds, &at);
  add(s.since_ns > 0
        ? fmt::format("generation {} since {:02}:{:02}:{:02}", s.generation, at.tm_hour, at.tm_min, at.tm_sec)
        : fmt::format("generation {}", s.generation));
  add(s.total_steps > 0 ? fmt::format("step {}/{}", with_commas(s.step), with_commas(s.total_steps))
                        : fmt::format("step {}", with_commas(s.step)));
  if (s.steps_per_s > 0)
    add(rate_text(s.steps_per_s));
  if (s.failures > 0)
    add(fmt::format("{}, {} lost", count_of(s.failures, "failure"), count_of(s.steps_lost, "step")));
  auto up = fmt::format("master up {}", human_seconds(s.master_up_s));
  if (s.master_restarts > 0)
    up +=
      s.master_restarts == 1 ? " (restarted once)" : fmt::format(" (restarted {} times)", s.master_restarts);
  add(up);
  text += "\n";
  using Align = TextTable::Align;
  TextTable nodes({{"node"}, {"host"}, {"slots"}, {"workers"}, {"heartbeat", Align::right}, {"notes"}});
  for (const auto& node : s.nodes) {
    std::string ranks;
    for (const auto rank : node.ranks)
      ranks.append(ranks.empty() ? "" : ", ").append(fmt::format("rank {}", rank));
    nodes.row({std::to_string(node.node), node.host, fmt::format("{}/{}", node.used, node.slots), ranks,
               fmt::format("{:.0f} ms", node.heartbeat_ms), node.notes});
  }
  if (!nodes.empty())
    text += nodes.text();
  return text;
}

} // namespace troupe

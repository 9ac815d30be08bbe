#include "bench/bench.hpp"

#include "cli/json_reflect.hpp"
#include "cli/report.hpp"
#include "cli/table.hpp"
#include "troupe/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace troupe::bench {

namespace {

std::string figure(double value) {
  if (value == 0 || !std::isfinite(value))
    return value == 0 ? "0" : "-";
  const auto size = std::abs(value);
  return size >= 100  ? fmt::format("{:.0f}", value)
         : size >= 10 ? fmt::format("{:.1f}", value)
                      : fmt::format("{:.3g}", value);
}

std::string figure(const std::optional<double>& value) {
  return value ? figure(*value) : std::string{};
}

} // namespace

double percentile(std::vector<double> samples, double p) {
  if (samples.empty())
    return 0;
  std::sort(samples.begin(), samples.end());
  const auto rank = std::ceil(p * static_cast<double>(samples.size()));
  return samples[std::clamp<std::size_t>(static_cast<std::size_t>(rank), 1, samples.size()) - 1];
}

double median(const std::vector<double>& samples) {
  return percentile(samples, 0.5);
}

BenchRow spread_row(std::string name, std::string metric, const std::vector<double>& samples) {
  BenchRow row{std::move(name), std::move(metric)};
  row.p50 = percentile(samples, 0.5);
  row.p99 = percentile(samples, 0.99);
  row.value = *row.p50;
  return row;
}

void add_peer(BenchRow& row, const std::string& peer, double value, bool smaller_is_better) {
  row.peers[peer] = value;
  const double above = smaller_is_better ? value : row.value;
  const double below = smaller_is_better ? row.value : value;
  row.ratio[peer] = below > 0 ? above / below : 0;
}

std::string bench_table(const BenchReport& report) {
  using Align = TextTable::Align;
  TextTable table({{"case"},
                   {"metric"},
                   {"value", Align::right},
                   {"p50", Align::right},
                   {"p99", Align::right},
                   {"promised", Align::right},
                   {"peers"},
                   {"note"}});
  for (const auto& row : report.rows) {
    std::string peers;
    for (const auto& [peer, value] : row.peers)
      peers += fmt::format("{}{} {} (x{})", peers.empty() ? "" : ", ", peer, figure(value),
                           figure(row.ratio.at(peer)));
    table.row({row.name, row.metric, figure(row.value), figure(row.p50), figure(row.p99),
               row.bound ? fmt::format("{}{}", figure(row.bound), row.met ? "" : "  MISSED") : "", peers,
               row.note});
  }
  auto text = fmt::format("bench {}\n", report.name) + table.text();
  for (const auto& note : report.notes)
    text.append("note: ").append(note).append("\n");
  return text;
}

std::string bench_json(const BenchReport& report) {
  auto json = Json::object();
  json["bench"] = report.name;
  json["version"] = TROUPE_VERSION;
  json["host"] = to_json_value(this_host());
  auto& rows = json["rows"] = Json::array();
  for (const auto& row : report.rows) {
    auto one = Json::object();
    one["case"] = row.name;
    one["metric"] = row.metric;
    one["value"] = to_json_value(row.value);
    if (row.p50)
      one["p50"] = to_json_value(*row.p50);
    if (row.p99)
      one["p99"] = to_json_value(*row.p99);
    one["peers"] = to_json_value(row.peers);
    one["ratio"] = to_json_value(row.ratio);
    if (row.bound) {
      one["bound"] = to_json_value(*row.bound);
      one["met"] = row.met;
    }
    if (!row.note.empty())
      one["note"] = row.note;
    rows.push_back(std::move(one));
  }
  json["notes"] = report.notes;
  return json.dump(2) + "\n";
}

result<void> publish(const BenchReport& report, const std::string& json_path) {
  std::fputs(bench_table(report).c_str(), stdout);
  std::fflush(stdout);
  return json_path.empty() ? result<void>{} : write_file_atomically(json_path, bench_json(report));
}

} // namespace troupe::bench

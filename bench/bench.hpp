// Rows that every bench prints and writes: one measured figure each, with its spread, its peers measured in
// the same run, and the bound it is held against. Names of benches, cases and metrics are stable, so that
// figures can be compared over versions. Plain values.
#pragma once

#include "base/errors.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

struct BenchRow {
  std::string name;   ///< the `case`: "hold", "64MiB ranks=4"
  std::string metric; ///< with its unit: "total_ms"
  double value = 0;
  std::optional<double> p50 = {};
  std::optional<double> p99 = {};
  std::map<std::string, double> peers = {}; ///< the same metric of others
  std::map<std::string, double> ratio = {}; ///< how many times better than each peer
  std::optional<double> bound = {};         ///< promised; see `met`
  bool met = true;                          ///< the promise holds
  std::string note = {};
};

struct BenchReport {
  std::string name;
  std::vector<BenchRow> rows;
  std::vector<std::string> notes; ///< what was left out, and why
};

/// Nearest rank; 0 without samples.
double percentile(std::vector<double> samples, double p);
double median(const std::vector<double>& samples);
/// Row with p50 and p99 of the samples; its value is p50.
BenchRow spread_row(std::string name, std::string metric, const std::vector<double>& samples);
/// Adds a peer whose value is better the smaller it is (times) or the larger (rates), and the ratio.
void add_peer(BenchRow& row, const std::string& peer, double value, bool smaller_is_better);

std::string bench_table(const BenchReport& report);
std::string bench_json(const BenchReport& report);
/// Prints the table; writes `json_path` unless empty.
result<void> publish(const BenchReport& report, const std::string& json_path);

} // namespace troupe::bench

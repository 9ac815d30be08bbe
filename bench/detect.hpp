// How long a death stays unseen: members of a generation in real processes, one is killed with SIGKILL, and
// the time until the last survivor is free is taken. Free means that its trainer's thread knows: its wait in
// a collective has returned, or its next look between two slices of computing (at most 1 ms long) found the
// poison. Forks, so the caller has no threads it needs in the children. Nothing is left running when
// run_detect returns.
#pragma once

#include "base/clock.hpp"
#include "base/errors.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe::bench {

struct DetectOptions {
  std::uint32_t ranks = 4;
  std::uint32_t small_kills = 300;     ///< small victim, survivors wait in a collective
  std::uint32_t ballast_kills = 100;   ///< victim with `ballast_bytes` resident in small pages
  std::uint32_t computing_kills = 300; ///< survivors compute, at least one per processor
  std::uint64_t ballast_bytes = 2ull << 30;
  std::uint64_t seed = 1;
  /// Called between kills; returning false ends the bench early.
  std::function<bool(const std::string& name, std::uint32_t done, std::uint32_t total)> progress;
};

struct DetectSample {
  Duration seen{}; ///< kill until the poison is set
  Duration free{}; ///< kill until the last survivor is free
};

struct DetectCase {
  std::string name;           ///< "small waiting", "2GiB waiting", "small computing"
  std::uint32_t survivors = 0;
  double bar_p50_ms = 0;      ///< promised; 0: no promise
  double bar_p99_ms = 0;
  std::vector<DetectSample> samples;
  std::string skipped;        ///< why there are no samples
};

/// errors: exhausted (no memory, no processes), deadline (a survivor was not free within 10 s: a bug).
result<std::vector<DetectCase>> run_detect(const DetectOptions& options);

/// The value below which a share `p` of the samples lies, nearest rank; 0 without samples.
double percentile_ms(const std::vector<DetectSample>& samples, Duration DetectSample::*what, double p);

} // namespace troupe::bench

// How long a job under torchrun stands still when a worker is killed, for the rows of `bench recovery`. Runs
// bench/peers/torchrun_recovery.py as a child with a python3 that has torch; blocks the calling thread for a
// minute or two, never longer than its deadlines, and leaves no process behind.
#pragma once

#include "base/errors.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::bench {

/// From the kill to the end of the next step, in ms, one per kill.
struct TorchrunTimes {
  std::vector<double> by_default;    ///< torchrun's own monitor interval
  std::vector<double> monitor_100ms; ///< `--monitor-interval 0.1`
  std::string torch;                 ///< version
};

/// Errc::unsupported, with what is missing, when there is no torch or no script; Errc::deadline and
/// Errc::exhausted, with the script's last words, when it did not get its figures.
result<TorchrunTimes> torchrun_recovery(std::uint32_t workers, std::uint32_t kills);

} // namespace troupe::bench

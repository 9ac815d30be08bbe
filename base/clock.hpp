// Time as the kernels see it: nanoseconds of the monotonic clock of this host. Kernels get `now` as an argument;
// only shells call monotonic_now(). Comparable between processes of one host, never between hosts.
#pragma once

#include "troupe/time.hpp"

#include <cstdint>

namespace troupe {

inline Time monotonic_now() { return MonotonicClock::now(); }
inline double to_ms(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// Nanoseconds since 1970 for logs and files; never for a decision.
std::int64_t wall_clock_ns();

} // namespace troupe

// Time as decisions see it: nanoseconds of the monotonic clock of this host, always handed in, never read. Comparable
// between processes of one host, never between hosts. Plain values.
#pragma once

#include <chrono>

namespace troupe {

using Duration = std::chrono::nanoseconds;
struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
  static time_point now();
};
using Time = MonotonicClock::time_point;

} // namespace troupe

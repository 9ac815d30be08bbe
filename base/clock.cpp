#include "base/clock.hpp"

#include <ctime>

namespace troupe {

namespace {

std::int64_t read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

} // namespace

Time MonotonicClock::now() {
  return Time{Duration{read_clock(CLOCK_MONOTONIC)}};
}

std::int64_t wall_clock_ns() {
  return read_clock(CLOCK_REALTIME);
}

} // namespace troupe

#include "base/flight_recorder.hpp"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace troupe {

void FlightRecorder::note(std::string_view text) {
  auto& line = ring_[next_.fetch_add(1, std::memory_order_relaxed) % lines];
  const auto n = std::min(text.size(), width - 1);
  std::memcpy(line.data(), text.data(), n);
  line[n] = '\0';
}

void FlightRecorder::dump(int fd) const {
  const auto end = next_.load(std::memory_order_relaxed);
  for (auto i = end > lines ? end - lines : 0; i < end; ++i) {
    const auto& line = ring_[i % lines];
    [[maybe_unused]] auto n = ::write(fd, line.data(), ::strnlen(line.data(), width));
    n = ::write(fd, "\n", 1);
  }
}

FlightRecorder& flight_recorder() {
  static FlightRecorder recorder;
  return recorder;
}

} // namespace troupe

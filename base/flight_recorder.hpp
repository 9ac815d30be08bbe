// The last events of this process in a fixed ring, printed when an assertion fails or a crash signal arrives.
// Notes are cut at 120 characters. Any thread; dump() is async-signal-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

namespace troupe {

class FlightRecorder {
public:
  void note(std::string_view text);
  void dump(int fd) const;

private:
  static constexpr std::size_t lines = 64;
  static constexpr std::size_t width = 120;
  std::array<std::array<char, width>, lines> ring_{};
  std::atomic<std::size_t> next_{0};
};

/// The recorder of this process: the one exception to "no singletons", since a crash has no other way to find it.
FlightRecorder& flight_recorder();

} // namespace troupe

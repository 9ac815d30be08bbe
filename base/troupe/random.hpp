// Random streams that are pure functions of a key: the same key gives the same numbers on every host, worker and
// retry. The only source of randomness in a job. Counter-based (SplitMix64 over a hashed key), so making a stream
// costs nothing. Not cryptographic. A stream belongs to one thread; copies continue independently.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace troupe {

class Random {
public:
  /// Stream for (seed, purpose, parts...). Distinct purposes never share numbers.
  Random(std::uint64_t seed, std::string_view purpose, std::initializer_list<std::uint64_t> parts = {});

  std::uint64_t next_u64();
  /// Uniform integer in [0, bound), bound > 0, unbiased.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Standard normal; uses only + - * / sqrt and our own log, so the bits do not depend on libm.
  double normal();
  /// Exponential with mean 1.
  double exponential();

private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

} // namespace troupe

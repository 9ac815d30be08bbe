#include "troupe/random.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <bit>
#include <cmath>

namespace troupe {

namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// ln(x) for x in (0, 1], from frexp and an atanh series: only exactly rounded operations, so equal everywhere.
double natural_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent); // m in [0.5, 1)
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1);
  const double t2 = t * t;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2)
    sum = sum * t2 + 1.0 / k;
  return 2 * t * sum + exponent * 0.69314718055994530942;
}

} // namespace

Random::Random(std::uint64_t seed, std::string_view purpose, std::initializer_list<std::uint64_t> parts) {
  Hasher hash;
  hash.add(seed);
  hash.add(purpose);
  hash.add(static_cast<std::uint64_t>(purpose.size()));
  for (auto part : parts)
    hash.add(part);
  key_ = hash.digest();
}

std::uint64_t Random::next_u64() {
  return mix(key_ + 0x9e3779b97f4a7c15ULL * ++counter_);
}

std::uint64_t Random::below(std::uint64_t bound) {
  TROUPE_ASSERT(bound > 0, "Random::below needs a positive bound");
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t limit = -bound % bound; // numbers below this would be biased
  for (;;) {
    const auto x = next_u64();
    const auto wide = static_cast<Wide>(x) * bound;
    if (static_cast<std::uint64_t>(wide) >= limit)
      return static_cast<std::uint64_t>(wide >> 64);
  }
}

double Random::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1.0p-53;
}

double Random::normal() {
  // Marsaglia's polar method; the second value is dropped so that a stream has no hidden state.
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1)
      return u * std::sqrt(-2 * natural_log(s) / s);
  }
}

double Random::exponential() {
  return -natural_log(1 - uniform());
}

} // namespace troupe

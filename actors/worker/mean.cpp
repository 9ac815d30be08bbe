#include "actors/worker/mean.hpp"

#include <bit>
#include <cstdint>

namespace troupe {

namespace {

constexpr std::uint32_t exponent = 0x7f800000;

std::uint32_t not_finite(float x) {
  return (std::bit_cast<std::uint32_t>(x) & exponent) == exponent ? ~0U : 0U;
}

} // namespace

bool divide_all(std::span<const float> sums, float weight, float* out) {
  std::uint32_t bad = 0;
  const float* in = sums.data();
  const auto n = sums.size();
  for (std::size_t i = 0; i < n; ++i) {
    const float mean = in[i] / weight;
    out[i] = mean;
    bad |= not_finite(mean);
  }
  return bad == 0;
}

bool all_finite(std::span<const float> values) {
  std::uint32_t bad = 0;
  for (float x : values)
    bad |= not_finite(x);
  return bad == 0;
}

} // namespace troupe

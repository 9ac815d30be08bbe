// The one place that turns reduced sums into a mean: true division by the reduced weight in f32, and the
// check that every value is finite. Element by element, so the bits depend on nothing else.
#pragma once

#include <cstddef>
#include <span>

namespace troupe {

/// out[i] = sums[i] / weight. False when any out[i] is NaN or infinite.
bool divide_all(std::span<const float> sums, float weight, float* out);

bool all_finite(std::span<const float> values);

} // namespace troupe

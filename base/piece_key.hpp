// Identity of one version of the training state. Every copy of a piece, in memory or on disk, carries it. Plain value.
#pragma once

#include "base/reflect.hpp"
#include "troupe/ids.hpp"

namespace troupe {

/// Version of the state and the generation whose step made it. Build gives (0, 0).
struct PieceKey {
  Step step;
  Generation generation;
  friend constexpr auto operator<=>(const PieceKey&, const PieceKey&) = default;
  TROUPE_FIELDS(step, generation)
};

} // namespace troupe

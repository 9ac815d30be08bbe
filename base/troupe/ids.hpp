// Strong integer types for everything that is counted or named. None converts implicitly, so a step can
// never be passed where a generation is meant. Plain values, any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace troupe {

template <class Tag, class Rep>
struct Id {
  using rep = Rep;
  Rep value{};

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
  constexpr Id next() const { return Id{static_cast<Rep>(value + 1)}; }
};

using Step = Id<struct StepTag, std::uint64_t>;               ///< version of the model; step k turns version k into k+1
using Generation = Id<struct GenerationTag, std::uint64_t>;   ///< one agreed membership; only grows. 0: none yet
using Term = Id<struct TermTag, std::uint64_t>;               ///< one start of the master; only grows
using Incarnation = Id<struct IncarnationTag, std::uint64_t>; ///< one life of a process in its slot. 0: none yet
using Rank = Id<struct RankTag, std::uint32_t>;               ///< position in one generation, 0 … N-1
using NodeId = Id<struct NodeTag, std::uint32_t>;
using SlotId = Id<struct SlotTag, std::uint32_t>;             ///< place for one worker on a node
using VirtualWorker = Id<struct VirtualTag, std::uint32_t>;   ///< 0 … V-1
using SampleId = std::uint64_t;                               ///< row of the data set

} // namespace troupe

template <class Tag, class Rep>
struct std::hash<troupe::Id<Tag, Rep>> {
  std::size_t operator()(troupe::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};

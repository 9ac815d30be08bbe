// Elementwise sum, minimum and maximum for every element type of a collective, by the fixed tree. Half types
// are computed in float and rounded to the type at every tree node, so the bits do not depend on who combines
// what. Integer sums wrap. A NaN wins a minimum or maximum. Pure functions; any thread.
#pragma once

#include "comm/communicator.hpp"
#include "comm/reduction_tree.hpp"

namespace troupe {

std::size_t size_of(Element element);

/// Runs `plan` over `count` elements of each source into `out`.
void reduce_elements(const ReductionPlan& plan, std::span<const void* const> sources, std::size_t count, void* out,
                     Element element, Op op);

/// Conversions, round to nearest even.
float from_f16(std::uint16_t bits);
std::uint16_t to_f16(float value);
float from_bf16(std::uint16_t bits);
std::uint16_t to_bf16(float value);

} // namespace troupe

// The fixed binary tree over V leaves that decides the bits of every sum (design section 4). Node (level,
// index) covers the leaves [index * 2^level, min((index + 1) * 2^level, V)); a missing right child is passed
// through, never added as zero. So a sum depends on V and the leaves alone, not on who holds which leaf. NaN
// payloads aside, all paths give equal bits. Pure functions and values; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace troupe {

struct TreeNode {
  std::uint32_t level = 0;
  std::uint32_t index = 0;
  std::uint32_t first() const { return index << level; }
  std::uint32_t end(std::uint32_t leaves) const {
    const auto e = static_cast<std::uint64_t>(index + 1ull) << level;
    return e < leaves ? static_cast<std::uint32_t>(e) : leaves;
  }
  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

struct Block {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

/// The largest nodes that lie wholly inside the block, in ascending order: what its owner can sum alone. At
/// most 2 * log2(leaves); one when the block is aligned.
std::vector<TreeNode> own_nodes(Block block, std::uint32_t leaves);

/// How the nodes of all blocks are combined to the root: a program over sources 0 … (own_nodes of block 0
/// first, then of block 1, …). Combine `left` and `right` into `into`; negative operands are scratch rows
/// -1-x; the last one's `into` is the result. Empty when there is one source, which then is the result.
struct ReductionPlan {
  struct Combine {
    std::int32_t left;
    std::int32_t right;
    std::int32_t into;
  };
  std::vector<Combine> program;
  std::uint32_t sources = 0;
  std::uint32_t scratch_rows = 0;
};
/// The blocks cover every leaf once.
ReductionPlan plan_reduction(std::span<const Block> blocks, std::uint32_t leaves);

/// Elements that are combined at a time, so that scratch rows stay in the nearest cache.
constexpr std::size_t reduction_chunk = 1024;

/// Runs the plan over the elements [begin, end) of every source into `out[begin, end)`. `scratch` holds
/// scratch_rows * reduction_chunk elements. `combine(a, b)` is applied elementwise, left operand first.
template <class T, class Combine>
void run_reduction(const ReductionPlan& plan, std::span<const T* const> sources, std::size_t begin, std::size_t end,
                   T* out, T* scratch, Combine combine) {
  if (plan.program.empty()) {
    if (end > begin)
      std::memcpy(out + begin, sources[0] + begin, (end - begin) * sizeof(T));
    return;
  }
  for (auto at = begin; at < end; at += reduction_chunk) {
    const auto n = std::min(reduction_chunk, end - at);
    const auto operand = [&](std::int32_t x) -> const T* {
      return x >= 0 ? sources[static_cast<std::size_t>(x)] + at
                    : scratch + static_cast<std::size_t>(-1 - x) * reduction_chunk;
    };
    for (const auto& step : plan.program) {
      const T* a = operand(step.left);
      const T* b = operand(step.right);
      const bool last = &step == &plan.program.back();
      T* d = last ? out + at : scratch + static_cast<std::size_t>(-1 - step.into) * reduction_chunk;
#pragma GCC ivdep // d may be a or b, element for element
      for (std::size_t i = 0; i < n; ++i)
        d[i] = combine(a[i], b[i]);
    }
  }
}

} // namespace troupe

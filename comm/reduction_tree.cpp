#include "comm/reduction_tree.hpp"

#include "base/assert.hpp"

#include <map>
#include <utility>

namespace troupe {

namespace {

std::uint32_t root_level(std::uint32_t leaves) {
  std::uint32_t level = 0;
  while ((1ull << level) < leaves)
    ++level;
  return level;
}

void collect(TreeNode node, Block block, std::uint32_t leaves, std::vector<TreeNode>& out) {
  const auto first = static_cast<std::uint64_t>(node.index) << node.level;
  const auto block_end = static_cast<std::uint64_t>(block.first) + block.count;
  if (first >= leaves || first >= block_end || node.end(leaves) <= block.first)
    return;
  if (first >= block.first && node.end(leaves) <= block_end) {
    out.push_back(node);
    return;
  }
  collect({node.level - 1, node.index * 2}, block, leaves, out);
  collect({node.level - 1, node.index * 2 + 1}, block, leaves, out);
}

struct Compiler {
  std::uint32_t leaves;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t> sources;
  ReductionPlan plan;

  // Operand that holds the node's value; scratch rows below `row` are in use.
  std::int32_t compile(TreeNode node, std::uint32_t row) {
    if (const auto found = sources.find({node.level, node.index}); found != sources.end())
      return found->second;
    TROUPE_ASSERT(node.level > 0, "the blocks cover every leaf");
    const TreeNode left{node.level - 1, node.index * 2};
    const TreeNode right{node.level - 1, node.index * 2 + 1};
    const auto a = compile(left, row);
    if ((static_cast<std::uint64_t>(right.index) << right.level) >= leaves)
      return a;
    const auto b = compile(right, row + (a < 0 ? 1 : 0));
    const auto into = -1 - static_cast<std::int32_t>(row);
    plan.scratch_rows = std::max(plan.scratch_rows, row + 1);
    plan.program.push_back({a, b, into});
    return into;
  }
};

} // namespace

std::vector<TreeNode> own_nodes(Block block, std::uint32_t leaves) {
  std::vector<TreeNode> out;
  if (block.count > 0)
    collect({root_level(leaves), 0}, block, leaves, out);
  return out;
}

ReductionPlan plan_reduction(std::span<const Block> blocks, std::uint32_t leaves) {
  Compiler compiler{leaves, {}, {}};
  for (const auto& block : blocks)
    for (const auto& node : own_nodes(block, leaves))
      compiler.sources.emplace(std::pair{node.level, node.index}, compiler.plan.sources++);
  compiler.compile({root_level(leaves), 0}, 0);
  return std::move(compiler.plan);
}

} // namespace troupe

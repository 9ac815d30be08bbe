#include "comm/leaf_stack.hpp"

#include "base/assert.hpp"

#include <bit>

namespace troupe {

namespace {

std::size_t rows_needed(std::span<const TreeNode> nodes) {
  std::uint32_t level = 0;
  for (const auto& node : nodes)
    level = std::max(level, node.level);
  return level;
}

template <class T>
void add(T* left, const T* right, std::size_t count) {
#pragma GCC ivdep // different buffers
  for (std::size_t i = 0; i < count; ++i)
    left[i] = left[i] + right[i];
}

} // namespace

LeafStack::LeafStack(Block block, std::uint32_t leaves, NodeShape shape)
  : block_(block), leaves_(leaves), shape_(shape), nodes_(own_nodes(block, leaves)),
    scratch_(rows_needed(nodes_) * shape.bytes()), next_(block.first + block.count) {}

void LeafStack::begin(std::span<const NodeBuffer> buffers) {
  TROUPE_ASSERT(buffers.size() == nodes_.size(), "one buffer per node of the block");
  buffers_.assign(buffers.begin(), buffers.end());
  next_ = block_.first;
  node_ = 0;
  depth_ = 0;
  open_ = false;
}

NodeBuffer LeafStack::row(std::uint32_t depth) const {
  return depth == 0 ? buffers_[node_] : shape_.at(scratch_.get() + (depth - 1) * shape_.bytes());
}

NodeBuffer LeafStack::open(std::uint32_t v) {
  TROUPE_ASSERT(v == next_ && !complete(), "leaves are filled in ascending order, each once, inside the own block");
  const auto buffer = row(depth_);
  if (!open_) {
    std::memset(static_cast<void*>(buffer.f32), 0, shape_.f32_count * sizeof(float));
    std::memset(static_cast<void*>(buffer.f64), 0, shape_.f64_count * sizeof(double));
    open_ = true;
  }
  return buffer;
}

void LeafStack::close(std::uint32_t v) {
  open(v); // a leaf nobody asked for is zero
  open_ = false;
  ++depth_;
  ++next_;
  const auto& node = nodes_[node_];
  const auto done = next_ - node.first();
  const bool whole = next_ == node.end(leaves_);
  const auto left_after = whole ? 1u : static_cast<std::uint32_t>(std::popcount(done));
  while (depth_ > left_after) {
    const auto right = row(depth_ - 1);
    const auto left = row(depth_ - 2);
    add(left.f32, right.f32, shape_.f32_count);
    add(left.f64, right.f64, shape_.f64_count);
    --depth_;
  }
  if (whole) {
    ++node_;
    depth_ = 0;
  }
}

} // namespace troupe

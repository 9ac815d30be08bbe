// The leaves of one member's block while a step is computed: hands out leaf buffers in ascending order and
// adds up complete subtrees as soon as they are complete, in the order of the fixed tree, so that at the end
// each node of own_nodes() lies in the buffer its owner gave for it and no more than log2(V) other buffers
// were needed. Trainer's thread only.
#pragma once

#include "comm/reduction_tree.hpp"

#include <memory>
#include <new>

namespace troupe {

/// Memory of one tree node: floats, then doubles.
struct NodeBuffer {
  float* f32 = nullptr;
  double* f64 = nullptr;
};

/// Cache-line aligned zeroed memory of this process.
class AlignedBytes {
public:
  explicit AlignedBytes(std::size_t bytes)
    : data_(static_cast<std::byte*>(::operator new(bytes + 64, std::align_val_t{64}))) {
    std::memset(data_.get(), 0, bytes + 64);
  }
  std::byte* get() const { return data_.get(); }

private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// Bytes and place of a node's parts; each part starts on a cache line.
struct NodeShape {
  std::size_t f32_count = 0;
  std::size_t f64_count = 0;
  std::size_t f64_offset() const { return (f32_count * sizeof(float) + 63) / 64 * 64; }
  std::size_t bytes() const { return f64_offset() + (f64_count * sizeof(double) + 63) / 64 * 64; }
  NodeBuffer at(std::byte* memory) const {
    return {reinterpret_cast<float*>(memory), reinterpret_cast<double*>(memory + f64_offset())};
  }
};

class LeafStack {
public:
  LeafStack(Block block, std::uint32_t leaves, NodeShape shape);

  std::span<const TreeNode> nodes() const { return nodes_; }
  /// Starts a step; `buffers` has one entry per node and stays valid until the next begin().
  void begin(std::span<const NodeBuffer> buffers);
  /// Buffer of leaf `v`, which must be the next one; zeroed when first asked for in a step.
  NodeBuffer open(std::uint32_t v);
  /// Leaf `v` is filled.
  void close(std::uint32_t v);
  bool complete() const { return next_ == block_.first + block_.count; }

private:
  NodeBuffer row(std::uint32_t depth) const;

  Block block_;
  std::uint32_t leaves_;
  NodeShape shape_;
  std::vector<TreeNode> nodes_;
  AlignedBytes scratch_;
  std::vector<NodeBuffer> buffers_;
  std::uint32_t next_;
  std::uint32_t node_ = 0;  ///< index into nodes_ of the one that next_ belongs to
  std::uint32_t depth_ = 0; ///< partial sums of that node on the stack
  bool open_ = false;
};

} // namespace troupe

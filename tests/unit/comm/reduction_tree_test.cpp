#include "comm/reduction_tree.hpp"

#include "comm/element.hpp"
#include "comm/leaf_stack.hpp"
#include "comm/local_communicator.hpp"
#include "processes.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <limits>

namespace troupe {
namespace {

using testing::deal;
using testing::fill_leaf;

// The definition, as plainly as it can be written.
template <class T>
std::vector<T> sum_of(const std::vector<std::vector<T>>& leaves, std::uint64_t first, std::uint64_t width) {
  if (width == 1)
    return leaves[first];
  auto left = sum_of(leaves, first, width / 2);
  if (first + width / 2 >= leaves.size())
    return left;
  const auto right = sum_of(leaves, first + width / 2, width / 2);
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = left[i] + right[i];
  return left;
}

struct Leaves {
  std::vector<std::vector<float>> f32;
  std::vector<std::vector<double>> f64;
  Leaves(std::uint64_t seed, std::uint32_t v_total, std::size_t n32, std::size_t n64)
    : f32(v_total, std::vector<float>(n32)), f64(v_total, std::vector<double>(n64)) {
    for (std::uint32_t v = 0; v < v_total; ++v)
      fill_leaf(seed, 0, v, f32[v], f64[v]);
  }
};

template <class T>
bool same_bits(const T* a, const std::vector<T>& b) {
  return b.empty() || std::memcmp(a, b.data(), b.size() * sizeof(T)) == 0;
}

// What members with these blocks get: own subtrees in their stacks, the rest by the plan, in uneven slices.
bool members_agree_with(const Leaves& leaves, const std::vector<Block>& blocks, const std::vector<float>& want32,
                        const std::vector<double>& want64) {
  const auto v_total = static_cast<std::uint32_t>(leaves.f32.size());
  const NodeShape shape{want32.size(), want64.size()};
  std::vector<std::unique_ptr<AlignedBytes>> memory;
  std::vector<const float*> sources32;
  std::vector<const double*> sources64;
  for (const auto& block : blocks) {
    LeafStack stack(block, v_total, shape);
    std::vector<NodeBuffer> buffers;
    for (std::size_t i = 0; i < stack.nodes().size(); ++i) {
      memory.push_back(std::make_unique<AlignedBytes>(shape.bytes()));
      buffers.push_back(shape.at(memory.back()->get()));
      sources32.push_back(buffers.back().f32);
      sources64.push_back(buffers.back().f64);
    }
    stack.begin(buffers);
    for (auto v = block.first; v < block.first + block.count; ++v) {
      const auto leaf = stack.open(v);
      std::copy(leaves.f32[v].begin(), leaves.f32[v].end(), leaf.f32);
      std::copy(leaves.f64[v].begin(), leaves.f64[v].end(), leaf.f64);
      stack.close(v);
    }
    if (!stack.complete())
      return false;
  }
  const auto plan = plan_reduction(blocks, v_total);
  std::vector<float> got32(want32.size() + 1), scratch32(plan.scratch_rows * reduction_chunk);
  std::vector<double> got64(want64.size() + 1), scratch64(plan.scratch_rows * reduction_chunk);
  const auto plus = [](auto a, auto b) { return a + b; };
  const auto middle = want32.size() / 3;
  run_reduction<float>(plan, sources32, 0, middle, got32.data(), scratch32.data(), plus);
  run_reduction<float>(plan, sources32, middle, want32.size(), got32.data(), scratch32.data(), plus);
  run_reduction<double>(plan, sources64, 0, want64.size(), got64.data(), scratch64.data(), plus);
  return same_bits(got32.data(), want32) && same_bits(got64.data(), want64);
}

BOOST_AUTO_TEST_SUITE(reduction_tree)

BOOST_AUTO_TEST_CASE(the_sum_has_the_same_bits_for_any_number_of_members) {
  auto random = testing::random("tree");
  for (std::uint32_t v_total = 1; v_total <= 33; ++v_total)
    for (const std::size_t count : {0, 1, 3, 1000, 2100}) {
      const Leaves leaves(random.next_u64(), v_total, count, count / 7);
      const auto width = std::bit_ceil(v_total);
      const auto want32 = sum_of(leaves.f32, 0, width);
      const auto want64 = sum_of(leaves.f64, 0, width);
      for (std::uint32_t members = 1; members <= 8; ++members) {
        std::vector<Block> blocks;
        for (const auto& m : deal(members, v_total))
          blocks.push_back({m.first_virtual, m.virtual_count});
        BOOST_TEST(members_agree_with(leaves, blocks, want32, want64),
                   "N=" << members << " V=" << v_total << " count=" << count);
      }
    }
}

BOOST_AUTO_TEST_CASE(blocks_may_be_cut_anywhere_and_belong_to_ranks_in_any_order) {
  auto random = testing::random("cuts");
  for (int round = 0; round < 200; ++round) {
    const auto v_total = static_cast<std::uint32_t>(1 + random.below(40));
    std::vector<Block> blocks;
    for (std::uint32_t at = 0; at < v_total;) {
      const auto n = static_cast<std::uint32_t>(1 + random.below(v_total - at));
      blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(random.below(blocks.size() + 1)), {at, n});
      at += n;
    }
    blocks.push_back({v_total, 0}); // a member without a share
    const Leaves leaves(random.next_u64(), v_total, 65, 3);
    const auto width = std::bit_ceil(v_total);
    BOOST_TEST(members_agree_with(leaves, blocks, sum_of(leaves.f32, 0, width), sum_of(leaves.f64, 0, width)));
  }
}

BOOST_AUTO_TEST_CASE(a_block_publishes_the_largest_nodes_inside_it_and_at_most_twice_the_depth) {
  for (std::uint32_t v_total = 1; v_total <= 70; ++v_total)
    for (std::uint32_t first = 0; first < v_total; ++first)
      for (std::uint32_t count = 1; first + count <= v_total; ++count) {
        const auto nodes = own_nodes({first, count}, v_total);
        auto at = first;
        for (const auto& node : nodes) {
          BOOST_REQUIRE_EQUAL(node.first(), at);
          at = node.end(v_total);
          const TreeNode parent{node.level + 1, node.index / 2};
          const bool parent_inside = parent.first() >= first && parent.end(v_total) <= first + count;
          BOOST_REQUIRE(!parent_inside || (1ull << node.level) >= v_total);
        }
        BOOST_REQUIRE_EQUAL(at, first + count);
        BOOST_REQUIRE_LE(nodes.size(), 2u * static_cast<unsigned>(std::bit_width(v_total)));
      }
  BOOST_TEST(own_nodes({4, 4}, 16).size() == 1u);
  BOOST_TEST(own_nodes({0, 0}, 16).empty());
}

BOOST_AUTO_TEST_CASE(a_missing_leaf_is_passed_through_and_not_added_as_zero) {
  LocalCommunicator comm({Generation{1}, 3, 1, 1, 0});
  for (std::uint32_t v = 0; v < 3; ++v) {
    comm.leaf(VirtualWorker{v})[0] = -0.0f;
    comm.leaf_f64(VirtualWorker{v})[0] = -0.0;
    comm.contribute(VirtualWorker{v});
  }
  const auto reduced = comm.reduce_leaves();
  BOOST_REQUIRE(reduced.has_value());
  BOOST_TEST(std::signbit(reduced->f32[0]));
  BOOST_TEST(std::signbit(reduced->f64[0]));
}

BOOST_AUTO_TEST_CASE(the_local_communicator_follows_the_definition) {
  auto random = testing::random("local");
  for (std::uint32_t v_total = 1; v_total <= 33; ++v_total) {
    const auto leaf_seed = random.next_u64();
    const Leaves leaves(leaf_seed, v_total, 37, 5);
    LocalCommunicator comm({Generation{1}, v_total, 37, 5, 64});
    const auto reduced = testing::run_step(comm, {0, v_total}, leaf_seed, 0);
    BOOST_REQUIRE(reduced.has_value());
    BOOST_TEST(same_bits(reduced->f32.data(), sum_of(leaves.f32, 0, std::bit_ceil(v_total))));
    BOOST_TEST(same_bits(reduced->f64.data(), sum_of(leaves.f64, 0, std::bit_ceil(v_total))));
  }
}

BOOST_AUTO_TEST_CASE(every_half_number_survives_the_way_through_float) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(from_f16(half)))
      BOOST_REQUIRE_EQUAL(to_f16(from_f16(half)), half);
    if (!std::isnan(from_bf16(half)))
      BOOST_REQUIRE_EQUAL(to_bf16(from_bf16(half)), half);
  }
  BOOST_TEST(std::isnan(from_f16(to_f16(std::numeric_limits<float>::quiet_NaN()))));
  BOOST_TEST(std::isnan(from_bf16(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

BOOST_AUTO_TEST_CASE(halves_round_to_the_nearest_and_ties_to_even) {
  auto random = testing::random("halves");
  for (int round = 0; round < 200'000; ++round) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next_u64()));
    if (std::isnan(value))
      continue;
    BOOST_REQUIRE_EQUAL(to_f16(value), std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)));
  }
  BOOST_TEST(to_bf16(std::bit_cast<float>(0x3f808000u)) == 0x3f80);
  BOOST_TEST(to_bf16(std::bit_cast<float>(0x3f818000u)) == 0x3f82);
  BOOST_TEST(to_bf16(std::bit_cast<float>(0x3f808001u)) == 0x3f81);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

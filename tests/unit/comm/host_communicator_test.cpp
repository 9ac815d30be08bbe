#include "comm/host_communicator.hpp"

#include "comm/element.hpp"
#include "comm/local_communicator.hpp"
#include "processes.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace troupe {
namespace {

using testing::Children;
using testing::deal;
using testing::digest;
using testing::run_step;
using testing::Shared;

SegmentSpec spec_of(std::uint32_t members, std::uint32_t v_total, std::size_t f32, std::size_t f64 = 5) {
  return {Generation{9}, deal(members, v_total), v_total, f32, f64, 64};
}

// Runs `body(comm, block)` in one process per member; true when all return 0.
bool in_processes(const SegmentSpec& spec, const std::function<int(HostCommunicator&, Block)>& body) {
  auto fd = Segment::create(spec); // the test itself is no member
  BOOST_REQUIRE(fd.has_value());
  Children children;
  for (std::uint32_t r = 0; r < spec.members.size(); ++r)
    children.start([&, r] {
      LifeLine life;
      auto comm = HostCommunicator::join(fd->get(), spec, Rank{r}, life);
      if (!comm || !(*comm)->barrier())
        return 50;
      return body(**comm, {spec.members[r].first_virtual, spec.members[r].virtual_count});
    });
  bool good = true;
  for (std::uint32_t r = 0; r < spec.members.size(); ++r)
    if (const auto end = children.wait(r); end.exit_code != 0) {
      BOOST_TEST_MESSAGE("rank " << r << ": exit " << end.exit_code << " signal " << end.signal);
      good = false;
    }
  return good;
}

BOOST_AUTO_TEST_SUITE(host_communicator)

BOOST_AUTO_TEST_CASE(a_step_has_the_bits_of_one_process_for_any_number_of_members) {
  auto random = testing::random("steps");
  for (const std::size_t count : {0, 1, 3, 1000, 10'000}) { // the last one is above the direct limit
    for (const std::uint32_t v_total : {1, 5, 8, 13}) {
      const auto leaf_seed = random.next_u64();
      constexpr std::uint64_t steps = 6;
      std::array<std::uint64_t, steps> want{};
      LocalCommunicator local({Generation{1}, v_total, count, 5, 64});
      for (std::uint64_t s = 0; s < steps; ++s)
        want[s] = digest(*run_step(local, {0, v_total}, leaf_seed, s));
      for (std::uint32_t members = 1; members <= std::min(v_total, 6u); ++members)
        BOOST_TEST(in_processes(spec_of(members, v_total, count), [&](HostCommunicator& comm, Block block) {
          for (std::uint64_t s = 0; s < steps; ++s) {
            const auto reduced = run_step(comm, block, leaf_seed, s);
            if (!reduced || digest(*reduced) != want[s])
              return 1 + static_cast<int>(s);
          }
          return 0;
        }), "N=" << members << " V=" << v_total << " count=" << count);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_result_stays_whole_until_the_second_reduction_after_it) {
  for (const std::size_t count : {1000, 10'000})
    BOOST_TEST(in_processes(spec_of(4, 8, count), [&](HostCommunicator& comm, Block block) {
      std::vector<Communicator::Reduced> results;
      std::vector<std::uint64_t> digests;
      for (std::uint64_t s = 0; s < 80; ++s) {
        if (s >= 2) {
          // Other members may have filled and published the next step meanwhile.
          if (digest(results[s - 2]) != digests[s - 2] || digest(results[s - 1]) != digests[s - 1])
            return 1;
        }
        const auto reduced = run_step(comm, block, 1, s);
        if (!reduced)
          return 2;
        results.push_back(*reduced);
        digests.push_back(digest(*reduced));
        if (s >= 1 && digest(results[s - 1]) != digests[s - 1])
          return 3;
      }
      return 0;
    }));
}

BOOST_AUTO_TEST_CASE(dropped_leaves_leave_no_trace) {
  LocalCommunicator local({Generation{1}, 8, 100, 5, 64});
  const auto want = digest(*run_step(local, {0, 8}, 3, 0));
  BOOST_TEST(in_processes(spec_of(3, 8, 100), [&](HostCommunicator& comm, Block block) {
    const VirtualWorker first{block.first};
    comm.leaf(first)[7] = 1e30f;
    comm.contribute(first);
    comm.drop_leaves();
    const auto reduced = run_step(comm, block, 3, 0);
    return reduced && digest(*reduced) == want ? 0 : 1;
  }));
}

template <class T>
T combined(Op op, T a, T b) {
  if (op != Op::sum)
    return op == Op::min ? std::min(a, b) : std::max(a, b);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}

// The tree over ranks, as plainly as it can be written.
template <class T>
std::vector<T> reduced(const std::vector<std::vector<T>>& values, Op op, std::size_t first, std::size_t width) {
  if (width == 1)
    return values[first];
  auto left = reduced(values, op, first, width / 2);
  if (first + width / 2 >= values.size())
    return left;
  const auto right = reduced(values, op, first + width / 2, width / 2);
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = combined(op, left[i], right[i]);
  return left;
}

template <class T>
bool all_reduce_matches(std::uint32_t members, std::size_t count, Element element, Op op, Random random) {
  std::vector<std::vector<T>> values(members, std::vector<T>(count));
  for (auto& row : values)
    for (auto& x : row)
      if constexpr (std::is_floating_point_v<T>)
        x = static_cast<T>(random.normal() * 1e3);
      else
        x = static_cast<T>(random.next_u64());
  const auto want = reduced(values, op, 0, std::bit_ceil(members));
  return in_processes(spec_of(members, members, 1), [&](HostCommunicator& comm, Block) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      auto data = values[comm.rank().value];
      if (!comm.all_reduce(data.data(), count, element, op))
        return 1;
      if (data != want)
        return 2;
    }
    return 0;
  });
}

BOOST_AUTO_TEST_CASE(all_reduce_matches_a_plain_reference) {
  auto random = testing::random("all_reduce");
  for (std::uint32_t members = 1; members <= 8; ++members) {
    const auto count = std::array<std::size_t, 5>{0, 1, 7, 1000, 9001}[random.below(5)];
    const auto op = static_cast<Op>(random.below(3));
    BOOST_TEST(all_reduce_matches<float>(members, count, Element::f32, op, random));
    BOOST_TEST(all_reduce_matches<double>(members, count, Element::f64, op, random));
    BOOST_TEST(all_reduce_matches<std::int32_t>(members, count, Element::i32, op, random));
    BOOST_TEST(all_reduce_matches<std::int64_t>(members, count, Element::i64, op, random));
  }
}

BOOST_AUTO_TEST_CASE(half_sums_are_rounded_at_every_node_and_a_nan_wins_a_maximum) {
  BOOST_TEST(in_processes(spec_of(3, 3, 1), [&](HostCommunicator& comm, Block) {
    // (1 + 2^-11) rounds to 1 in f16 at the lower node, so the third term decides alone.
    const std::array<float, 3> terms{1.0f, 0x1p-11f, 0x1p-10f};
    std::uint16_t half = to_f16(terms[comm.rank().value]);
    if (!comm.all_reduce(&half, 1, Element::f16, Op::sum) || from_f16(half) != 1.0f + 0x1p-10f)
      return 1;
    std::uint16_t brain = to_bf16(comm.rank().value == 0 ? 1.0f : 0x1p-8f);
    if (!comm.all_reduce(&brain, 1, Element::bf16, Op::sum) || from_bf16(brain) != 1.0f)
      return 2;
    float x = comm.rank().value == 1 ? std::numeric_limits<float>::quiet_NaN() : 5.0f;
    if (!comm.all_reduce(&x, 1, Element::f32, Op::max) || x == x)
      return 3;
    return 0;
  }));
}

BOOST_AUTO_TEST_CASE(all_gather_and_broadcast_carry_any_size) {
  auto random = testing::random("gather");
  for (std::uint32_t members = 1; members <= 6; ++members)
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, slot_bytes, slot_bytes * 3 + 17}) {
      const auto root = static_cast<std::uint32_t>(random.below(members));
      BOOST_TEST(in_processes(spec_of(members, members, 1), [&](HostCommunicator& comm, Block) {
        const auto byte = [](std::uint32_t r, std::size_t i) {
          return static_cast<std::uint8_t>(r * 57 + i * 3 + i / 256);
        };
        std::vector<std::uint8_t> own(bytes), all(bytes * members), told(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
          own[i] = byte(comm.rank().value, i);
        if (!comm.all_gather(own.data(), all.data(), bytes))
          return 1;
        for (std::uint32_t r = 0; r < members; ++r)
          for (std::size_t i = 0; i < bytes; ++i)
            if (all[r * bytes + i] != byte(r, i))
              return 2;
        if (comm.rank().value == root)
          told = own;
        if (!comm.broadcast(told.data(), bytes, Rank{root}))
          return 3;
        for (std::size_t i = 0; i < bytes; ++i)
          if (told[i] != byte(root, i))
            return 4;
        return comm.barrier() ? 0 : 5;
      }));
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_there_yet_says_so) {
  BOOST_TEST(in_processes(spec_of(1, 1, 1), [](HostCommunicator& comm, Block) {
    int x = 0;
    const auto unsupported = [](const auto& r) { return !r && r.error().code == Errc::unsupported; };
    return unsupported(comm.send(&x, 4, Rank{0}, 0)) && unsupported(comm.recv(&x, 4, Rank{0}, 0)) &&
               unsupported(comm.reduce_scatter(&x, &x, 1, Element::i32, Op::sum)) &&
               unsupported(comm.all_to_all(&x, &x, 4)) && unsupported(comm.split(0, 0)) &&
               comm.broadcast(&x, 4, Rank{1}).error().code == Errc::invalid
             ? 0
             : 1;
  }));
}

BOOST_AUTO_TEST_CASE(a_segment_of_another_plan_is_refused) {
  const auto spec = spec_of(2, 4, 10);
  auto fd = Segment::create(spec);
  BOOST_REQUIRE(fd.has_value());
  LifeLine life;
  auto other = spec;
  other.generation = Generation{10};
  BOOST_TEST((HostCommunicator::join(fd->get(), other, Rank{0}, life).error().code == Errc::stale));
  BOOST_TEST((HostCommunicator::join(fd->get(), spec, Rank{2}, life).error().code == Errc::stale));
  BOOST_TEST(HostCommunicator::join(fd->get(), spec, Rank{0}, life).has_value());
  // That one has left again; a rank is taken once per generation.
  BOOST_TEST((HostCommunicator::join(fd->get(), spec, Rank{0}, life).error().code == Errc::stale));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

// A generation whose members are forked processes that compute steps until they are freed by poison, for the tests of
// deaths, leaves and rebuilds. Owned by the test, which is no member itself.
#pragma once

#include "processes.hpp"

#include <array>

namespace troupe::testing {

constexpr std::uint32_t max_test_members = 8;
constexpr int freed = 7;     ///< exit code: the call ended with Errc::aborted, and so did the next one
constexpr int kept_dead = 8; ///< ended with something else

/// V = 8, small leaves.
SegmentSpec group_spec(std::uint32_t members, std::uint64_t generation = 1, std::size_t f32 = 2000);

struct Stage {
  std::array<Event, max_test_members> ready; ///< by rank: joined, and all others too
  std::array<std::atomic<std::uint32_t>, max_test_members> said_dead{};
  std::array<std::atomic<std::uint64_t>, max_test_members> steps{};
};

/// A member that works until its generation is poisoned.
int work_until_freed(int fd, const SegmentSpec& spec, std::uint32_t rank, Stage& stage);

/// One generation with a member per process.
struct Group {
  explicit Group(std::uint32_t members, std::size_t f32 = 2000);
  void start_workers(); ///< all work when it returns
  SegmentSpec spec;
  UniqueFd fd;
  Shared<Stage> stage;
  Children children;
};

} // namespace troupe::testing

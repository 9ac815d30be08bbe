#include "group.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

SegmentSpec group_spec(std::uint32_t members, std::uint64_t generation, std::size_t f32) {
  return {Generation{generation}, deal(members, 8), 8, f32, 4, 64};
}

int work_until_freed(int fd, const SegmentSpec& spec, std::uint32_t rank, Stage& stage) {
  LifeLine life;
  auto comm = HostCommunicator::join(fd, spec, Rank{rank}, life);
  if (!comm || !(*comm)->barrier())
    return 60;
  stage.ready[rank].raise();
  const Block block{spec.members[rank].first_virtual, spec.members[rank].virtual_count};
  for (std::uint64_t s = 0;; ++s) {
    const auto reduced = run_step(**comm, block, 1, s);
    stage.steps[rank] = s;
    if (reduced)
      continue;
    stage.said_dead[rank] = (*comm)->poison().dead_rank;
    const auto again = (*comm)->barrier();
    return reduced.error().code == Errc::aborted && !again && again.error().code == Errc::aborted ? freed : kept_dead;
  }
}

Group::Group(std::uint32_t members, std::size_t f32) : spec(group_spec(members, 1, f32)) {
  auto created = Segment::create(spec);
  BOOST_REQUIRE(created.has_value());
  fd = std::move(*created);
}

void Group::start_workers() {
  for (std::uint32_t r = 0; r < spec.members.size(); ++r)
    children.start([this, r] { return work_until_freed(fd.get(), spec, r, *stage); });
  for (std::uint32_t r = 0; r < spec.members.size(); ++r)
    BOOST_REQUIRE(stage->ready[r].wait());
}

} // namespace troupe::testing

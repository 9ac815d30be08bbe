#include "comm/segment.hpp"

#include "comm/memory_limit.hpp"
#include "processes.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace troupe {
namespace {

using testing::Children;
using testing::deal;

SegmentSpec small(std::uint32_t members = 3, std::uint32_t v_total = 8) {
  return {Generation{5}, deal(members, v_total), v_total, 100, 4, 128};
}

BOOST_AUTO_TEST_SUITE(segment)

BOOST_AUTO_TEST_CASE(who_attaches_finds_what_the_creator_wrote) {
  const auto spec = small();
  auto fd = Segment::create(spec);
  BOOST_REQUIRE(fd.has_value());
  auto attached = Segment::attach(fd->get());
  BOOST_REQUIRE(attached.has_value());
  BOOST_TEST(((*attached)->spec() == spec));
  BOOST_TEST(!(*attached)->poisoned());
}

BOOST_AUTO_TEST_CASE(its_size_cannot_be_changed_by_anybody) {
  auto fd = Segment::create(small());
  BOOST_REQUIRE(fd.has_value());
  BOOST_TEST(::ftruncate(fd->get(), 0) == -1);
  BOOST_TEST(errno == EPERM);
  BOOST_TEST(::ftruncate(fd->get(), 1 << 24) == -1);
}

BOOST_AUTO_TEST_CASE(a_specification_that_makes_no_sense_is_refused) {
  const auto refused = [](auto change) {
    auto spec = small();
    change(spec);
    const auto fd = Segment::create(spec);
    return !fd && fd.error().code == Errc::invalid;
  };
  BOOST_TEST(refused([](auto& s) { s.members.clear(); }));
  BOOST_TEST(refused([](auto& s) { s.virtual_total = 0; }));
  BOOST_TEST(refused([](auto& s) { s.virtual_total = 9; }));
  BOOST_TEST(refused([](auto& s) { s.members[1].virtual_count += 1; }));
  BOOST_TEST(refused([](auto& s) { s.members[2].virtual_count = ~0u; }));
  BOOST_TEST(refused([](auto& s) { s.attachment_bytes = 100; }));
  BOOST_TEST(refused([](auto& s) { s.f32_count = ~0ull; }));
  BOOST_TEST(refused([](auto& s) { s.f32_count = max_segment_bytes / 4; }));
}

BOOST_AUTO_TEST_CASE(a_full_memory_is_an_error_at_creation_and_says_how_much_was_wanted) {
  auto spec = small();
  spec.f32_count = max_segment_bytes / 4 / 64;
  const auto fd = Segment::create(spec);
  BOOST_REQUIRE(!fd.has_value());
  BOOST_TEST((fd.error().code == Errc::exhausted));
  BOOST_TEST(fd.error().context.find("available") != std::string::npos);
  BOOST_TEST(check_memory_for(1, "test").has_value());
}

BOOST_AUTO_TEST_CASE(a_refused_allocation_is_an_error_and_leaves_no_descriptor) {
  Children children;
  children.start([] {
    const auto before = testing::count_entries("/proc/self/fd");
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64 * 1024, 64 * 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto fd = Segment::create(small());
    if (fd || fd.error().code != Errc::exhausted)
      return 1;
    return testing::count_entries("/proc/self/fd") == before ? 0 : 2;
  });
  BOOST_TEST(children.wait(0).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_a_sealed_segment_of_ours_is_refused) {
  const auto refused = [](int fd) {
    const auto attached = Segment::attach(fd);
    return !attached && attached.error().code == Errc::corrupt;
  };
  BOOST_TEST(refused(-1));
  UniqueFd plain(::memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_TEST(refused(plain.get()));
  BOOST_REQUIRE(::ftruncate(plain.get(), 1 << 20) == 0);
  BOOST_TEST(refused(plain.get()));
  BOOST_REQUIRE(::fcntl(plain.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  BOOST_TEST(refused(plain.get()));
}

BOOST_AUTO_TEST_CASE(no_damage_to_the_header_gets_past_the_check_or_crashes_it) {
  auto random = testing::random("damage");
  const auto spec = small();
  auto original = Segment::create(spec);
  BOOST_REQUIRE(original.has_value());
  for (int round = 0; round < 3000; ++round) {
    const auto at = static_cast<off_t>(random.below(256 + 3 * 8));
    std::uint8_t before = 0;
    BOOST_REQUIRE(::pread(original->get(), &before, 1, at) == 1);
    const auto damaged = static_cast<std::uint8_t>(before ^ (1u << random.below(8)));
    BOOST_REQUIRE(::pwrite(original->get(), &damaged, 1, at) == 1);
    if (const auto attached = Segment::attach(original->get())) // then at least it is inside the memory
      BOOST_REQUIRE((*attached)->layout().total == layout_of((*attached)->spec())->total);
    else
      BOOST_REQUIRE(attached.error().code == Errc::corrupt);
    BOOST_REQUIRE(::pwrite(original->get(), &before, 1, at) == 1);
  }
}

BOOST_AUTO_TEST_CASE(only_the_first_poison_counts_and_its_cause_is_kept) {
  auto fd = Segment::create(small());
  BOOST_REQUIRE(fd.has_value());
  auto attached = Segment::attach(fd->get());
  BOOST_REQUIRE(attached.has_value());
  const auto before = monotonic_now();
  BOOST_TEST((*attached)->poison(3, PoisonSource::caller, 1, "the node saw rank 1 die")); // 3: an outsider
  BOOST_TEST(!(*attached)->poison(0, PoisonSource::watcher, 2, "late"));
  const auto facts = (*attached)->poison_facts();
  BOOST_TEST(facts.cause == "the node saw rank 1 die");
  BOOST_TEST(facts.dead_rank == 1u);
  BOOST_TEST((facts.at >= before && facts.at <= monotonic_now()));
}

BOOST_AUTO_TEST_CASE(a_long_cause_is_cut) {
  auto fd = Segment::create(small());
  auto attached = Segment::attach(fd->get());
  (*attached)->poison(0, PoisonSource::caller, nobody, std::string(5000, 'x'));
  const auto facts = (*attached)->poison_facts();
  BOOST_TEST(facts.cause.size() > 100u);
  BOOST_TEST(facts.cause.size() < 200u);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

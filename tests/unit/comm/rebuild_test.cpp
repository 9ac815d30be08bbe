// How generations end without a death, and what many of them leave behind: nothing.
#include "comm/host_communicator.hpp"

#include "group.hpp"

#include <boost/test/unit_test.hpp>

#include <sched.h>
#include <thread>

namespace troupe {
namespace {

using testing::Children;
using testing::freed;
using testing::Group;
using testing::group_spec;
using testing::run_step;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true; // maps memory of its own as it goes
#else
constexpr bool sanitized = false;
#endif

BOOST_AUTO_TEST_SUITE(rebuild)

BOOST_AUTO_TEST_CASE(an_abort_from_another_thread_frees_this_process_and_all_others) {
  Group g(3);
  for (std::uint32_t r = 0; r < 3; ++r)
    g.children.start([&g, r] {
      LifeLine life;
      auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{r}, life);
      if (!comm || !(*comm)->barrier())
        return 60;
      g.stage->ready[r].raise();
      std::thread other;
      if (r == 1) // the third member never comes, so the first two wait
        other = std::thread([&] {
          while ((*comm)->awaited().size() != 1)
            std::this_thread::yield();
          (*comm)->abort("drain: the job grows");
          (*comm)->abort("a second cause");
        });
      result<void> outcome{};
      if (r < 2)
        outcome = (*comm)->barrier();
      else
        while (!(*comm)->poisoned())
          std::this_thread::yield();
      if (other.joinable())
        other.join();
      const auto poison = (*comm)->poison();
      const bool told = r == 2 || (!outcome && outcome.error().code == Errc::aborted);
      return told && poison.cause == "drain: the job grows" && poison.dead_rank == nobody ? freed : 1;
    });
  for (std::uint32_t r = 0; r < 3; ++r)
    BOOST_TEST(g.children.wait(r).exit_code == freed);
}

BOOST_AUTO_TEST_CASE(who_was_hurried_out_of_a_wait_is_an_ordinary_thread_once_the_generation_is_left) {
  Group g(3);
  for (std::uint32_t r = 0; r < 2; ++r)
    g.children.start([&g, r] {
      LifeLine life;
      auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{r}, life, {Duration{0}, Duration{0}});
      std::thread other;
      if (r == 0)
        other = std::thread([&] {
          while ((*comm)->awaited() != std::vector{Rank{2}})
            std::this_thread::yield();
          (*comm)->abort("drain");
        });
      const auto outcome = (*comm)->barrier(); // the third member never joins
      if (other.joinable())
        other.join();
      if (outcome || outcome.error().code != Errc::aborted)
        return 1;
      comm->reset();
      return ::sched_getscheduler(0) == SCHED_OTHER ? freed : 2;
    });
  BOOST_TEST(g.children.wait(0).exit_code == freed);
  BOOST_TEST(g.children.wait(1).exit_code == freed);
}

BOOST_AUTO_TEST_CASE(members_that_leave_in_order_poison_nothing) {
  for (int round = 0; round < 20; ++round) {
    Group g(4);
    auto outside = Segment::attach(g.fd.get());
    for (std::uint32_t r = 0; r < 4; ++r)
      g.children.start([&g, r] {
        LifeLine life;
        auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{r}, life);
        if (!comm)
          return 60;
        const Block block{g.spec.members[r].first_virtual, g.spec.members[r].virtual_count};
        for (std::uint64_t s = 0; s < 5; ++s)
          if (!run_step(**comm, block, 1, s))
            return 1;
        return 0; // first ones are gone while slow ones still read
      });
    for (std::uint32_t r = 0; r < 4; ++r)
      BOOST_TEST(g.children.wait(r).exit_code == 0);
    BOOST_TEST(!(*outside)->poisoned());
  }
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_member_that_left_is_told) {
  Group g(3);
  for (std::uint32_t r = 0; r < 3; ++r)
    g.children.start([&g, r] {
      LifeLine life;
      auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{r}, life);
      if (!comm || !(*comm)->barrier())
        return 60;
      if (r == 2)
        return 0;
      const auto outcome = (*comm)->barrier();
      return !outcome && outcome.error().code == Errc::aborted && (*comm)->poison().dead_rank == nobody ? freed : 1;
    });
  BOOST_TEST(g.children.wait(2).exit_code == 0);
  BOOST_TEST(g.children.wait(0).exit_code == freed);
  BOOST_TEST(g.children.wait(1).exit_code == freed);
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_the_wait_and_names_who_is_missing) {
  Group g(3);
  for (std::uint32_t r = 0; r < 2; ++r)
    g.children.start([&g, r] {
      LifeLine life;
      const auto longest = std::chrono::milliseconds(r == 0 ? 50 : 60'000);
      auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{r}, life, {longest, Duration{-1}});
      const auto outcome = (*comm)->barrier();
      if (outcome)
        return 1;
      if (r == 1)
        return outcome.error().code == Errc::aborted ? freed : 2;
      const auto& text = outcome.error().context;
      const bool named = text.find("for ranks") != std::string::npos && text.ends_with(" 2");
      return named && outcome.error().code == Errc::deadline ? freed : 3;
    });
  BOOST_TEST(g.children.wait(0).exit_code == freed);
  BOOST_TEST(g.children.wait(1).exit_code == freed);
}

BOOST_AUTO_TEST_CASE(three_hundred_rebuilds_leave_descriptors_threads_and_mappings_flat) {
  constexpr std::uint32_t members = 3;
  constexpr int rebuilds = 300;
  // All segments exist up front as far as the members are concerned: they open them in turn through the
  // parent's descriptors, whose number does not change while they run.
  std::vector<UniqueFd> segments;
  for (std::uint64_t g = 1; g <= rebuilds; ++g)
    segments.push_back(std::move(*Segment::create(group_spec(members, g, 64))));
  Children children;
  for (std::uint32_t r = 0; r < members; ++r)
    children.start([&, r] {
      LifeLine life;
      std::size_t fds = 0, threads = 0, mappings = 0;
      for (int g = 0; g < rebuilds; ++g) {
        {
          const auto spec = group_spec(members, static_cast<std::uint64_t>(g + 1), 64);
          auto comm = HostCommunicator::join(segments[static_cast<std::size_t>(g)].get(), spec, Rank{r}, life);
          const Block block{spec.members[r].first_virtual, spec.members[r].virtual_count};
          if (!comm || !(*comm)->barrier() || !run_step(**comm, block, 1, 0))
            return 60;
          if (g % 3 == 0 && (*comm)->barrier())
            (*comm)->abort("rebuild");
        }
        const auto now_fds = testing::count_entries("/proc/self/fd");
        const auto now_threads = testing::count_entries("/proc/self/task");
        const auto now_mappings = testing::count_lines("/proc/self/maps");
        if (testing::count_lines("/proc/self/maps", "troupe-generation") != 0)
          return 62;
        if (g == 20) {
          fds = now_fds;
          threads = now_threads;
          mappings = now_mappings;
        } else if (g > 20 && (now_fds != fds || now_threads != threads || (!sanitized && now_mappings > mappings))) {
          return 61;
        }
      }
      return 0;
    });
  for (std::uint32_t r = 0; r < members; ++r)
    BOOST_TEST(children.wait(r, std::chrono::seconds(60)).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(an_old_generation_may_be_closed_while_the_next_one_already_runs) {
  Children children;
  const auto first = group_spec(2, 1);
  const auto second = group_spec(2, 2);
  auto fd1 = Segment::create(first);
  auto fd2 = Segment::create(second);
  for (std::uint32_t r = 0; r < 2; ++r)
    children.start([&, r] {
      LifeLine life;
      auto old_comm = HostCommunicator::join(fd1->get(), first, Rank{r}, life);
      auto new_comm = HostCommunicator::join(fd2->get(), second, Rank{1 - r}, life);
      if (!old_comm || !new_comm || !(*old_comm)->barrier())
        return 60;
      (*old_comm)->abort("drain");
      if (!(*new_comm)->barrier())
        return 61;
      old_comm->reset();
      for (int i = 0; i < 100; ++i)
        if (!(*new_comm)->barrier())
          return 62;
      return (*new_comm)->poisoned() ? 63 : 0;
    });
  BOOST_TEST(children.wait(0).exit_code == 0);
  BOOST_TEST(children.wait(1).exit_code == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

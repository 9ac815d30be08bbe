// Deaths of members at any moment: every survivor's call ends with Errc::aborted, and nothing is left behind.
#include "comm/life_lock.hpp"

#include "group.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace troupe {
namespace {

using testing::Children;
using testing::freed;
using testing::Group;
using testing::group_spec;
using testing::run_step;
using testing::Shared;
using testing::Stage;

// Passes some time of the machine without sleeping: waits until a member has made `steps` more steps.
void let_run(const Stage& stage, std::uint32_t rank, std::uint64_t steps) {
  const auto start = stage.steps[rank].load();
  const auto deadline = monotonic_now() + std::chrono::seconds(10);
  while (stage.steps[rank].load() < start + steps && monotonic_now() < deadline)
    std::this_thread::yield();
}

BOOST_AUTO_TEST_SUITE(failure)

BOOST_AUTO_TEST_CASE(a_member_killed_at_any_moment_frees_all_others) {
  auto random = testing::random("kill");
  for (int round = 0; round < 60; ++round) {
    const auto members = static_cast<std::uint32_t>(2 + random.below(5));
    Group g(members, round % 2 ? 2000 : 10'000);
    g.start_workers();
    const auto victim = static_cast<std::uint32_t>(random.below(members));
    let_run(*g.stage, static_cast<std::uint32_t>(random.below(members)), random.below(20));
    g.children.signal(victim, SIGKILL);
    for (std::uint32_t r = 0; r < members; ++r) {
      const auto end = g.children.wait(r);
      BOOST_TEST(end.ended);
      if (r == victim) {
        BOOST_TEST(end.signal == SIGKILL);
      } else {
        BOOST_TEST(end.exit_code == freed);
        BOOST_TEST(g.stage->said_dead[r].load() == victim);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(two_or_more_deaths_at_once_free_the_last_survivors) {
  auto random = testing::random("deaths");
  for (int round = 0; round < 40; ++round) {
    const auto members = static_cast<std::uint32_t>(3 + random.below(4));
    Group g(members);
    g.start_workers();
    std::vector<bool> dies(members);
    const auto deaths = 2 + random.below(members - 2);
    for (std::uint64_t n = 0; n < deaths;)
      if (const auto r = random.below(members); !dies[r]) {
        dies[r] = true;
        ++n;
      }
    for (std::uint32_t r = 0; r < members; ++r) // neighbours die together, so some watchers die with their peers
      if (dies[r])
        g.children.signal(r, SIGKILL);
    for (std::uint32_t r = 0; r < members; ++r) {
      const auto end = g.children.wait(r);
      BOOST_TEST(end.ended);
      if (!dies[r])
        BOOST_TEST(end.exit_code == freed);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_poisoner_that_dies_before_it_woke_anyone_is_made_good_by_its_watcher) {
  Group g(4);
  for (std::uint32_t r = 0; r < 3; ++r)
    g.children.start([&g, r] { return work_until_freed(g.fd.get(), g.spec, r, *g.stage); });
  g.children.start([&g] {
    LifeLine life;
    auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{3}, life);
    auto segment = Segment::attach(g.fd.get());
    if (!comm || !segment || !(*comm)->barrier() || !g.stage->ready[0].wait())
      return 60;
    while ((*segment)->waiters().load() < 3) // all others sleep
      std::this_thread::yield();
    (*segment)->poison_word().store(1);
    ::_exit(0);
  });
  for (std::uint32_t r = 0; r < 3; ++r)
    BOOST_TEST(g.children.wait(r, std::chrono::seconds(10)).exit_code == freed);
}

BOOST_AUTO_TEST_CASE(a_member_that_dies_before_it_ever_joined_leaves_the_others_to_an_abort_from_outside) {
  Group g(3);
  for (std::uint32_t r = 0; r < 2; ++r)
    g.children.start([&g, r] {
      LifeLine life;
      auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{r}, life);
      g.stage->ready[r].raise();
      const auto connected = (*comm)->barrier();
      return !connected && connected.error().code == Errc::aborted && (*comm)->poison().dead_rank == 2 ? freed : 1;
    });
  BOOST_REQUIRE((g.stage->ready[0].wait() && g.stage->ready[1].wait()));
  auto node = Segment::attach(g.fd.get()); // the node saw it and says so
  BOOST_REQUIRE(node.has_value());
  (*node)->poison((*node)->size(), PoisonSource::caller, 2, "worker 2 died before it joined");
  BOOST_TEST(g.children.wait(0).exit_code == freed);
  BOOST_TEST(g.children.wait(1).exit_code == freed);
}

BOOST_AUTO_TEST_CASE(a_stopped_member_that_wakes_later_writes_into_memory_nobody_reads) {
  Group old(4);
  old.start_workers();
  old.children.signal(3, SIGSTOP);
  auto node = Segment::attach(old.fd.get());
  BOOST_REQUIRE(node.has_value());
  (*node)->poison((*node)->size(), PoisonSource::caller, 3, "worker 3 is silent");
  for (std::uint32_t r = 0; r < 3; ++r)
    BOOST_TEST(old.children.wait(r).exit_code == freed);

  const auto spec = group_spec(3, 2);
  auto fd = Segment::create(spec);
  BOOST_REQUIRE(fd.has_value());
  Shared<std::array<std::uint64_t, 3>> digests;
  Shared<Stage> stage;
  Children children;
  for (std::uint32_t r = 0; r < 3; ++r)
    children.start([&, r] {
      LifeLine life;
      auto comm = HostCommunicator::join(fd->get(), spec, Rank{r}, life);
      if (!comm || !(*comm)->barrier())
        return 60;
      const Block block{spec.members[r].first_virtual, spec.members[r].virtual_count};
      for (std::uint64_t s = 0; s < 400; ++s) {
        if (s == 100)
          stage->ready[r].raise();
        const auto reduced = run_step(**comm, block, 1, s);
        if (!reduced)
          return 1;
        (*digests)[r] = testing::digest(*reduced);
      }
      return 0;
    });
  BOOST_REQUIRE(stage->ready[0].wait());
  old.children.signal(3, SIGCONT); // goes on in the middle of the new generation's steps, and is told to stop
  const auto late = old.children.wait(3);
  BOOST_TEST(late.exit_code == freed);
  for (std::uint32_t r = 0; r < 3; ++r)
    BOOST_TEST(children.wait(r).exit_code == 0);
  BOOST_TEST((*digests)[0] == (*digests)[1]);
  BOOST_TEST((*digests)[0] == (*digests)[2]);
}

// A member that joins, then does `last` while the others wait in a reduction.
void one_member_ends_by(const std::function<void()>& last, const std::function<void(Children::End)>& check) {
  Group g(3);
  for (std::uint32_t r = 0; r < 2; ++r)
    g.children.start([&g, r] { return work_until_freed(g.fd.get(), g.spec, r, *g.stage); });
  g.children.start([&] {
    auto* life = new LifeLine;
    auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{2}, *life);
    if (!comm || !(*comm)->barrier())
      return 60;
    for (auto r : {0, 1})
      if (!g.stage->ready[static_cast<std::size_t>(r)].wait())
        return 61;
    last();
    return 62;
  });
  check(g.children.wait(2));
  for (std::uint32_t r = 0; r < 2; ++r) {
    BOOST_TEST(g.children.wait(r).exit_code == freed);
    BOOST_TEST(g.stage->said_dead[r].load() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(an_exit_without_an_orderly_leave_is_a_death) {
  one_member_ends_by([] { ::_exit(0); }, [](Children::End end) { BOOST_TEST(end.exit_code == 0); });
}

BOOST_AUTO_TEST_CASE(a_replaced_program_is_a_death) {
  one_member_ends_by([] { ::execl("/bin/true", "true", nullptr); },
                     [](Children::End end) { BOOST_TEST(end.exit_code == 0); });
}

BOOST_AUTO_TEST_CASE(a_crash_poisons_first_and_then_takes_its_default_course) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    one_member_ends_by(
      [&] {
        ::close(2);
        install_crash_handler();
        if (signal == SIGABRT)
          std::abort();
        ::raise(signal);
      },
      [&](Children::End end) { BOOST_TEST(end.signal == signal); });
}

BOOST_AUTO_TEST_CASE(a_bad_access_and_a_stack_overflow_poison_too) {
  one_member_ends_by(
    [] {
      ::close(2);
      install_crash_handler();
      auto* page = static_cast<volatile int*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      *page = 1;
    },
    [](Children::End end) { BOOST_TEST(end.signal == SIGSEGV); });
  one_member_ends_by(
    [] {
      ::close(2);
      install_crash_handler();
      CrashStack stack;
      static volatile int depth = 0;
      struct Deep {
        static int fall(volatile char* above) {
          volatile char here[4096];
          here[0] = *above;
          depth = depth + 1;
          return depth > 100'000'000 ? 0 : fall(here) + here[0];
        }
      };
      volatile char top = 1;
      Deep::fall(&top);
    },
    [](Children::End end) { BOOST_TEST(end.signal == SIGSEGV); });
}

BOOST_AUTO_TEST_CASE(the_cause_of_a_crash_names_the_signal) {
  Group g(2);
  g.children.start([&g] {
    LifeLine life;
    auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{0}, life);
    if (!(*comm)->barrier())
      return 60;
    const auto second = (*comm)->barrier();
    return !second && (*comm)->poison().cause == "crashed: SIGSEGV" && (*comm)->poison().dead_rank == 1 ? freed : 1;
  });
  g.children.start([&g] {
    ::close(2);
    install_crash_handler();
    LifeLine life;
    auto comm = HostCommunicator::join(g.fd.get(), g.spec, Rank{1}, life);
    if (!(*comm)->barrier())
      return 60;
    ::raise(SIGSEGV);
    return 61;
  });
  BOOST_TEST(g.children.wait(0).exit_code == freed);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

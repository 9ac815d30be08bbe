#define BOOST_TEST_MODULE slot_bank_process
#include "base/clock.hpp"
#include "tests/unit/checkpoint/state.hpp"
#include "tests/unit/seed.hpp"

#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::checkpoint;
using namespace troupe::test;

namespace {

// Killed at the latest with its parent, however a test ends.
struct Child {
  pid_t pid = -1;
  UniqueFd from; ///< what the child writes to its end
};

template <class Body>
Child start(Body&& body) {
  int ends[2];
  BOOST_REQUIRE_EQUAL(::pipe(ends), 0);
  const auto pid = ::fork();
  BOOST_REQUIRE(pid >= 0);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    body(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  return {pid, UniqueFd(ends[0])};
}

void end(Child& child, int signal) {
  ::kill(child.pid, signal);
  int status = 0;
  BOOST_REQUIRE_EQUAL(::waitpid(child.pid, &status, 0), child.pid);
}

void wait_for_word(const Child& child) {
  pollfd ready{child.from.get(), POLLIN, 0};
  BOOST_REQUIRE_MESSAGE(::poll(&ready, 1, 10'000) == 1, "no word from the child within 10 s");
  char byte = 0;
  BOOST_REQUIRE_EQUAL(::read(child.from.get(), &byte, 1), 1);
}

void say(int fd) {
  const char byte = '.';
  if (::write(fd, &byte, 1) != 1)
    ::_exit(3);
}

// Publishes versions as fast as it can, saying so to the pipe's reader only through the bank.
[[noreturn]] void write_for_ever(int bank_fd, int out, std::uint64_t first) {
  const auto bank = SlotBank::attach(bank_fd).value();
  say(out);
  for (std::uint64_t step = first;; ++step) {
    if (!put(bank, key(step)))
      ::_exit(2);
    bank.pulse().step.store(step, std::memory_order_relaxed);
    if (step % 8 == 0)
      bank.set_agreed(key(step));
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_writer_killed_at_any_moment_leaves_complete_versions_only_and_costs_at_most_one) {
  test::for_each_seed(1, [](std::uint64_t seed) {
    Random random(seed, "kills");
    const auto layout = small_layout(4000);
    const auto fd = SlotBank::create(layout).value();
    const auto bank = SlotBank::attach(fd.get()).value();
    std::uint64_t next = 0;
    std::vector<std::byte> scratch(layout.data_bytes());
    for (int round = 0; round < 100; ++round) {
      auto child = start([&](int out) { write_for_ever(fd.get(), out, next); });
      wait_for_word(child);
      // Reads while the writer writes: whatever read() accepts is right.
      const auto until = monotonic_now() + std::chrono::microseconds(random.below(3000));
      do {
        for (const auto& version : bank.list()) {
          const auto n = random.below(layout.size());
          const auto out = std::span(scratch).first(layout.pieces()[n].bytes());
          const auto read = bank.read(version, n, out);
          if (read)
            BOOST_REQUIRE(std::ranges::equal(out, content(layout, n, version.key)));
          else
            BOOST_REQUIRE(read.error().code == Errc::stale);
        }
      } while (monotonic_now() < until);
      end(child, SIGKILL);
      const auto published = bank.pulse().step.load();
      const auto found = bank.list();
      if (published == 0 && found.empty())
        continue; // killed before its first version
      BOOST_REQUIRE(!found.empty());
      BOOST_REQUIRE(found[0].key.step.value >= published);
      BOOST_REQUIRE(found[0].key.step.value <= published + 1);
      if (published > 0) {
        BOOST_REQUIRE(found.size() >= 2);
        BOOST_REQUIRE_EQUAL(found[1].key.step.value + 1, found[0].key.step.value);
      }
      for (const auto& version : found) {
        BOOST_REQUIRE(bank.verify(version).has_value());
        BOOST_REQUIRE(holds(bank, version));
      }
      next = found[0].key.step.value + 1;
    }
    BOOST_TEST(next > 100u);
  });
}

BOOST_AUTO_TEST_CASE(the_bank_outlives_every_process_that_wrote_to_it) {
  const auto fd = SlotBank::create(small_layout()).value();
  auto child = start([&](int) { put(SlotBank::attach(fd.get()).value(), key(5)).value(); });
  int status = 0;
  BOOST_REQUIRE_EQUAL(::waitpid(child.pid, &status, 0), child.pid);
  const auto bank = SlotBank::attach(fd.get()).value();
  BOOST_TEST(holds(bank, bank.find(key(5)).value()));
}

BOOST_AUTO_TEST_CASE(a_pin_ends_with_its_process_even_by_kill_and_even_before_it_is_reaped) {
  const auto fd = SlotBank::create(small_layout(), 4).value();
  const auto bank = SlotBank::attach(fd.get()).value();
  for (std::uint64_t step = 0; step < 3; ++step)
    BOOST_REQUIRE(put(bank, key(step)).has_value());
  bank.set_agreed(key(0));
  auto child = start([&](int out) {
    const auto mine = SlotBank::attach(fd.get()).value();
    const auto pin = mine.pin(key(1)).value();
    say(out);
    for (;;)
      ::pause();
  });
  wait_for_word(child);
  BOOST_REQUIRE(put(bank, key(3)).has_value());
  // 0 agreed, 1 pinned, 2 and 3 newest.
  BOOST_TEST((bank.begin_write(key(4)).error().code == Errc::exhausted));
  ::kill(child.pid, SIGKILL);
  siginfo_t info{};
  BOOST_REQUIRE_EQUAL(::waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT), 0);
  BOOST_TEST(put(bank, key(4)).has_value());
  BOOST_TEST(!bank.find(key(1)).has_value());
  end(child, SIGKILL);
}

BOOST_AUTO_TEST_CASE(a_forked_child_that_exits_does_not_take_its_parents_pin_away) {
  const auto bank = fresh_bank();
  BOOST_REQUIRE(put(bank, key(1)).has_value());
  const auto pin = std::make_unique<SlotBank::Pin>(bank.pin(key(1)).value());
  auto child = start([&](int) { pin->~Pin(); });
  int status = 0;
  BOOST_REQUIRE_EQUAL(::waitpid(child.pid, &status, 0), child.pid);
  BOOST_TEST(bank.list().front().pinned);
}

BOOST_AUTO_TEST_CASE(pinned_versions_stay_right_while_a_writer_races_with_the_pinner) {
  test::for_each_seed(1, [](std::uint64_t seed) {
    Random random(seed, "pins");
    const auto fd = SlotBank::create(small_layout(2000), 6).value();
    auto child = start([&](int out) { write_for_ever(fd.get(), out, 1); });
    wait_for_word(child);
    const auto bank = SlotBank::attach(fd.get()).value();
    int pinned = 0;
    const auto deadline = monotonic_now() + std::chrono::seconds(20);
    while (pinned < 300 && monotonic_now() < deadline) {
      const auto found = bank.list();
      if (found.empty())
        continue;
      const auto pin = bank.pin(found[random.below(found.size())].key);
      if (!pin)
        continue;
      ++pinned;
      for (int i = 0; i < 3; ++i)
        BOOST_REQUIRE(holds(bank, pin->version()));
    }
    end(child, SIGKILL);
    BOOST_TEST(pinned == 300);
  });
}

BOOST_AUTO_TEST_CASE(the_pulse_is_seen_by_other_processes_without_a_message) {
  const auto fd = SlotBank::create(small_layout()).value();
  auto child = start([&](int out) {
    const auto bank = SlotBank::attach(fd.get()).value();
    bank.pulse().progress.store(42, std::memory_order_relaxed);
    bank.pulse().waiting.store(1, std::memory_order_relaxed);
    say(out);
  });
  wait_for_word(child);
  const auto bank = SlotBank::attach(fd.get(), SlotBank::Access::read_only).value();
  BOOST_TEST(bank.pulse().progress.load() == 42u);
  BOOST_TEST(bank.pulse().waiting.load() == 1u);
  int status = 0;
  BOOST_REQUIRE_EQUAL(::waitpid(child.pid, &status, 0), child.pid);
}

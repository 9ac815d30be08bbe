#define BOOST_TEST_MODULE store_kill
#include "base/clock.hpp"
#include "tests/unit/checkpoint/saving.hpp"
#include "tests/unit/seed.hpp"

#include <csignal>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::checkpoint;
using namespace troupe::test;

namespace {

// Whatever a death left: the newest checkpoint is whole, nothing has to be refused, and the next open sweeps the rest.
std::uint64_t newest_step_after_a_death(const Folder& folder) {
  std::vector<Refusal> refused;
  const auto found = newest_sound(folder.path(), refused).value();
  BOOST_REQUIRE(found.has_value());
  BOOST_REQUIRE(refused.empty());
  BOOST_REQUIRE(holds(*found));
  BOOST_REQUIRE_EQUAL(found->meta().position, found->meta().key.step.value * 64);
  BOOST_REQUIRE(CheckpointStore::open(folder.path()).has_value());
  BOOST_REQUIRE_EQUAL(folder.names().size(), 3 * keys_in(folder.path()).size());
  return found->meta().key.step.value;
}

// Runs `body` in a child that is killed before its n-th system call. False: it needed fewer and ended by itself.
template <class Body>
bool killed_before_call(int n, Body&& body) {
  const auto pid = ::fork();
  BOOST_REQUIRE(pid >= 0);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      ::_exit(77);
    ::raise(SIGSTOP);
    ::_exit(body() ? 0 : 1);
  }
  auto status = wait_status(pid);
  for (int stops = 0; WIFSTOPPED(status) && stops < 2 * n + 1; ++stops) { // each call stops at its start and its end
    ::ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
    status = wait_status(pid);
  }
  if (!WIFSTOPPED(status)) {
    BOOST_REQUIRE_MESSAGE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status " << status);
    return false;
  }
  ::kill(pid, SIGKILL);
  BOOST_REQUIRE(WIFSIGNALED(wait_status(pid)));
  return true;
}

bool may_trace() {
  const auto pid = ::fork();
  if (pid == 0)
    ::_exit(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
  return WEXITSTATUS(wait_status(pid)) == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_saver_killed_before_any_one_of_its_system_calls_leaves_only_complete_checkpoints) {
  if (!may_trace()) {
    BOOST_TEST_MESSAGE("skipped: this user may not trace its children");
    return;
  }
  const Folder folder;
  const auto bank = fresh_bank();
  const auto store = CheckpointStore::open(folder.path()).value();
  BOOST_REQUIRE(save(store, bank, key(1)).has_value());
  BOOST_REQUIRE(put(bank, key(2)).has_value());
  BOOST_REQUIRE(CheckpointReader::open(save(store, bank, key(2)).value().entry.path).has_value());
  BOOST_REQUIRE(store.remove(key(2)).has_value()); // HDF5 is warm: the child makes only the calls of a save
  int n = 0;
  bool committed = false;
  while (killed_before_call(n, [&] { return save(store, bank, key(2)).has_value(); })) {
    const auto newest = newest_step_after_a_death(folder);
    BOOST_REQUIRE(newest == 2 || !committed); // once past the commit, always past it
    committed = newest == 2;
    BOOST_REQUIRE(store.remove(key(2)).has_value());
    BOOST_REQUIRE(++n < 2000);
  }
  BOOST_TEST_MESSAGE("system calls of a save: " << n);
  BOOST_TEST(committed);
  BOOST_TEST(n > 30);
}

BOOST_AUTO_TEST_CASE(a_remover_killed_before_any_one_of_its_system_calls_leaves_the_others_alone) {
  if (!may_trace()) {
    BOOST_TEST_MESSAGE("skipped: this user may not trace its children");
    return;
  }
  const Folder folder;
  const auto bank = fresh_bank();
  const auto store = CheckpointStore::open(folder.path()).value();
  BOOST_REQUIRE(save(store, bank, key(1)).has_value());
  BOOST_REQUIRE(save(store, bank, key(2)).has_value());
  for (int n = 0; killed_before_call(n, [&] { return store.remove(key(2)).has_value(); }); ++n) {
    newest_step_after_a_death(folder);
    BOOST_REQUIRE(save(store, bank, key(2)).has_value());
    BOOST_REQUIRE(n < 200);
  }
  BOOST_TEST(newest_step_after_a_death(folder) == 1u);
}

BOOST_AUTO_TEST_CASE(a_saver_killed_at_any_moment_leaves_only_complete_checkpoints) {
  test::for_each_seed(1, [](std::uint64_t seed) {
    Random random(seed, "kills");
    const Folder folder;
    const auto layout = small_layout(60'000);
    const auto fd = SlotBank::create(layout).value();
    const auto bank = SlotBank::attach(fd.get()).value();
    // How long a save takes, to aim at; bounded, since a busy machine may have held up this one.
    const auto started = monotonic_now();
    BOOST_REQUIRE(save(CheckpointStore::open(folder.path()).value(), bank, key(1)).has_value());
    const auto took = std::min<Duration>(monotonic_now() - started, std::chrono::milliseconds(50));
    const auto span = static_cast<std::uint64_t>(took.count());
    std::uint64_t newest = 1;
    int complete = 0;
    for (std::uint64_t round = 2; round < 62; ++round) {
      BOOST_REQUIRE(put(bank, key(round)).has_value());
      const auto pid = ::fork();
      BOOST_REQUIRE(pid >= 0);
      if (pid == 0) {
        const auto store = CheckpointStore::open(folder.path());
        if (store && save(*store, bank, key(round)) && store->remove(key(round - 3)))
          ::_exit(0);
        ::_exit(1);
      }
      const auto until = monotonic_now() + Duration(random.below(span + span / 2));
      while (monotonic_now() < until) {
      }
      ::kill(pid, SIGKILL);
      const auto status = wait_status(pid);
      BOOST_REQUIRE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
      complete += WIFSIGNALED(status) ? 0 : 1;
      const auto step = newest_step_after_a_death(folder);
      BOOST_REQUIRE(step == round || step == newest);
      BOOST_REQUIRE(WIFSIGNALED(status) || step == round);
      newest = step;
    }
    BOOST_TEST_MESSAGE("saves that finished before the kill: " << complete << " of 60");
  });
}

// Chosen jobs: each a trace that broke an earlier draft of the protocol, or a claim about recovery that a user relies
// on. Invariants are checked by the world in every one of them.
#include "sim/world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe::sim {
namespace {

BOOST_AUTO_TEST_SUITE(traps)

using std::chrono::milliseconds;
using std::chrono::seconds;

Fault at(std::int64_t ms, Strike strike, std::uint32_t index = 0, WorkerPhase phase = WorkerPhase::running,
         Duration lasts = milliseconds(300)) {
  return {Time{milliseconds(ms)}, strike, index, phase, lasts};
}

/// Runs the scenario with a few seeds; all must finish with every step once.
void holds(Scenario scenario, std::uint64_t seeds = 5) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    scenario.seed = scenario.settings.seed = seed;
    const Outcome outcome = run_twice(scenario);
    BOOST_TEST(outcome.violation == "", "seed " << seed << ": " << outcome.violation);
    BOOST_TEST(outcome.failed == "", "seed " << seed << ": " << outcome.failed);
    BOOST_TEST(outcome.finished, "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(the_result_does_not_depend_on_the_number_of_workers_or_on_failures) {
  std::uint64_t digest = 0;
  for (std::uint32_t workers : {1U, 2U, 3U, 4U, 5U, 8U})
    for (bool strike : {false, true}) {
      Scenario s = quiet(workers, 60);
      if (strike)
        s.faults = {at(150, Strike::kill), at(400, Strike::kill_all), at(700, Strike::kill_in_phase)};
      const Outcome outcome = World(s).run();
      BOOST_TEST(outcome.violation == "");
      BOOST_TEST(outcome.result.samples == 60U);
      digest = digest == 0 ? outcome.result.digest : digest;
      BOOST_TEST(outcome.result.digest == digest);
    }
}

BOOST_AUTO_TEST_CASE(a_worker_may_die_in_any_phase_also_while_others_recover_from_another_death) {
  for (WorkerPhase phase : {WorkerPhase::starting, WorkerPhase::ready, WorkerPhase::connecting, WorkerPhase::restoring,
                            WorkerPhase::running, WorkerPhase::drained}) {
    Scenario s = quiet(4, 60);
    s.faults = {at(200, Strike::kill_in_phase, 0, phase), at(200, Strike::kill, 2)};
    holds(s);
    s.settings.hold = {};
    holds(s);
  }
}

BOOST_AUTO_TEST_CASE(two_at_once_and_all_at_once_cost_no_more_than_the_step_they_were_in) {
  for (Strike strike : {Strike::kill, Strike::kill_all}) {
    Scenario s = quiet(4, 80);
    s.faults = {at(300, strike, 1), at(300, strike, 2)};
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      s.seed = seed;
      const Outcome outcome = World(s).run();
      BOOST_TEST(outcome.violation == "");
      BOOST_TEST(outcome.finished);
      BOOST_TEST(outcome.redone <= 1U);
    }
  }
}

BOOST_AUTO_TEST_CASE(restart_all_reloads_the_newest_checkpoint_and_redoes_what_came_after) {
  Scenario s = quiet(3, 80);
  s.settings.strategy = "restart-all";
  s.settings.cadence = SaveCadence::steps;
  s.settings.save_steps = 20;
  s.faults = {at(500, Strike::kill, 1)};
  const Outcome outcome = World(s).run();
  BOOST_TEST(outcome.violation == "");
  BOOST_TEST(outcome.finished);
  BOOST_TEST(outcome.redone > 0U);
  holds(s);
}

// Trap 1.
BOOST_AUTO_TEST_CASE(a_flipped_bit_is_found_at_the_next_comparison_and_leaves_no_trace_in_the_result) {
  for (std::uint32_t workers : {2U, 3U})
    for (std::int64_t ms : {150, 250, 355}) {
      Scenario s = quiet(workers, 60);
      const std::uint64_t digest = World(s).run().result.digest;
      s.faults = {at(ms, Strike::flip, 1)};
      const Outcome outcome = World(s).run();
      BOOST_TEST(outcome.violation == "");
      BOOST_TEST(outcome.mismatches > 0U);
      BOOST_TEST(outcome.redone > 0U);
      BOOST_TEST(outcome.result.digest == digest);
      holds(s);
    }
}

// Traps 3 and 4.
BOOST_AUTO_TEST_CASE(a_cut_off_node_with_all_workers_and_a_master_that_goes_on_elsewhere_never_both_commit) {
  Scenario s = quiet(2, 400);
  s.nodes = 2;
  s.slots = 2;
  s.faults = {at(0, Strike::agent_restart, 0, WorkerPhase::running, milliseconds(200)),
              at(600, Strike::agent_restart, 1, WorkerPhase::running, seconds(30))};
  holds(s);
}

// Trap 7.
BOOST_AUTO_TEST_CASE(the_source_of_a_restore_may_die_while_others_pull_from_it) {
  Scenario s = quiet(3, 60);
  s.restore = milliseconds(400);
  s.faults = {at(250, Strike::kill, 1), at(400, Strike::kill, 0), at(600, Strike::kill, 2)};
  holds(s);
}

// Trap 9.
BOOST_AUTO_TEST_CASE(one_worker_that_computes_for_ever_is_replaced_and_no_other) {
  Scenario s = quiet(3, 60);
  s.faults = {at(200, Strike::hang, 1)};
  const Outcome outcome = World(s).run();
  BOOST_TEST(outcome.violation == "");
  BOOST_TEST(outcome.finished);
  std::size_t hangs = 0;
  for (std::size_t i = outcome.trace.find("kind: hang, reason"); i != std::string::npos;
       i = outcome.trace.find("kind: hang, reason", i + 1))
    ++hangs;
  BOOST_TEST(hangs == 1U);
  holds(s);
}

// Traps 10 and 13.
BOOST_AUTO_TEST_CASE(a_master_that_comes_back_excludes_nobody_and_goes_on_from_its_journal) {
  for (std::int64_t away : {50, 1200, 5000}) {
    Scenario s = quiet(3, 400);
    s.faults = {at(300, Strike::master_restart, 0, WorkerPhase::running, milliseconds(away)),
                at(310, Strike::kill, 1)};
    holds(s);
    s.faults = {at(300, Strike::master_restart, 0, WorkerPhase::running, milliseconds(away))};
    const Outcome outcome = World(s).run();
    BOOST_TEST(outcome.violation == "");
    BOOST_TEST(outcome.generations == 1U); // nobody noticed
  }
}

// Trap 12.
BOOST_AUTO_TEST_CASE(every_kernel_may_crash_at_every_moment_of_a_recovery) {
  for (std::uint32_t kernel = 0; kernel < Master::kernels; ++kernel)
    for (std::int64_t ms : {300, 301, 302, 305, 310, 320, 340}) {
      Scenario s = quiet(3, 60);
      s.faults = {at(300, Strike::kill, 1), at(ms, Strike::kernel_restart, kernel)};
      holds(s, 2);
    }
}

// Trap 21.
BOOST_AUTO_TEST_CASE(an_injected_fault_fires_once_although_the_master_dies_with_it) {
  for (std::int64_t ms : {200, 400, 600}) {
    Scenario s = quiet(3, 80);
    FaultSpec kill;
    kill.index = 1;
    kill.step = Step{30};
    kill.text = "kill worker 1 at step 30";
    s.settings.faults = {kill};
    s.faults = {at(ms, Strike::master_restart)};
    const Outcome outcome = World(s).run();
    BOOST_TEST(outcome.violation == "");
    BOOST_TEST(outcome.finished);
    BOOST_TEST(outcome.unfired.empty());
    std::size_t deaths = 0;
    for (std::size_t i = outcome.trace.find("worker died"); i != std::string::npos;
         i = outcome.trace.find("worker died", i + 1))
      ++deaths;
    BOOST_TEST(deaths == 1U);
  }
}

BOOST_AUTO_TEST_CASE(poisson_deaths_do_not_keep_a_job_from_ending) {
  Scenario s = quiet(4, 300);
  FaultSpec often;
  often.every = milliseconds(700);
  often.text = "kill worker every 700ms";
  s.settings.faults = {often};
  const Outcome outcome = World(s).run();
  BOOST_TEST(outcome.violation == "");
  BOOST_TEST(outcome.finished);
  BOOST_TEST(outcome.fired > 2U);
  holds(s, 3);
}

BOOST_AUTO_TEST_CASE(a_trainer_that_always_throws_fails_the_job_with_its_words_and_without_a_loop) {
  Scenario s = quiet(2, 60);
  s.settings.budgets.exception = {.restarts = 3, .window = seconds(60)};
  for (std::int64_t ms = 100; ms < 20'000; ms += 100)
    s.faults.push_back(at(ms, Strike::raise, static_cast<std::uint32_t>(ms / 100)));
  const Outcome outcome = World(s).run();
  BOOST_TEST(outcome.violation == "");
  BOOST_TEST(outcome.failed.find("the trainer threw") != std::string::npos);
  BOOST_TEST(outcome.generations <= 6U);
}

BOOST_AUTO_TEST_CASE(scaling_and_pausing_on_the_way_lose_no_step) {
  Scenario s = quiet(4, 200);
  s.faults = {at(200, Strike::scale, 2), at(500, Strike::scale, 6), at(900, Strike::pause, 0),
              at(1300, Strike::save), at(1500, Strike::scale, 1)};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    s.seed = seed;
    const Outcome outcome = World(s).run();
    BOOST_TEST(outcome.violation == "");
    BOOST_TEST(outcome.finished);
    BOOST_TEST(outcome.redone == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::sim

// From a drained generation to a plan.
#include "support.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(recovery)

using Actions = std::vector<RecoveryKernel::Action>;

struct Recovery {
  explicit Recovery(KernelSettings s = settings_for(3)) : settings(s), kernel(s) {
    on(Started{Term{1}});
    on(CheckpointsFound{});
  }
  Actions on(const RecoveryKernel::Event& event) { return kernel.on(event, at_ms(now)); }
  Actions rows(std::vector<RosterRow> rows) {
    roster.rows = std::move(rows);
    roster.target = settings.start;
    ++roster.version;
    return on(roster);
  }
  Drained drained(std::uint64_t generation, std::string refused = {}) {
    return {Generation{generation}, generation == 0 ? "" : "rank 1 failed", std::move(refused), roster};
  }
  /// Generation 1 of slots 0 to 2 runs at version 5.
  Plan run() {
    rows({row(0, WorkerPhase::ready), row(1, WorkerPhase::ready), row(2, WorkerPhase::ready)});
    const Plan plan = one<Plan>(on(drained(0)));
    rows({held(0, WorkerPhase::running), held(1, WorkerPhase::running), held(2, WorkerPhase::running)});
    on(Formed{plan.generation, plan.resume.step, {key(0), key(1), key(2)}});
    return plan;
  }
  RosterRow held(std::uint32_t slot, WorkerPhase phase, std::uint64_t step = 5) {
    RosterRow r = row(slot, phase, 1);
    r.holdings = {holding(step, 1)};
    return r;
  }
  KernelSettings settings;
  RecoveryKernel kernel;
  Roster roster;
  std::int64_t now = 0;
};

BOOST_AUTO_TEST_CASE(the_first_plan_waits_for_workers_start_and_covers_the_batch) {
  Recovery r;
  r.on(r.drained(0));
  const auto with_third = [&](WorkerPhase phase) {
    return r.rows({row(0, WorkerPhase::ready), row(1, WorkerPhase::ready), row(2, phase)});
  };
  BOOST_TEST(none<Plan>(with_third(WorkerPhase::starting)));
  const Plan plan = one<Plan>(with_third(WorkerPhase::ready));
  BOOST_TEST(plan.generation == Generation{1});
  BOOST_TEST(plan.previous == Generation{0});
  BOOST_TEST(plan.resume == version(0, 0));
  BOOST_TEST(plan.sources.empty());
  BOOST_REQUIRE(plan.members.size() == 3U);
  std::uint32_t next = 0;
  for (const Member& m : plan.members) {
    BOOST_TEST(m.first_virtual == next);
    next += m.virtual_count;
  }
  BOOST_TEST(next == 8U);
}

BOOST_AUTO_TEST_CASE(no_plan_before_the_checkpoints_are_listed) {
  RecoveryKernel kernel(settings_for(1));
  kernel.on(Started{Term{1}}, at_ms(0));
  Roster roster{1, 1, {row(0, WorkerPhase::ready)}};
  BOOST_TEST(none<Plan>(kernel.on(Drained{{}, {}, {}, roster}, at_ms(0))));
  const Plan plan = one<Plan>(kernel.on(CheckpointsFound{{{version(30, 4), 0, "thirty", false}}}, at_ms(1)));
  BOOST_TEST(plan.resume == version(30, 4));
  BOOST_TEST(plan.sources.at(0).path == "thirty");
  BOOST_TEST(plan.generation > Generation{4}); // numbers grow also above what a checkpoint tells
}

BOOST_AUTO_TEST_CASE(after_a_death_the_replacement_is_held_for_and_survivors_keep_the_order_of_their_ranks) {
  Recovery r;
  r.run();
  RosterRow gone = dead(r.held(1, WorkerPhase::exited));
  gone.coming = true;
  r.rows({r.held(0, WorkerPhase::drained, 6), gone, r.held(2, WorkerPhase::drained)});
  auto actions = r.on(r.drained(1));
  BOOST_TEST(none<Plan>(actions));
  BOOST_TEST((one<WakeAt>(actions).at == at_ms(200)));
  r.now = 50;
  RosterRow fresh = row(1, WorkerPhase::ready, 0, 2);
  fresh.holdings = {holding(5, 1)};
  const Plan plan = one<Plan>(r.rows({r.held(0, WorkerPhase::drained, 6), fresh, r.held(2, WorkerPhase::drained)}));
  BOOST_TEST(plan.resume == version(6, 1));
  BOOST_TEST(plan.previous == Generation{1});
  BOOST_TEST(plan.members[0].worker == key(0));
  BOOST_TEST(plan.members[1].worker == key(2));
  BOOST_TEST(plan.members[2].worker == key(1, 2));
}

BOOST_AUTO_TEST_CASE(when_the_hold_runs_out_the_survivors_go_on) {
  Recovery r;
  r.run();
  RosterRow gone = dead(r.held(1, WorkerPhase::exited));
  gone.coming = true;
  r.rows({r.held(0, WorkerPhase::drained), gone, r.held(2, WorkerPhase::drained)});
  r.on(r.drained(1));
  r.now = 200;
  const Plan plan = one<Plan>(r.on(Tick{}));
  BOOST_TEST(plan.members.size() == 2U);
  BOOST_TEST(plan.members[0].virtual_count == 4U);
  // The replacement is warm later: grow.
  r.rows({r.held(0, WorkerPhase::running), row(1, WorkerPhase::ready, 0, 2), r.held(2, WorkerPhase::running)});
  const auto actions = r.on(Formed{plan.generation, Step{5}, {key(0), key(2)}});
  BOOST_TEST(one<DrainRequest>(actions).generation == plan.generation);
}

BOOST_AUTO_TEST_CASE(a_lost_plan_is_said_again_and_a_refused_one_is_made_anew_with_another_number) {
  Recovery r;
  r.rows({row(0, WorkerPhase::ready), row(1, WorkerPhase::ready), row(2, WorkerPhase::ready)});
  const Plan plan = one<Plan>(r.on(r.drained(0)));
  BOOST_TEST((one<Plan>(r.on(PeerRestarted{"rendezvous"})) == plan));
  BOOST_TEST((one<Plan>(r.on(r.drained(0))) == plan));
  BOOST_TEST(one<Plan>(r.on(r.drained(0, "rank 0 is gone"))).generation == plan.generation.next());
}

BOOST_AUTO_TEST_CASE(below_min_the_job_waits_visibly_then_fails_with_the_first_cause) {
  KernelSettings s = settings_for(3);
  s.min = 3;
  Recovery r(s);
  r.run();
  RosterRow gone = dead(r.held(1, WorkerPhase::exited));
  r.rows({r.held(0, WorkerPhase::drained), gone, r.held(2, WorkerPhase::drained)});
  const auto actions = r.on(r.drained(1));
  BOOST_TEST(none<Plan>(actions));
  bool shown = false;
  for (const StrategyNote& n : all_of<StrategyNote>(actions))
    shown = shown || n.decision == "below workers.min";
  BOOST_TEST(shown);
  r.now = 599'000;
  BOOST_TEST(none<FailJob>(r.on(Tick{})));
  r.now = 600'001;
  BOOST_TEST(one<FailJob>(r.on(Tick{})).cause.find("killed by signal 9") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_digest_mismatch_limits_the_next_plan_once_and_too_many_fail_the_job) {
  Recovery r;
  Plan plan = r.run();
  RosterRow agreed = r.held(0, WorkerPhase::drained, 50);
  agreed.holdings.push_back(holding(40, 1, 4, true));
  r.on(DigestMismatch{Generation{1}, Step{50}, {}});
  r.on(DigestMismatch{Generation{1}, Step{50}, {}}); // of another member
  r.rows({agreed, r.held(1, WorkerPhase::drained, 50), r.held(2, WorkerPhase::drained, 50)});
  plan = one<Plan>(r.on(r.drained(1)));
  BOOST_TEST(plan.resume == version(40, 1));
  BOOST_TEST(r.kernel.state().mismatches.size() == 1U);
  // Told late, when the tainted version is already in use again.
  r.on(Formed{plan.generation, Step{40}, {key(0), key(1), key(2)}});
  BOOST_TEST(one<DrainRequest>(r.on(DigestMismatch{plan.generation, Step{60}, {}})).generation == plan.generation);
}

BOOST_AUTO_TEST_CASE(a_mismatch_that_the_inventory_shows_is_not_answered_twice_when_members_report_it_later) {
  Recovery r;
  r.run();
  RosterRow one_half = r.held(0, WorkerPhase::drained, 50);
  RosterRow other_half = r.held(1, WorkerPhase::drained, 50);
  one_half.holdings = {holding(40, 1, 4, true), holding(50, 1, 1)};
  other_half.holdings = {holding(40, 1, 4, true), holding(50, 1, 2)};
  r.rows({one_half, other_half, r.held(2, WorkerPhase::drained, 39)});
  const Plan plan = one<Plan>(r.on(r.drained(1)));
  BOOST_TEST(plan.resume == version(40, 1));
  r.on(Formed{plan.generation, Step{40}, {key(0), key(1), key(2)}});
  BOOST_TEST(none<DrainRequest>(r.on(DigestMismatch{Generation{1}, Step{50}, {}})));
  BOOST_TEST(r.kernel.state().mismatches.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_paused_job_makes_no_plan_until_it_goes_on) {
  Recovery r;
  r.run();
  BOOST_TEST(one<DrainRequest>(r.on(Pause{true, "asked for"})).generation == Generation{1});
  r.rows({r.held(0, WorkerPhase::drained), r.held(1, WorkerPhase::drained), r.held(2, WorkerPhase::drained)});
  BOOST_TEST(none<Plan>(r.on(r.drained(1))));
  BOOST_TEST(one<Plan>(r.on(Pause{false, {}})).members.size() == 3U);
}

BOOST_AUTO_TEST_CASE(workers_that_built_different_models_never_meet) {
  Recovery r;
  RosterRow other = row(2, WorkerPhase::ready);
  other.layout = 8;
  r.rows({row(0, WorkerPhase::ready), row(1, WorkerPhase::ready), other});
  const auto actions = r.on(r.drained(0));
  BOOST_TEST(none<Plan>(actions));
  const FailJob said = one<FailJob>(actions);
  BOOST_TEST(said.cause.find("another model") != std::string::npos);
  BOOST_TEST((one<FailJob>(r.on(PeerRestarted{"membership"})) == said));
  BOOST_TEST((one<FailJob>(r.on(Started{Term{1}})) == said));
  BOOST_TEST(none<FailJob>(r.on(said))); // its own word, heard
}

BOOST_AUTO_TEST_CASE(a_restored_kernel_with_its_strategy_decides_the_same) {
  Recovery r;
  r.run();
  RosterRow gone = dead(r.held(1, WorkerPhase::exited));
  gone.coming = true;
  r.rows({r.held(0, WorkerPhase::drained), gone, r.held(2, WorkerPhase::drained)});
  r.on(r.drained(1));
  RecoveryKernel again(settings_for(3));
  again.restore(r.kernel.state());
  r.now = 200;
  BOOST_TEST((again.on(Tick{}, at_ms(200)) == r.on(Tick{})));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

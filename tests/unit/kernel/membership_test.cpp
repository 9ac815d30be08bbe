// Which workers there are, which lives ended, and what is done about it.
#include "support.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(membership)

struct Cluster {
  explicit Cluster(KernelSettings s, std::uint32_t slots = 4) : kernel(s), facts(slots) {
    for (std::uint32_t i = 0; i < slots; ++i)
      facts[i].slot = SlotId{i};
    on(Started{Term{1}});
  }
  std::vector<MembershipKernel::Action> on(const MembershipKernel::Event& event) {
    return kernel.on(event, at_ms(now));
  }
  std::vector<MembershipKernel::Action> report() {
    return on(NodeReport{NodeId{0}, Incarnation{1}, Term{1}, ++sequence, "host", 1, facts});
  }
  std::vector<MembershipKernel::Action> report(const SlotFact& changed) {
    facts[changed.slot.value] = changed;
    return report();
  }
  /// All wanted workers run in generation 1.
  void run_all(std::uint32_t workers) {
    report();
    std::vector<WorkerKey> members;
    for (std::uint32_t i = 0; i < workers; ++i) {
      facts[i] = fact(i, 1, WorkerPhase::running, 1);
      members.push_back(key(i));
    }
    report();
    on(Formed{Generation{1}, Step{0}, members});
  }
  std::vector<MembershipKernel::Action> beat(std::vector<Heard> heard) {
    return on(Alive{NodeId{0}, Incarnation{1}, Term{1}, std::move(heard)});
  }
  Heard heard(std::uint32_t slot, std::uint64_t progress, bool waiting = false) {
    return {SlotId{slot}, facts[slot].incarnation, Generation{1}, Step{progress}, progress, waiting, false, {}};
  }
  SlotOrder order(const std::vector<MembershipKernel::Action>& actions, std::uint32_t slot) {
    return all_of<SlotsOrder>(actions).back().slots.at(slot);
  }
  const RosterRow& row(std::uint32_t slot) const { return kernel.state().nodes.at(0).slots.at(slot).row; }

  MembershipKernel kernel;
  std::vector<SlotFact> facts;
  std::uint64_t sequence = 0;
  std::int64_t now = 0;
};

BOOST_AUTO_TEST_CASE(the_first_report_of_a_node_starts_as_many_workers_as_are_wanted) {
  Cluster c(settings_for(3));
  const auto actions = c.report();
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    BOOST_TEST(c.order(actions, slot).run == (slot < 3));
    BOOST_TEST(c.order(actions, slot).incarnation == Incarnation{slot < 3 ? 1U : 0U});
  }
  BOOST_TEST(one<Roster>(actions).rows.size() == 4U);
}

BOOST_AUTO_TEST_CASE(reports_of_an_older_term_sequence_or_agent_are_dropped) {
  Cluster c(settings_for(1));
  c.report();
  c.report(fact(0, 1, WorkerPhase::ready));
  const auto before = c.kernel.state();
  NodeReport stale{NodeId{0}, Incarnation{1}, Term{1}, 1, "host", 1, {died(0, 1, FailureClass::signal)}};
  BOOST_TEST(c.on(stale).empty());
  stale.sequence = 99;
  stale.term = Term{0};
  BOOST_TEST(c.on(stale).empty());
  stale.term = Term{1};
  stale.agent = Incarnation{0};
  BOOST_TEST(c.on(stale).empty());
  BOOST_TEST((c.kernel.state() == before));
}

BOOST_AUTO_TEST_CASE(a_worker_that_had_got_to_work_is_replaced_at_once_and_one_that_had_not_after_a_pause) {
  Cluster c(settings_for(2));
  c.run_all(2);
  auto actions = c.report(died(1, 1, FailureClass::signal));
  BOOST_TEST(c.order(actions, 1).run);
  BOOST_TEST(c.order(actions, 1).incarnation == Incarnation{2});
  BOOST_TEST(c.row(1).coming);
  BOOST_TEST(one<WorkerFailed>(actions).in_window == 1U);
  actions = c.report(died(1, 2, FailureClass::signal));
  BOOST_TEST(c.kernel.state().nodes[0].slots[1].ordered == Incarnation{2}); // not yet
  c.now += 100;
  actions = c.on(Tick{});
  BOOST_TEST(c.order(actions, 1).incarnation == Incarnation{3});
  actions = c.report(died(1, 3, FailureClass::signal));
  c.now += 100;
  BOOST_TEST(none<SlotsOrder>(c.on(Tick{}))); // twice as long now
  c.now += 100;
  BOOST_TEST(c.order(c.on(Tick{}), 1).incarnation == Incarnation{4});
}

BOOST_AUTO_TEST_CASE(a_start_up_error_is_never_retried_and_its_cause_is_told) {
  Cluster c(settings_for(2));
  c.report();
  const auto actions = c.report(died(0, 1, FailureClass::startup, "no such file: digits.csv"));
  BOOST_TEST(one<FailJob>(actions).cause.find("no such file: digits.csv") != std::string::npos);
  const auto orders = all_of<SlotsOrder>(actions);
  for (const SlotOrder& order : orders.back().slots)
    BOOST_TEST(!order.run);
}

BOOST_AUTO_TEST_CASE(one_failure_more_than_the_budget_fails_the_job_and_names_the_first) {
  KernelSettings s = settings_for(1);
  s.budgets.exception = {.restarts = 2, .window = seconds(60)};
  Cluster c(s);
  c.run_all(1);
  for (std::uint64_t life = 1; life <= 2; ++life) {
    c.report(fact(0, life, WorkerPhase::running, 1));
    BOOST_TEST(none<FailJob>(c.report(died(0, life, FailureClass::exception, life == 1 ? "first" : "later"))));
    c.now += 1000;
    c.on(Tick{});
  }
  c.report(fact(0, 3, WorkerPhase::running, 1));
  const FailJob fail = one<FailJob>(c.report(died(0, 3, FailureClass::exception, "last")));
  BOOST_TEST(fail.cause.find("3 failures of class exception") != std::string::npos);
  BOOST_TEST(fail.first.what == "first");
}

BOOST_AUTO_TEST_CASE(failures_older_than_the_window_are_forgiven_and_classes_do_not_share_a_budget) {
  KernelSettings s = settings_for(1);
  s.budgets.exception = {.restarts = 1, .window = seconds(60)};
  Cluster c(s);
  c.run_all(1);
  c.report(died(0, 1, FailureClass::exception));
  c.report(fact(0, 2, WorkerPhase::running, 2));
  BOOST_TEST(none<FailJob>(c.report(died(0, 2, FailureClass::signal))));
  c.now += 61'000;
  c.report(fact(0, 3, WorkerPhase::running, 3));
  BOOST_TEST(none<FailJob>(c.report(died(0, 3, FailureClass::exception))));
}

BOOST_AUTO_TEST_CASE(a_silent_worker_is_suspected_then_killed_and_replaced) {
  Cluster c(settings_for(2));
  c.run_all(2);
  std::vector<Suspect> suspects;
  for (int i = 0; i < 13 && suspects.empty(); ++i) {
    c.now += 100;
    c.beat(i == 0 ? std::vector{c.heard(0, 1), c.heard(1, 1)} : std::vector{c.heard(0, static_cast<std::uint64_t>(i))});
    suspects = all_of<Suspect>(c.on(Tick{}));
  }
  BOOST_REQUIRE(suspects.size() == 1U);
  BOOST_TEST(suspects[0].worker == key(1));
  BOOST_TEST(suspects[0].kind == FailureClass::silent);
  const auto actions = c.on(suspects[0]);
  BOOST_TEST(c.order(actions, 1).kill);
  BOOST_TEST(c.order(actions, 1).incarnation == Incarnation{2});
  BOOST_TEST(c.row(1).dead);
  BOOST_TEST(!c.row(1).confirmed);
  BOOST_TEST(none<WorkerFailed>(c.report(died(1, 1, FailureClass::signal)))); // one life is charged once
}

// Trap 9.
BOOST_AUTO_TEST_CASE(waiting_is_charged_to_the_one_who_has_not_arrived) {
  Cluster c(settings_for(3));
  c.run_all(3);
  std::vector<Suspect> suspects;
  for (int i = 0; i < 400 && suspects.empty(); ++i) {
    c.now += 100;
    c.beat({c.heard(0, 5, true), c.heard(1, 5, false), c.heard(2, 5, true)});
    suspects = all_of<Suspect>(c.on(Tick{}));
  }
  BOOST_REQUIRE(suspects.size() == 1U);
  BOOST_TEST(suspects[0].worker == key(1));
  BOOST_TEST(suspects[0].kind == FailureClass::hang);
  BOOST_TEST(c.now >= 30'000);
}

BOOST_AUTO_TEST_CASE(when_all_have_arrived_the_generation_is_made_anew_and_nobody_is_killed) {
  Cluster c(settings_for(2));
  c.run_all(2);
  std::vector<DrainRequest> drains;
  for (int i = 0; i < 400 && drains.empty(); ++i) {
    c.now += 100;
    c.beat({c.heard(0, 5, true), c.heard(1, 5, true)});
    const auto actions = c.on(Tick{});
    BOOST_TEST(none<Suspect>(actions));
    drains = all_of<DrainRequest>(actions);
  }
  BOOST_REQUIRE(drains.size() == 1U);
  BOOST_TEST(drains[0].generation == Generation{1});
}

BOOST_AUTO_TEST_CASE(a_worker_under_a_debugger_or_in_a_declared_span_is_not_hung) {
  Cluster c(settings_for(2));
  c.run_all(2);
  for (int i = 0; i < 400; ++i) {
    c.now += 100;
    Heard debugged = c.heard(0, 5);
    debugged.debugged = true;
    Heard evaluating = c.heard(1, 5);
    evaluating.allowance = seconds(300);
    c.beat({debugged, evaluating});
    BOOST_TEST(none<Suspect>(c.on(Tick{})));
  }
}

// Trap 10.
BOOST_AUTO_TEST_CASE(clocks_start_anew_after_a_late_tick_and_after_a_restart) {
  Cluster c(settings_for(2));
  c.run_all(2);
  c.beat({c.heard(0, 1), c.heard(1, 1)});
  c.now += 60'000;
  auto actions = c.on(Tick{true});
  BOOST_TEST(none<Suspect>(actions));
  BOOST_TEST(none<NodeLost>(actions));
  c.now += 900;
  BOOST_TEST(none<NodeLost>(c.on(Tick{})));
  c.now += 200;
  BOOST_TEST(one<NodeLost>(c.on(Tick{})).node == NodeId{0});

  MembershipKernel again(settings_for(2));
  again.restore(c.kernel.state());
  again.on(Started{Term{2}}, at_ms(100'000));
  BOOST_TEST(none<NodeLost>(again.on(Tick{}, at_ms(159'000)))); // nobody it has not heard, before master_grace
  BOOST_TEST(one<NodeLost>(again.on(Tick{}, at_ms(161'000))).node == NodeId{0});
}

BOOST_AUTO_TEST_CASE(an_accused_worker_is_dead_at_once_and_charged_when_its_end_tells_the_class) {
  Cluster c(settings_for(2));
  c.run_all(2);
  auto actions = c.on(Suspect{key(1), FailureClass::none, "its life-lock was released"});
  BOOST_TEST(c.row(1).dead);
  BOOST_TEST(c.row(1).confirmed);
  BOOST_TEST(c.order(actions, 1).kill);
  BOOST_TEST(!c.order(actions, 1).run);
  BOOST_TEST(none<WorkerFailed>(actions));
  actions = c.report(died(1, 1, FailureClass::exception, "thrown"));
  BOOST_TEST(one<WorkerFailed>(actions).failure.what == "thrown");
  BOOST_TEST(c.order(actions, 1).incarnation == Incarnation{2});
}

BOOST_AUTO_TEST_CASE(scaling_down_retires_the_highest_slot_once_it_has_left_its_generation) {
  Cluster c(settings_for(3));
  c.run_all(3);
  auto actions = c.on(ScaleTarget{2, "asked for"});
  BOOST_TEST(!c.row(2).wanted);
  BOOST_TEST(c.order(actions, 2).run); // still a member
  actions = c.on(Formed{Generation{2}, Step{9}, {key(0), key(1)}});
  BOOST_TEST(!c.order(actions, 2).run);
  actions = c.report(fact(2, 1, WorkerPhase::exited));
  BOOST_TEST(none<WorkerFailed>(actions)); // as ordered
  BOOST_TEST(!c.row(2).coming);
  actions = c.on(ScaleTarget{4, "asked for"});
  BOOST_TEST(c.order(actions, 2).incarnation == Incarnation{2});
  BOOST_TEST(c.order(actions, 3).incarnation == Incarnation{1});
}

BOOST_AUTO_TEST_CASE(restarting_workers_costs_no_budget) {
  Cluster c(settings_for(2));
  c.run_all(2);
  auto actions = c.on(RestartWorkers{{key(0), key(1)}, "all anew"});
  BOOST_TEST(c.order(actions, 0).incarnation == Incarnation{2});
  BOOST_TEST(c.order(actions, 0).kill);
  actions = c.report(died(0, 1, FailureClass::signal));
  BOOST_TEST(none<WorkerFailed>(actions));
  BOOST_TEST(c.kernel.state().charges.empty());
}

BOOST_AUTO_TEST_CASE(after_a_stop_the_end_of_the_last_worker_is_told_once) {
  Cluster c(settings_for(2));
  c.run_all(2);
  auto actions = c.on(StopAll{true, "all steps are done"});
  BOOST_TEST(!c.order(actions, 0).run);
  BOOST_TEST(none<AllStopped>(actions));
  BOOST_TEST(none<AllStopped>(c.report(fact(0, 1, WorkerPhase::exited))));
  BOOST_TEST(one<AllStopped>(c.report(fact(1, 1, WorkerPhase::exited))).reason == "all steps are done");
  BOOST_TEST(none<AllStopped>(c.report()));
}

BOOST_AUTO_TEST_CASE(the_end_is_said_again_to_a_peer_and_by_a_new_life) {
  Cluster c(settings_for(2));
  c.run_all(2);
  BOOST_TEST(none<FailJob>(c.on(PeerRestarted{"recovery"})));
  c.report(died(0, 1, FailureClass::startup, "no such file"));
  BOOST_TEST(one<FailJob>(c.on(PeerRestarted{"recovery"})).first.what == "no such file");
  BOOST_TEST(none<AllStopped>(c.on(Started{Term{1}})));
  BOOST_TEST(one<AllStopped>(c.report(fact(1, 1, WorkerPhase::exited))).reason.find("no such file") !=
             std::string::npos);
  for (const MembershipKernel::Event& event :
       {MembershipKernel::Event{Started{Term{1}}}, MembershipKernel::Event{PeerRestarted{"gate"}}}) {
    const auto actions = c.on(event);
    one<AllStopped>(actions);
    one<FailJob>(actions);
  }
  BOOST_TEST(none<FailJob>(c.on(one<FailJob>(c.on(Started{Term{1}}))))); // its own word, heard
}

// A master that died over the end of its job ends it; who starts the job again wants it to go on.
BOOST_AUTO_TEST_CASE(an_end_of_an_earlier_term_counts_only_if_the_nodes_are_the_same) {
  for (const bool same : {true, false})
    for (const bool failed : {true, false}) {
      Cluster c(settings_for(2));
      c.run_all(2);
      if (failed)
        c.on(FailJob{"too few workers", {}, {}, {}});
      else
        c.on(StopAll{false, "troupe stop"});
      auto actions = c.on(Started{Term{2}});
      BOOST_TEST(none<AllStopped>(actions));
      BOOST_TEST(none<RunFound>(actions)); // nobody spoke yet
      NodeReport first{NodeId{0}, Incarnation{same ? 1U : 2U}, Term{2}, 1, "host", 2, c.facts};
      if (!same)
        for (std::uint32_t slot = 0; slot < 4; ++slot)
          first.slots[slot] = fact(slot, 0, WorkerPhase::empty);
      actions = c.on(first);
      BOOST_TEST(one<RunFound>(actions).kept == same);
      BOOST_TEST(all_of<FailJob>(actions).size() == (same && failed ? 1U : 0U));
      BOOST_TEST(all_of<StopAll>(actions).size() == (same && !failed ? 1U : 0U));
      BOOST_TEST(c.order(actions, 0).run == !same);
      BOOST_TEST(none<WorkerFailed>(actions));
      BOOST_TEST(one<RunFound>(c.on(PeerRestarted{"checkpoints"})).kept == same);
    }
}

BOOST_AUTO_TEST_CASE(a_stop_that_is_asked_for_in_a_new_term_counts_whoever_is_there) {
  Cluster c(settings_for(2));
  c.run_all(2);
  c.on(StopAll{false, "troupe stop"});
  c.on(Started{Term{2}});
  c.on(StopAll{false, "interrupted"});
  NodeReport first{NodeId{0}, Incarnation{2}, Term{2}, 1, "host", 2, {}};
  for (std::uint32_t slot = 0; slot < 4; ++slot)
    first.slots.push_back(fact(slot, 0, WorkerPhase::empty));
  const auto actions = c.on(first);
  BOOST_TEST(!one<RunFound>(actions).kept);
  one<AllStopped>(actions);
}

// Trap 12.
BOOST_AUTO_TEST_CASE(a_peer_that_restarted_is_told_everything_again) {
  Cluster c(settings_for(2));
  c.run_all(2);
  const auto actions = c.on(PeerRestarted{"recovery"});
  BOOST_TEST(one<Roster>(actions).rows.size() == 4U);
  BOOST_TEST(one<SlotsOrder>(actions).slots.size() == 4U);
}

BOOST_AUTO_TEST_CASE(heartbeats_change_no_state_and_tell_how_far_the_job_is) {
  Cluster c(settings_for(2));
  c.run_all(2);
  const auto before = c.kernel.state();
  c.now += 100;
  const auto actions = c.beat({c.heard(0, 41), c.heard(1, 42)});
  BOOST_TEST(one<Advanced>(actions).step == Step{42});
  BOOST_TEST((c.kernel.state() == before));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_ended_as_a_whole_and_is_resumed_charges_nobody) {
  Cluster c(settings_for(2));
  c.run_all(2);
  c.on(Started{Term{2}});
  NodeReport fresh{NodeId{0}, Incarnation{2}, Term{2}, 1, "host", 2, {}};
  for (std::uint32_t slot = 0; slot < 4; ++slot)
    fresh.slots.push_back(fact(slot, 0, WorkerPhase::empty));
  auto actions = c.on(fresh);
  BOOST_TEST(none<WorkerFailed>(actions));
  BOOST_TEST(c.kernel.state().charges.empty());
  BOOST_TEST(c.row(0).confirmed);
  BOOST_TEST(c.order(actions, 0).incarnation == Incarnation{2}); // incarnations go on
  // An agent that dies alone takes its workers along, and that is a failure.
  fresh.slots[0] = fact(0, 2, WorkerPhase::running, 2);
  fresh.sequence = 2;
  c.on(fresh);
  fresh.agent = Incarnation{3};
  fresh.slots[0] = fact(0, 0, WorkerPhase::empty);
  BOOST_TEST(one<WorkerFailed>(c.on(fresh)).failure.kind == FailureClass::node_loss);
}

BOOST_AUTO_TEST_CASE(a_lost_node_takes_its_workers_and_their_memory_along_and_counts_again_when_it_is_back) {
  Cluster c(settings_for(2));
  c.run_all(2);
  c.facts[0].holdings = {holding(5, 1)};
  c.report();
  c.on(NodeLost{NodeId{0}, Incarnation{1}, "not heard"});
  BOOST_TEST(c.row(0).dead);
  BOOST_TEST(!c.row(0).confirmed);
  BOOST_TEST(c.row(0).holdings.empty());
  const auto actions = c.report();
  BOOST_TEST(c.order(actions, 0).kill); // that life was given up
  BOOST_TEST(c.order(actions, 0).incarnation == Incarnation{2});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

// What is kept and counted: checkpoints, final rows and epochs, the wanted size, injected faults.
#include "actors/kernel/scaling.hpp"
#include "actors/kernel/shards.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(keepers)

// --- Checkpoints ----------------------------------------------------------------------------------------------------

struct Keeper {
  explicit Keeper(KernelSettings s) : kernel(s) {
    on(Started{Term{1}});
    on(CheckpointsListed{});
  }
  std::vector<CheckpointsKernel::Action> on(const CheckpointsKernel::Event& event) {
    return kernel.on(event, at_ms(now));
  }
  std::vector<CheckpointsKernel::Action> formed(std::uint64_t generation, std::uint64_t step) {
    return on(Formed{Generation{generation}, Step{step}, {key(0), key(1)}});
  }
  std::vector<CheckpointsKernel::Action> saved(std::uint64_t request, std::uint64_t step, std::uint64_t generation,
                                               bool best = false) {
    Persisted p{request, true, version(step, generation), 9, "c" + std::to_string(step), best, milliseconds(20), {}};
    return on(p);
  }
  CheckpointsKernel kernel;
  std::int64_t now = 0;
};

KernelSettings every(std::uint64_t steps) {
  KernelSettings s = settings_for(2);
  s.cadence = SaveCadence::steps;
  s.save_steps = steps;
  s.keep = 2;
  return s;
}

BOOST_AUTO_TEST_CASE(a_cadence_in_steps_orders_the_next_multiple_ahead_of_time) {
  Keeper k(every(10));
  SaveOrder order = one<SaveOrder>(k.formed(1, 0));
  BOOST_TEST(order.at_least == Step{10});
  BOOST_TEST(order.from == key(0));
  order = one<SaveOrder>(k.saved(order.request, 10, 1));
  BOOST_TEST(order.at_least == Step{20});
  BOOST_TEST(order.request == 2U);
}

BOOST_AUTO_TEST_CASE(a_cadence_in_time_orders_the_next_version_when_it_is_due_and_something_was_done) {
  KernelSettings s = settings_for(2);
  s.cadence = SaveCadence::time;
  s.save_time = seconds(5);
  Keeper k(s);
  k.formed(1, 0);
  k.now = 4'900;
  BOOST_TEST(k.on(Advanced{Generation{1}, Step{3}}).empty());
  k.now = 5'000;
  const SaveOrder order = one<SaveOrder>(k.on(Advanced{Generation{1}, Step{4}}));
  BOOST_TEST(none<SaveOrder>(k.on(Advanced{Generation{1}, Step{5}}))); // one at a time
  k.saved(order.request, 5, 1);
  k.now = 20'000;
  BOOST_TEST(k.on(Advanced{Generation{1}, Step{5}}).empty()); // nothing new to save
}

BOOST_AUTO_TEST_CASE(the_automatic_interval_grows_with_the_cost_and_shrinks_with_failures) {
  const auto quiet = automatic_interval(seconds(1), std::chrono::hours(1), 1);
  BOOST_TEST(to_ms(quiet) == 84'852, boost::test_tools::tolerance(0.01));
  BOOST_TEST((automatic_interval(seconds(4), std::chrono::hours(1), 1) > quiet));
  BOOST_TEST((automatic_interval(seconds(1), std::chrono::hours(1), 9) < quiet));
  BOOST_TEST((automatic_interval(milliseconds(1), seconds(1), 50) >= seconds(10)));
}

BOOST_AUTO_TEST_CASE(the_newest_and_the_best_are_kept) {
  Keeper k(every(10));
  k.formed(1, 0);
  k.saved(1, 10, 1);
  k.saved(0, 15, 1, true); // the engine's own wish
  k.saved(2, 20, 1);
  BOOST_TEST(one<DeleteCheckpoint>(k.saved(3, 30, 1)).path == "c10");
  const auto actions = k.saved(4, 40, 1);
  BOOST_TEST(one<DeleteCheckpoint>(actions).path == "c20");
  const auto found = one<CheckpointsFound>(actions).checkpoints;
  BOOST_REQUIRE(found.size() == 3U);
  BOOST_TEST(found[0].best);
  BOOST_TEST(found[2].path == "c40");
}

BOOST_AUTO_TEST_CASE(void_checkpoints_are_deleted_also_when_they_come_late) {
  Keeper k(every(10));
  k.formed(1, 0);
  k.saved(1, 10, 1);
  k.saved(2, 20, 1);
  BOOST_TEST(one<DeleteCheckpoint>(k.formed(2, 15)).path == "c20");
  BOOST_TEST(one<DeleteCheckpoint>(k.saved(3, 18, 1)).path == "c18");
  BOOST_TEST(k.kernel.state().saved == Step{10});
}

BOOST_AUTO_TEST_CASE(a_save_whose_source_dies_or_does_not_answer_is_asked_of_another) {
  Keeper k(settings_for(2));
  k.formed(1, 0);
  const SaveOrder first = one<SaveOrder>(k.on(SaveRequest{"asked for"}));
  Roster roster{1, 2, {dead(row(0, WorkerPhase::exited, 1)), row(1, WorkerPhase::running, 1)}};
  const SaveOrder second = one<SaveOrder>(k.on(roster));
  BOOST_TEST(second.from == key(1));
  BOOST_TEST(second.request == first.request + 1);
  k.now += 120'000;
  const auto actions = k.on(Tick{});
  BOOST_TEST(!one<SaveDone>(actions).ok);
}

BOOST_AUTO_TEST_CASE(a_finished_job_ends_after_its_last_version_is_durable) {
  Keeper k(every(10));
  k.formed(1, 0);
  const SaveOrder order = one<SaveOrder>(k.on(JobFinished{5, Step{100}, Generation{1}, key(1)}));
  BOOST_TEST(order.from == key(1));
  BOOST_TEST(order.at_least == Step{100});
  BOOST_TEST(one<StopAll>(k.saved(order.request, 100, 1)).finished);
}

BOOST_AUTO_TEST_CASE(if_the_last_version_cannot_be_written_the_job_fails_with_the_cause) {
  Keeper k(every(10));
  k.formed(1, 0);
  SaveOrder order = one<SaveOrder>(k.on(JobFinished{5, Step{100}, Generation{1}, key(1)}));
  std::vector<CheckpointsKernel::Action> actions;
  for (int i = 0; i < 3; ++i) {
    actions = k.on(Persisted{order.request, false, {}, 0, {}, false, {}, "write: no space left on device"});
    if (i < 2)
      order = one<SaveOrder>(actions);
  }
  BOOST_TEST(one<FailJob>(actions).cause.find("no space left") != std::string::npos);
  BOOST_TEST(none<StopAll>(actions));
}

BOOST_AUTO_TEST_CASE(a_stop_saves_first_if_it_can_and_a_second_one_does_not_wait) {
  Keeper k(settings_for(2));
  BOOST_TEST(!one<StopAll>(k.on(StopRequest{true, "interrupted"})).finished); // nothing runs yet
  Keeper other(settings_for(2));
  other.formed(1, 0);
  const auto order = one<SaveOrder>(other.on(StopRequest{true, "interrupted"}));
  BOOST_TEST(one<StopAll>(other.saved(order.request, 7, 1)).reason == "interrupted");
  Keeper third(settings_for(2));
  third.formed(1, 0);
  third.on(StopRequest{true, "interrupted"});
  BOOST_TEST(!one<StopAll>(third.on(StopRequest{true, "interrupted"})).finished);
}

BOOST_AUTO_TEST_CASE(a_restarted_master_says_the_open_order_again) {
  Keeper k(every(10));
  const SaveOrder order = one<SaveOrder>(k.formed(1, 0));
  CheckpointsKernel again(every(10));
  again.restore(k.kernel.state());
  const SaveOrder repeated = one<SaveOrder>(again.on(Started{Term{2}}, at_ms(5)));
  BOOST_TEST(repeated.request == order.request);
  BOOST_TEST(repeated.term == Term{2});
}

BOOST_AUTO_TEST_CASE(the_end_is_said_again_to_a_peer_and_by_a_new_life) {
  Keeper stopped(settings_for(2));
  stopped.on(StopRequest{false, "interrupted"});
  BOOST_TEST(one<StopAll>(stopped.on(PeerRestarted{"membership"})).reason == "interrupted");
  BOOST_TEST(!one<StopAll>(stopped.on(Started{Term{1}})).finished);
  BOOST_TEST(none<StopAll>(stopped.on(StopAll{false, "interrupted"}))); // its own word, heard

  Keeper done(settings_for(2));
  done.formed(1, 0);
  const auto order = one<SaveOrder>(done.on(JobFinished{5, Step{100}, Generation{1}, key(1)}));
  BOOST_TEST(none<StopAll>(done.on(PeerRestarted{"membership"}))); // not yet
  done.saved(order.request, 100, 1);
  BOOST_TEST(one<StopAll>(done.on(PeerRestarted{"membership"})).finished);

  Keeper failed(settings_for(2));
  failed.formed(1, 0);
  failed.on(JobFinished{5, Step{100}, Generation{1}, key(1)});
  for (int i = 0; i < 3; ++i)
    failed.on(Persisted{failed.kernel.state().order.request, false, {}, 0, {}, false, {}, "no space"});
  BOOST_TEST(one<FailJob>(failed.on(PeerRestarted{"membership"})).cause.find("no space") != std::string::npos);
  BOOST_TEST(none<StopAll>(failed.on(Started{Term{1}})));
}

// A master that died over the end of its job ends it; who starts the job again wants it to go on.
BOOST_AUTO_TEST_CASE(an_end_of_an_earlier_term_counts_only_if_the_nodes_are_the_same) {
  for (const bool kept : {true, false}) {
    Keeper ended(settings_for(2));
    ended.formed(1, 0);
    ended.on(StopRequest{false, "interrupted"});
    BOOST_TEST(none<StopAll>(ended.on(Started{Term{2}})));
    BOOST_TEST(all_of<StopAll>(ended.on(RunFound{Term{2}, kept})).size() == (kept ? 1U : 0U));
    BOOST_TEST(ended.kernel.state().ended == kept);

    Keeper stopping(settings_for(2));
    stopping.formed(1, 0);
    const auto order = one<SaveOrder>(stopping.on(StopRequest{true, "troupe stop"}));
    stopping.on(Started{Term{2}});
    stopping.on(RunFound{Term{2}, kept});
    BOOST_TEST(all_of<StopAll>(stopping.saved(order.request, 7, 1)).size() == (kept ? 1U : 0U));

    Keeper finished(settings_for(2));
    finished.formed(1, 0);
    finished.on(JobFinished{5, Step{100}, Generation{1}, key(1)});
    finished.on(Started{Term{2}});
    BOOST_TEST(none<StopAll>(finished.saved(1, 100, 1))); // until it is known who is there
    BOOST_TEST(all_of<StopAll>(finished.on(RunFound{Term{2}, kept})).size() == (kept ? 1U : 0U));
    BOOST_TEST(finished.kernel.state().finished == kept);
  }
}

BOOST_AUTO_TEST_CASE(every_asker_of_a_save_gets_its_own_answer_once) {
  Keeper k(settings_for(2));
  k.formed(1, 0);
  const auto answers = [](const std::vector<CheckpointsKernel::Action>& actions) {
    std::vector<std::uint64_t> numbers;
    for (const SaveDone& done : all_of<SaveDone>(actions))
      if (done.request > 0)
        numbers.push_back(done.ok ? done.request : done.request + 100);
    return numbers;
  };
  using Numbers = std::vector<std::uint64_t>;
  const auto first = one<SaveOrder>(k.on(SaveRequest{"asked for", 1}));
  k.on(SaveRequest{"asked for", 2}); // the version of the first may be older than this wish
  k.on(SaveRequest{"asked for", 3});
  auto actions = k.saved(first.request, 7, 1);
  BOOST_TEST((answers(actions) == Numbers{1}));
  const auto second = one<SaveOrder>(actions);
  BOOST_TEST((answers(k.saved(0, 8, 1)) == Numbers{})); // the engine's own wish answers nobody
  BOOST_TEST((answers(k.saved(second.request, 9, 1)) == Numbers{2, 3}));
  const auto third = one<SaveOrder>(k.on(SaveRequest{"asked for", 4}));
  actions = k.on(Persisted{third.request, false, {}, 0, {}, false, {}, "no space"});
  BOOST_TEST((answers(actions) == Numbers{104}));
  k.on(SaveRequest{"asked for", 5});
  k.on(SaveRequest{"asked for", 6});
  BOOST_TEST((answers(k.on(FailJob{"it failed", {}, {}, {}})) == Numbers{105, 106}));
  BOOST_TEST((answers(k.on(SaveRequest{"asked for", 7})) == Numbers{107}));
  BOOST_TEST(k.on(SaveRequest{"asked for", 0}).empty());
}

// --- Shards ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(rows_are_final_when_their_version_is_durable_and_void_when_it_is_rolled_back) {
  ShardsKernel k(settings_for(2));
  k.on(Formed{Generation{1}, Step{0}, {}}, at_ms(0));
  const auto actions = k.on(Persisted{1, true, version(20, 1), 0, "c20", false, {}, {}}, at_ms(1));
  BOOST_TEST(one<RowsFinal>(actions).before == Step{20});
  BOOST_TEST(one<EpochsDone>(actions).done == 2U); // 20 steps of 8 of 80 samples
  const RowsVoid gone = one<RowsVoid>(k.on(Formed{Generation{2}, Step{25}, {}}, at_ms(2)));
  BOOST_TEST(gone.from == Step{25});
  BOOST_TEST(k.on(Persisted{2, true, version(30, 1), 0, "c30", false, {}, {}}, at_ms(3)).empty()); // void
  BOOST_TEST(one<RowsFinal>(k.on(JobFinished{1, Step{100}, Generation{2}, key(0)}, at_ms(4))).before == Step{100});
}

// --- Scaling --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_size_out_of_range_is_refused_with_the_key_that_forbids_it) {
  KernelSettings s = settings_for(3);
  s.min = 2;
  s.max = 6;
  ScalingKernel k(s);
  k.on(Started{Term{1}}, at_ms(0));
  const auto ask = [&](std::uint32_t count) { return k.on(ScaleRequest{count, count, {}}, at_ms(1)); };
  BOOST_TEST(one<ScaleAnswer>(ask(1)).reason.find("workers.min = 2") != std::string::npos);
  BOOST_TEST(one<ScaleAnswer>(ask(7)).reason.find("workers.max = 6") != std::string::npos);
  BOOST_TEST(one<ScaleAnswer>(ask(9)).reason.find("workers.virtual = 8") != std::string::npos);
  const auto actions = ask(6);
  BOOST_TEST(one<ScaleAnswer>(actions).ok);
  BOOST_TEST(one<ScaleTarget>(actions).count == 6U);
  BOOST_TEST(one<ScaleTarget>(k.on(PeerRestarted{"membership"}, at_ms(2))).count == 6U);
  k.on(StopAll{true, {}}, at_ms(3));
  BOOST_TEST(!one<ScaleAnswer>(ask(4)).ok);
}

// --- Faults ---------------------------------------------------------------------------------------------------------

KernelSettings with_faults(std::vector<FaultSpec> faults) {
  KernelSettings s = settings_for(2);
  s.faults = std::move(faults);
  return s;
}

FaultSpec kill_at(std::uint64_t step) {
  FaultSpec f;
  f.index = 1;
  f.step = Step{step};
  f.text = "kill worker 1 at step 50";
  return f;
}

// Trap 21.
BOOST_AUTO_TEST_CASE(a_fault_fires_once_also_over_a_restart_and_the_one_it_fired_in_may_ask_again) {
  FaultsKernel k(with_faults({kill_at(50)}));
  BOOST_TEST(one<ArmedFaults>(k.on(Started{Term{1}}, at_ms(0))).faults.size() == 1U);
  BOOST_TEST(never_fired(k.state()).size() == 1U);
  const std::uint32_t id = k.state().faults[0].spec.id;
  const auto actions = k.on(FaultReached{id, key(1), Step{50}}, at_ms(1));
  BOOST_TEST(one<FireFault>(actions).fire);
  BOOST_TEST(one<ArmedFaults>(actions).faults.empty());
  BOOST_TEST(is_external<FireFault>);
  BOOST_TEST(!is_transient<FaultReached>);

  FaultsKernel again(with_faults({kill_at(50)}));
  again.restore(k.state());
  BOOST_TEST(one<ArmedFaults>(again.on(Started{Term{2}}, at_ms(2))).faults.empty());
  BOOST_TEST(one<FireFault>(again.on(FaultReached{id, key(1), Step{50}}, at_ms(3))).fire); // the answer was lost
  BOOST_TEST(!one<FireFault>(again.on(FaultReached{id, key(1, 2), Step{50}}, at_ms(4))).fire);
  BOOST_TEST(never_fired(again.state()).empty());
}

FaultSpec said(std::string text, std::uint32_t position) {
  FaultSpec f = kill_at(50);
  f.id = position;
  f.text = std::move(text);
  return f;
}

BOOST_AUTO_TEST_CASE(a_new_term_brings_its_own_faults_and_those_of_both_lists_are_not_armed_again) {
  FaultsKernel old(with_faults({said("a", 0), said("b", 1), said("c", 2)}));
  old.on(Started{Term{1}}, at_ms(0));
  const auto id = [&](std::size_t i) { return old.state().faults[i].spec.id; };
  old.on(FaultReached{id(1), key(1), Step{50}}, at_ms(1)); // "b" fired
  const KernelSettings other = with_faults({said("d", 0), said("b", 1)});
  FaultsKernel from_snapshot(other);
  from_snapshot.restore(old.state());
  FaultsKernel from_records(other); // the records of the old term are made again with the new list
  from_records.on(Started{Term{1}}, at_ms(0));
  from_records.on(FaultReached{id(1), key(1), Step{50}}, at_ms(1));
  from_records.on(FaultReached{id(0), key(1), Step{50}}, at_ms(2)); // "a" is not "d", though both came first
  for (FaultsKernel* k : {&from_snapshot, &from_records}) {
    const auto armed = one<ArmedFaults>(k->on(Started{Term{2}}, at_ms(3))).faults;
    BOOST_REQUIRE(armed.size() == 1U);
    BOOST_TEST(armed[0].id == k->state().faults[0].spec.id);
    BOOST_TEST(k->state().faults[0].spec.text == "d");
    const std::vector<std::string> unfired = never_fired(k->state());
    BOOST_REQUIRE(unfired.size() == 1U);
    BOOST_TEST(unfired[0] == "d");
  }
}

BOOST_AUTO_TEST_CASE(the_same_sentence_twice_is_two_faults) {
  FaultsKernel k(with_faults({said("a", 0), said("a", 1)}));
  k.on(Started{Term{1}}, at_ms(0));
  k.on(FaultReached{k.state().faults[1].spec.id, key(1), Step{50}}, at_ms(1));
  k.on(Started{Term{2}}, at_ms(2));
  BOOST_TEST(k.state().faults[0].fired == 0U);
  BOOST_TEST(k.state().faults[1].fired == 1U);
}

BOOST_AUTO_TEST_CASE(a_slow_fault_stays_in_force_after_it_fired) {
  FaultSpec slow = kill_at(10);
  slow.kind = FaultKind::slow;
  slow.until = Step{40};
  slow.percent = 300;
  FaultsKernel k(with_faults({slow}));
  k.on(Started{Term{1}}, at_ms(0));
  const auto armed = one<ArmedFaults>(k.on(FaultReached{k.state().faults[0].spec.id, key(1), Step{10}}, at_ms(1)));
  BOOST_REQUIRE(armed.faults.size() == 1U);
  BOOST_TEST(armed.faults[0].fired);
}

BOOST_AUTO_TEST_CASE(poisson_faults_take_their_randomness_from_the_tick_and_are_exempt_from_never_fired) {
  FaultSpec random = kill_at(0);
  random.every = seconds(15);
  auto run = [&](std::uint64_t bits) {
    FaultsKernel k(with_faults({random}));
    k.on(Started{Term{1}}, at_ms(0));
    auto actions = k.on(Formed{Generation{1}, Step{0}, {key(0), key(1)}}, at_ms(1));
    BOOST_TEST((one<WakeAt>(actions).at == at_ms(1)));
    actions = k.on(Tick{false, bits}, at_ms(1));
    BOOST_TEST(none<KillWorker>(actions));
    const Time next = one<WakeAt>(actions).at;
    const KillWorker kill = one<KillWorker>(k.on(Tick{false, bits + 1}, next));
    BOOST_TEST(never_fired(k.state()).empty());
    return to_text(kill) + to_text(next);
  };
  BOOST_TEST(run(5) == run(5));
  BOOST_TEST(run(5) != run(6));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

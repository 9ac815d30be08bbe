// Generations end and form in order, whatever dies in between.
#include "support.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(rendezvous)

using Actions = std::vector<RendezvousKernel::Action>;

struct Meeting {
  Meeting() : kernel(settings_for(3)) { on(Started{Term{1}}); }
  Actions on(const RendezvousKernel::Event& event) { return kernel.on(event, at_ms(now)); }
  Actions rows(std::vector<RosterRow> rows) {
    roster.rows = std::move(rows);
    ++roster.version;
    return on(roster);
  }
  Actions all(WorkerPhase phase, std::uint64_t generation) {
    return rows({row(0, phase, generation), row(1, phase, generation), row(2, phase, generation)});
  }
  Plan plan(std::uint64_t generation, std::uint64_t previous, std::vector<WorkerKey> members) {
    Plan p;
    p.generation = Generation{generation};
    p.previous = Generation{previous};
    p.resume = version(generation * 10, previous);
    for (std::uint32_t rank = 0; rank < members.size(); ++rank)
      p.members.push_back({Rank{rank}, members[rank], rank, 1, {rank, 0, 0, 0}});
    return p;
  }
  /// Generation 1 of slots 0, 1, 2 runs.
  void run() {
    all(WorkerPhase::ready, 0);
    on(plan(1, 0, {key(0), key(1), key(2)}));
    all(WorkerPhase::running, 1);
    BOOST_REQUIRE(kernel.state().phase == RendezvousKernel::Phase::running);
  }
  RendezvousKernel kernel;
  Roster roster;
  std::int64_t now = 0;
};

BOOST_AUTO_TEST_CASE(at_the_start_generation_0_counts_as_drained) {
  RendezvousKernel kernel(settings_for(1));
  const auto actions = kernel.on(Started{Term{1}}, at_ms(0));
  BOOST_TEST(one<Drained>(actions).generation == Generation{0});
  BOOST_TEST(one<GenerationOrder>(actions).command == GenerationCommand::none);
}

BOOST_AUTO_TEST_CASE(a_generation_is_announced_and_formed_when_all_its_members_run) {
  Meeting m;
  m.all(WorkerPhase::ready, 0);
  const GenerationOrder order = one<GenerationOrder>(m.on(m.plan(1, 0, {key(0), key(1), key(2)})));
  BOOST_TEST(order.command == GenerationCommand::form);
  BOOST_TEST(!urgent(order));
  BOOST_TEST(none<Formed>(m.rows({row(0, WorkerPhase::running, 1), row(1, WorkerPhase::restoring, 1),
                                  row(2, WorkerPhase::running, 1)})));
  const Formed formed = one<Formed>(m.all(WorkerPhase::running, 1));
  BOOST_TEST(formed.generation == Generation{1});
  BOOST_TEST(formed.step == Step{10});
  BOOST_TEST(formed.members.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_member_that_dies_drains_its_generation_at_once_and_without_the_journal) {
  Meeting m;
  m.run();
  const auto actions = m.rows({row(0, WorkerPhase::running, 1), dead(row(1, WorkerPhase::exited, 1)),
                               row(2, WorkerPhase::running, 1)});
  const GenerationOrder order = one<GenerationOrder>(actions);
  BOOST_TEST(order.command == GenerationCommand::drain);
  BOOST_TEST(order.generation == Generation{1});
  BOOST_TEST(urgent(order));
  BOOST_TEST(order.cause.find("rank 1") != std::string::npos);
  BOOST_TEST(none<Drained>(m.rows({row(0, WorkerPhase::drained, 1), dead(row(1, WorkerPhase::exited, 1)),
                                   row(2, WorkerPhase::running, 1)})));
  const Drained drained = one<Drained>(m.rows({row(0, WorkerPhase::drained, 1), dead(row(1, WorkerPhase::exited, 1)),
                                               row(2, WorkerPhase::drained, 1)}));
  BOOST_TEST(drained.generation == Generation{1});
  BOOST_TEST(drained.roster.rows.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_new_life_in_the_slot_of_a_member_is_not_the_member) {
  Meeting m;
  m.run();
  const auto actions = m.rows({row(0, WorkerPhase::drained, 1), row(1, WorkerPhase::starting, 0, 2),
                               row(2, WorkerPhase::drained, 1)});
  BOOST_TEST(one<GenerationOrder>(actions).command == GenerationCommand::drain);
  BOOST_TEST(one<Drained>(actions).generation == Generation{1});
}

BOOST_AUTO_TEST_CASE(a_death_while_forming_drains_that_generation_too) {
  Meeting m;
  m.all(WorkerPhase::ready, 0);
  m.on(m.plan(1, 0, {key(0), key(1), key(2)}));
  const auto actions = m.rows({row(0, WorkerPhase::restoring, 1), dead(row(1, WorkerPhase::exited, 1)),
                               row(2, WorkerPhase::ready, 0)});
  BOOST_TEST(one<GenerationOrder>(actions).command == GenerationCommand::drain);
  // Who had not even heard of it promises as well.
  const Drained drained = one<Drained>(m.rows({row(0, WorkerPhase::drained, 1), dead(row(1, WorkerPhase::exited, 1)),
                                               row(2, WorkerPhase::drained, 1)}));
  BOOST_TEST(drained.generation == Generation{1});
  BOOST_TEST(one<GenerationOrder>(m.on(m.plan(2, 1, {key(0), key(2)}))).generation == Generation{2});
}

BOOST_AUTO_TEST_CASE(a_survivor_that_found_a_rank_dead_accuses_it) {
  Meeting m;
  m.run();
  RosterRow witness = row(0, WorkerPhase::drained, 1);
  witness.dead_rank = 2;
  const Suspect suspect =
    one<Suspect>(m.rows({witness, row(1, WorkerPhase::running, 1), row(2, WorkerPhase::running, 1)}));
  BOOST_TEST(suspect.worker == key(2));
  BOOST_TEST(suspect.kind == FailureClass::none);
}

// Traps 3 and 4.
BOOST_AUTO_TEST_CASE(if_all_members_are_only_believed_dead_the_next_generation_waits_for_the_grace) {
  Meeting m;
  m.run();
  m.rows({dead(row(0, WorkerPhase::running, 1), false), dead(row(1, WorkerPhase::running, 1), false),
          dead(row(2, WorkerPhase::running, 1), false)});
  BOOST_TEST(m.kernel.state().phase == RendezvousKernel::Phase::draining);
  m.now += 60'000;
  BOOST_TEST(none<Drained>(m.on(Tick{})));
  m.now += 1'100;
  BOOST_TEST(one<Drained>(m.on(Tick{})).generation == Generation{1});
}

BOOST_AUTO_TEST_CASE(one_promise_or_one_sure_death_is_enough_to_go_on_without_those_believed_dead) {
  for (bool promise : {true, false}) {
    Meeting m;
    m.run();
    m.rows({promise ? row(0, WorkerPhase::drained, 1) : dead(row(0, WorkerPhase::exited, 1)),
            dead(row(1, WorkerPhase::running, 1), false), dead(row(2, WorkerPhase::running, 1), false)});
    BOOST_TEST(m.kernel.state().phase == RendezvousKernel::Phase::planning);
  }
}

BOOST_AUTO_TEST_CASE(a_survivor_that_never_comes_to_its_boundary_is_suspected) {
  Meeting m;
  m.run();
  m.rows({row(0, WorkerPhase::drained, 1), dead(row(1, WorkerPhase::exited, 1)), row(2, WorkerPhase::running, 1)});
  m.now += 29'000;
  BOOST_TEST(none<Suspect>(m.on(Tick{})));
  m.now += 1'000;
  const Suspect suspect = one<Suspect>(m.on(Tick{}));
  BOOST_TEST(suspect.worker == key(2));
  BOOST_TEST(suspect.kind == FailureClass::hang);
}

BOOST_AUTO_TEST_CASE(who_does_not_join_in_time_is_suspected_and_if_all_joined_the_generation_is_made_anew) {
  Meeting m;
  m.all(WorkerPhase::ready, 0);
  m.on(m.plan(1, 0, {key(0), key(1), key(2)}));
  m.rows({row(0, WorkerPhase::connecting, 1), row(1, WorkerPhase::ready, 0), row(2, WorkerPhase::connecting, 1)});
  m.now += 60'000;
  BOOST_TEST(one<Suspect>(m.on(Tick{})).worker == key(1));
  m.all(WorkerPhase::connecting, 1);
  const auto actions = m.on(Tick{});
  BOOST_TEST(none<Suspect>(actions));
  BOOST_TEST(one<GenerationOrder>(actions).command == GenerationCommand::drain);
}

BOOST_AUTO_TEST_CASE(a_plan_with_a_member_that_is_gone_or_busy_is_refused_and_never_announced) {
  Meeting m;
  m.rows({row(0, WorkerPhase::ready), dead(row(1, WorkerPhase::exited)), row(2, WorkerPhase::starting)});
  for (std::uint32_t slot : {1U, 2U}) {
    const auto actions = m.on(m.plan(slot, 0, {key(0), key(slot)}));
    BOOST_TEST(none<GenerationOrder>(actions));
    BOOST_TEST(!one<Drained>(actions).refused.empty());
  }
}

BOOST_AUTO_TEST_CASE(an_order_that_nobody_answered_is_said_again_unchanged) {
  Meeting m;
  m.all(WorkerPhase::ready, 0);
  const GenerationOrder order = one<GenerationOrder>(m.on(m.plan(1, 0, {key(0), key(1), key(2)})));
  m.now += 1'000;
  BOOST_TEST((one<GenerationOrder>(m.on(Tick{})) == order));
}

BOOST_AUTO_TEST_CASE(the_job_is_finished_when_all_members_are_and_agree) {
  Meeting m;
  m.run();
  auto done = [](std::uint32_t slot, std::uint64_t digest) {
    RosterRow r = row(slot, WorkerPhase::finished, 1);
    r.step = Step{100};
    r.model_digest = digest;
    return r;
  };
  BOOST_TEST(none<JobFinished>(m.rows({done(0, 5), done(1, 5), row(2, WorkerPhase::running, 1)})));
  const auto actions = m.rows({done(0, 5), done(1, 5), done(2, 5)});
  BOOST_TEST(one<JobFinished>(actions).digest == 5U);
  BOOST_TEST(one<GenerationOrder>(actions).command == GenerationCommand::finish);

  Meeting other;
  other.run();
  const auto differ = other.rows({done(0, 5), done(1, 6), done(2, 5)});
  BOOST_TEST(none<JobFinished>(differ));
  BOOST_TEST(one<DigestMismatch>(differ).step == Step{100});
  BOOST_TEST(one<GenerationOrder>(differ).command == GenerationCommand::drain);
}

BOOST_AUTO_TEST_CASE(a_member_that_dies_when_the_others_have_finished_is_not_missed) {
  Meeting m;
  m.run();
  RosterRow done = row(0, WorkerPhase::finished, 1);
  done.step = Step{100};
  RosterRow too = row(2, WorkerPhase::finished, 1);
  too.step = Step{100};
  BOOST_TEST(one<JobFinished>(m.rows({done, dead(row(1, WorkerPhase::exited, 1)), too})).step == Step{100});
}

BOOST_AUTO_TEST_CASE(a_drain_that_was_asked_for_ends_only_the_generation_it_was_meant_for) {
  Meeting m;
  m.run();
  BOOST_TEST(m.on(DrainRequest{Generation{9}, "grow"}).empty());
  BOOST_TEST(one<GenerationOrder>(m.on(DrainRequest{Generation{1}, "grow"})).cause == "grow");
}

// Trap 12.
BOOST_AUTO_TEST_CASE(a_peer_that_restarted_hears_where_things_are) {
  Meeting m;
  m.run();
  BOOST_TEST(one<Formed>(m.on(PeerRestarted{"recovery"})).generation == Generation{1});
  m.rows({row(0, WorkerPhase::drained, 1), dead(row(1, WorkerPhase::exited, 1)), row(2, WorkerPhase::drained, 1)});
  BOOST_TEST(one<Drained>(m.on(PeerRestarted{"recovery"})).generation == Generation{1});
}

BOOST_AUTO_TEST_CASE(a_finished_job_stays_so_in_a_new_term_only_if_the_nodes_are_the_same) {
  for (const bool kept : {true, false}) {
    Meeting m;
    m.run();
    m.all(WorkerPhase::finished, 1);
    BOOST_REQUIRE(m.kernel.state().phase == RendezvousKernel::Phase::finished);
    BOOST_TEST(none<JobFinished>(m.on(Started{Term{2}})));
    const auto actions = m.on(RunFound{Term{2}, kept});
    BOOST_TEST(all_of<JobFinished>(actions).size() == (kept ? 1U : 0U));
    BOOST_TEST((m.kernel.state().phase == RendezvousKernel::Phase::draining) == !kept);
    BOOST_TEST(m.on(RunFound{Term{2}, kept}).empty());
    BOOST_TEST(all_of<JobFinished>(m.on(PeerRestarted{"checkpoints"})).size() == (kept ? 1U : 0U));
  }
}

BOOST_AUTO_TEST_CASE(a_failure_is_said_again_to_a_peer_and_by_a_new_life_of_the_same_term) {
  Meeting m;
  std::uint64_t generation = 0;
  std::vector<FailJob> said;
  while (said.empty() && generation < 100) {
    m.all(generation == 0 ? WorkerPhase::ready : WorkerPhase::drained, generation);
    m.on(m.plan(generation + 1, generation, {key(0), key(1), key(2)}));
    ++generation;
    m.all(WorkerPhase::connecting, generation);
    m.now += 60'000;
    said = all_of<FailJob>(m.on(Tick{}));
  }
  BOOST_REQUIRE(said.size() == 1U);
  BOOST_TEST((one<FailJob>(m.on(PeerRestarted{"membership"})) == said[0]));
  BOOST_TEST((one<FailJob>(m.on(Started{Term{1}})) == said[0]));
  BOOST_TEST(none<FailJob>(m.on(said[0])));
  BOOST_TEST(none<FailJob>(m.on(Started{Term{2}})));
}

BOOST_AUTO_TEST_CASE(after_a_stop_nothing_is_formed_any_more) {
  Meeting m;
  m.run();
  BOOST_TEST(one<GenerationOrder>(m.on(StopAll{false, "interrupted"})).command == GenerationCommand::drain);
  m.all(WorkerPhase::drained, 1);
  BOOST_TEST(m.on(m.plan(2, 1, {key(0)})).empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

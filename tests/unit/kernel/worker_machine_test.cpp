// Which orders a worker obeys and what it promises.
#include "actors/kernel/worker_machine.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(worker_machine)

using Actions = std::vector<WorkerMachine::Action>;

struct Machine {
  Actions on(const WorkerMachine::Event& event) { return machine.on(event, at_ms(0)); }
  Actions says(WorkerPhase phase, std::uint64_t generation = 0) {
    EngineSaid said{fact(0, 1, phase, generation)};
    said.fact.holdings = {holding(3, 1)};
    return on(said);
  }
  GenerationOrder order(GenerationCommand command, std::uint64_t generation, bool with_me = true) {
    GenerationOrder o{Term{1}, ++sequence, command, Generation{generation}, "because", {}};
    if (command == GenerationCommand::form) {
      Plan plan;
      plan.generation = Generation{generation};
      plan.members = {{Rank{0}, with_me ? key(0) : key(5), 0, 8, {}}};
      o.plan = plan;
    }
    return o;
  }
  WorkerMachine machine{key(0)};
  std::uint64_t sequence = 0;
};

BOOST_AUTO_TEST_CASE(a_worker_joins_as_soon_as_it_is_built_and_only_once) {
  Machine m;
  const auto form = m.order(GenerationCommand::form, 1);
  BOOST_TEST(none<Join>(m.on(form)));
  BOOST_TEST(one<Join>(m.says(WorkerPhase::ready)).plan.generation == Generation{1});
  BOOST_TEST(none<Join>(m.on(form))); // repeated
  BOOST_TEST(none<Join>(m.says(WorkerPhase::connecting, 1)));
}

BOOST_AUTO_TEST_CASE(a_drain_aborts_the_generation_and_the_promise_comes_with_the_engines_word) {
  Machine m;
  m.says(WorkerPhase::ready);
  m.on(m.order(GenerationCommand::form, 1));
  m.says(WorkerPhase::running, 1);
  const auto drain = m.order(GenerationCommand::drain, 1);
  BOOST_TEST(one<Abort>(m.on(drain)).generation == Generation{1});
  BOOST_TEST(none<Abort>(m.on(drain)));
  BOOST_TEST(m.machine.state().promised == Generation{0});
  const SlotFact said = one<Report>(m.says(WorkerPhase::drained, 1)).fact;
  BOOST_TEST(said.phase == WorkerPhase::drained);
  BOOST_TEST(m.machine.state().promised == Generation{1});
}

BOOST_AUTO_TEST_CASE(a_promise_is_never_taken_back_not_even_for_an_order_that_comes_late) {
  Machine m;
  m.says(WorkerPhase::ready);
  const auto form = m.order(GenerationCommand::form, 1);
  const auto drain = m.order(GenerationCommand::drain, 1);
  const SlotFact said = one<Report>(m.on(drain)).fact; // it never heard of the generation
  BOOST_TEST(said.phase == WorkerPhase::drained);
  BOOST_TEST(said.generation == Generation{1});
  BOOST_TEST(said.holdings.size() == 1U);
  BOOST_TEST(m.on(form).empty());
  auto newer_order_for_old_generation = m.order(GenerationCommand::form, 1);
  BOOST_TEST(none<Join>(m.on(newer_order_for_old_generation)));
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_still_being_built_promises_and_says_so_once_it_is_ready) {
  Machine m;
  BOOST_TEST(m.on(m.order(GenerationCommand::drain, 4)).empty());
  const SlotFact said = one<Report>(m.says(WorkerPhase::ready)).fact;
  BOOST_TEST(said.phase == WorkerPhase::drained);
  BOOST_TEST(said.generation == Generation{4});
}

BOOST_AUTO_TEST_CASE(a_newer_generation_is_joined_only_after_the_older_one_drained) {
  Machine m;
  m.says(WorkerPhase::ready);
  m.on(m.order(GenerationCommand::form, 1));
  m.says(WorkerPhase::running, 1);
  const auto actions = m.on(m.order(GenerationCommand::form, 2)); // the drain between was lost
  BOOST_TEST(one<Abort>(actions).generation == Generation{1});
  BOOST_TEST(none<Join>(actions));
  BOOST_TEST(one<Join>(m.says(WorkerPhase::drained, 1)).plan.generation == Generation{2});
}

BOOST_AUTO_TEST_CASE(a_generation_without_this_worker_leaves_it_waiting) {
  Machine m;
  m.says(WorkerPhase::ready);
  BOOST_TEST(none<Join>(m.on(m.order(GenerationCommand::form, 1, false))));
}

BOOST_AUTO_TEST_CASE(a_generation_that_cannot_be_opened_is_left_with_a_promise) {
  Machine m;
  m.says(WorkerPhase::ready);
  m.on(m.order(GenerationCommand::form, 1));
  const SlotFact said = one<Report>(m.on(OpenFailed{Generation{1}, "mmap: out of memory"})).fact;
  BOOST_TEST(said.phase == WorkerPhase::drained);
  BOOST_TEST(said.generation == Generation{1});
  BOOST_TEST(said.cause == "mmap: out of memory");
}

BOOST_AUTO_TEST_CASE(a_finished_worker_does_not_join_its_generation_again_but_drains_and_joins_the_next) {
  Machine m;
  m.says(WorkerPhase::ready);
  const auto form = m.order(GenerationCommand::form, 1);
  m.on(form);
  m.says(WorkerPhase::running, 1);
  BOOST_TEST(none<Join>(m.says(WorkerPhase::finished, 1)));
  BOOST_TEST(none<Join>(m.on(form)));
  BOOST_TEST(one<Report>(m.on(m.order(GenerationCommand::drain, 1))).fact.phase == WorkerPhase::drained);
  BOOST_TEST(one<Join>(m.on(m.order(GenerationCommand::form, 2))).plan.generation == Generation{2});
}

BOOST_AUTO_TEST_CASE(who_is_told_to_leave_leaves_its_generation_first) {
  Machine m;
  m.says(WorkerPhase::ready);
  m.on(m.order(GenerationCommand::form, 1));
  m.says(WorkerPhase::running, 1);
  auto actions = m.on(LeaveOrder{"retired"});
  BOOST_TEST(one<Abort>(actions).generation == Generation{1});
  BOOST_TEST(none<Leave>(actions));
  BOOST_TEST(one<Leave>(m.says(WorkerPhase::drained, 1)).reason == "retired");
}

BOOST_AUTO_TEST_CASE(orders_of_an_older_term_or_sequence_are_dropped) {
  Machine m;
  m.says(WorkerPhase::ready);
  auto newer = m.order(GenerationCommand::drain, 3);
  newer.term = Term{2};
  m.on(newer);
  BOOST_TEST(m.on(m.order(GenerationCommand::form, 9)).empty()); // term 1
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

// Decisions made again are the same, and a difference can be read. Text of reflected values and back.
#include "actors/kernel/replay.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(replay)

BOOST_AUTO_TEST_CASE(the_same_event_gives_the_same_actions_and_a_difference_names_its_place) {
  KernelSettings s = settings_for(2);
  MembershipKernel first(s);
  MembershipKernel second(s);
  const MembershipKernel::Event started = Started{Term{1}};
  BOOST_TEST(replay_event(second, started, at_ms(0), first.on(started, at_ms(0))) == "");
  const MembershipKernel::Event report =
    NodeReport{NodeId{0}, Incarnation{1}, Term{1}, 1, "host", 1, {fact(0, 0, WorkerPhase::empty)}};
  auto recorded = first.on(report, at_ms(1));
  std::get<SlotsOrder>(recorded.at(0)).slots.at(0).kill = true;
  const std::string difference = replay_event(second, report, at_ms(1), recorded);
  BOOST_TEST(difference.find("kill: true") != std::string::npos);
  BOOST_TEST(difference.find("kill: false") != std::string::npos);
  BOOST_TEST(state_difference(first.state(), second.state()) == "");
}

BOOST_AUTO_TEST_CASE(missing_and_additional_actions_are_told) {
  BOOST_TEST(difference_of({"a"}, {"a"}) == "");
  BOOST_TEST(difference_of({"a", "b"}, {"a"}).find("recorded 2: b") != std::string::npos);
  BOOST_TEST(difference_of({"a"}, {"a", "c"}).find("2: c") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_state_and_plan_reads_back_from_its_text) {
  Plan plan;
  plan.generation = Generation{3};
  plan.members = {{Rank{0}, key(1, 2), 0, 4, {}}, {Rank{1}, key(2), 4, 4, {1, 0, 0, 0}}};
  plan.sources = {{NodeId{0}, SlotId{1}, Tier::peer_copy, "a \"quoted\" path\\\n\x01"}};
  plan.reason = "because";
  const GenerationOrder order{Term{2}, 9, GenerationCommand::form, Generation{3}, "", plan};
  GenerationOrder back;
  BOOST_REQUIRE(from_text(to_text(order), back));
  BOOST_TEST((back == order));

  RecoveryKernel kernel(settings_for(2));
  kernel.on(Started{Term{1}}, at_ms(0));
  kernel.on(Roster{1, 2, {row(0, WorkerPhase::ready)}}, at_ms(1));
  RecoveryKernel::State state;
  BOOST_REQUIRE(from_text(to_text(kernel.state()), state));
  BOOST_TEST((state == kernel.state()));
}

BOOST_AUTO_TEST_CASE(text_that_is_not_such_a_value_is_refused_and_unknown_fields_are_skipped) {
  Member member;
  BOOST_TEST(!from_text("{rank: x}", member));
  BOOST_TEST(!from_text("{rank: 1", member));
  BOOST_TEST(!from_text("", member));
  BOOST_TEST(from_text("{gone: {a: [1, \"}\"]}, rank: 5, other: tag{b: 2}}", member));
  BOOST_TEST(member.rank == Rank{5});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

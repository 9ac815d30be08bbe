// The strategies that come with the runtime.
#include "actors/kernel/strategies/built_in.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(strategies)

struct Asked {
  explicit Asked(std::string_view name, std::uint32_t workers = 4) : strategy(make_strategy(name)) {
    BOOST_REQUIRE(strategy);
    view.start = view.max = view.target = workers;
    view.virtual_workers = 8;
    view.hold = milliseconds(200);
    view.gather = seconds(60);
    view.first = false;
    for (std::uint32_t i = 0; i < workers; ++i)
      view.workers.push_back(survivor(i));
  }
  static WorkerView survivor(std::uint32_t slot) {
    WorkerView w;
    w.slot = SlotId{slot};
    w.incarnation = Incarnation{1};
    w.usable = w.member = w.wanted = true;
    w.rank = Rank{slot};
    return w;
  }
  static WorkerView fresh(std::uint32_t slot) {
    WorkerView w = survivor(slot);
    w.member = false;
    w.incarnation = Incarnation{2};
    return w;
  }
  static WorkerView gone(std::uint32_t slot, bool coming = true) {
    WorkerView w = survivor(slot);
    w.usable = false;
    w.dead = true;
    w.coming = coming;
    return w;
  }
  Decision ask(StrategyEventKind kind, std::int64_t ms) { return strategy->on({kind, {}, {}}, view, at_ms(ms)); }
  void running() { // a generation was formed
    view.drained = false;
    ask(StrategyEventKind::cadence, 0);
    for (WorkerView& w : view.workers)
      w.usable = false;
  }
  void drained() {
    view.drained = true;
    for (WorkerView& w : view.workers)
      w.usable = !w.dead;
  }
  std::unique_ptr<Strategy> strategy;
  ClusterView view;
};

BOOST_AUTO_TEST_CASE(respawn_ends_its_hold_early_when_the_replacement_is_there) {
  Asked a("respawn");
  a.running();
  a.view.workers[1] = Asked::gone(1);
  a.ask(StrategyEventKind::failed, 1000);
  a.drained();
  const Decision wait = a.ask(StrategyEventKind::drained, 1001);
  BOOST_TEST(wait.members.empty());
  BOOST_TEST((wait.wait_until == at_ms(1200)));
  a.view.workers[1] = Asked::fresh(1);
  BOOST_TEST(a.ask(StrategyEventKind::joined, 1030).members.size() == 4U);
}

BOOST_AUTO_TEST_CASE(respawn_with_no_hold_shrinks_at_once) {
  Asked a("respawn");
  a.view.hold = {};
  a.running();
  a.view.workers[1] = Asked::gone(1);
  a.ask(StrategyEventKind::failed, 1000);
  a.drained();
  const Decision go = a.ask(StrategyEventKind::drained, 1000);
  BOOST_REQUIRE(go.members.size() == 3U);
  BOOST_TEST(go.members[1].slot == SlotId{2});
}

BOOST_AUTO_TEST_CASE(respawn_gives_a_second_death_a_hold_of_its_own_but_not_for_ever) {
  Asked a("respawn");
  a.running();
  a.view.workers[1] = Asked::gone(1);
  a.ask(StrategyEventKind::failed, 1000);
  a.drained();
  a.view.workers[2] = Asked::gone(2);
  a.ask(StrategyEventKind::failed, 1150);
  BOOST_TEST(a.ask(StrategyEventKind::timer, 1200).members.empty());
  BOOST_TEST(a.ask(StrategyEventKind::timer, 1350).members.size() == 2U);
  for (std::int64_t t = 1400; t < 1900; t += 100)
    a.ask(StrategyEventKind::failed, t);
  BOOST_TEST(a.ask(StrategyEventKind::timer, 1600).members.size() == 2U); // three holds in all
}

BOOST_AUTO_TEST_CASE(respawn_does_not_wait_for_nobody) {
  Asked a("respawn");
  a.running();
  a.view.workers[1] = Asked::gone(1, false);
  a.ask(StrategyEventKind::failed, 1000);
  a.drained();
  BOOST_TEST(a.ask(StrategyEventKind::drained, 1001).members.size() == 3U);
}

BOOST_AUTO_TEST_CASE(respawn_gathers_everybody_when_nobody_survived) {
  Asked a("respawn");
  a.running();
  for (std::uint32_t i = 0; i < 4; ++i)
    a.view.workers[i] = Asked::gone(i);
  a.ask(StrategyEventKind::failed, 1000);
  a.drained();
  a.view.workers[0] = Asked::fresh(0);
  BOOST_TEST(a.ask(StrategyEventKind::joined, 5000).members.empty()); // the hold ran out long ago
  BOOST_TEST(a.ask(StrategyEventKind::timer, 66'000).members.size() == 1U);
}

BOOST_AUTO_TEST_CASE(respawn_grows_when_a_joiner_is_warm_and_waits_a_moment_for_others) {
  Asked a("respawn");
  a.view.workers[2] = Asked::gone(2);
  a.view.workers[3] = Asked::gone(3);
  for (std::uint32_t i : {2U, 3U})
    a.view.workers[i].member = false;
  a.running();
  a.view.workers[2] = Asked::fresh(2);
  BOOST_TEST(a.ask(StrategyEventKind::joined, 1000).members.empty());
  BOOST_TEST(a.ask(StrategyEventKind::timer, 1200).members.size() == 3U);
  a.view.workers[3] = Asked::fresh(3);
  BOOST_TEST(a.ask(StrategyEventKind::joined, 1050).members.size() == 4U);
}

BOOST_AUTO_TEST_CASE(respawn_shrinks_when_a_member_is_not_wanted_any_more) {
  Asked a("respawn");
  a.running();
  a.view.target = 3;
  a.view.workers[3].wanted = false;
  const Decision d = a.ask(StrategyEventKind::resized, 1000);
  BOOST_REQUIRE(d.members.size() == 3U);
  BOOST_TEST(d.members[2].slot == SlotId{2});
}

BOOST_AUTO_TEST_CASE(restart_all_ends_every_survivor_once_and_reloads_the_checkpoint_with_new_lives) {
  Asked a("restart-all");
  a.running();
  a.view.workers[1] = Asked::gone(1);
  a.ask(StrategyEventKind::failed, 1000);
  a.drained();
  const Decision restart = a.ask(StrategyEventKind::drained, 1001);
  BOOST_TEST(restart.restart.size() == 3U);
  BOOST_TEST(restart.members.empty());
  for (std::uint32_t i : {0U, 2U, 3U})
    a.view.workers[i] = Asked::gone(i);
  a.view.workers[1] = Asked::fresh(1);
  const Decision wait = a.ask(StrategyEventKind::joined, 1100);
  BOOST_TEST(wait.restart.empty());
  BOOST_TEST(wait.members.empty());
  for (std::uint32_t i : {0U, 2U, 3U})
    a.view.workers[i] = Asked::fresh(i);
  const Decision go = a.ask(StrategyEventKind::joined, 1200);
  BOOST_TEST(go.members.size() == 4U);
  BOOST_TEST(go.from_checkpoint);
}

BOOST_AUTO_TEST_CASE(every_strategy_restores_its_state_from_text_and_then_decides_the_same) {
  for (std::string_view name : built_in_strategies()) {
    Asked a(name);
    a.running();
    a.view.workers[1] = Asked::gone(1);
    a.ask(StrategyEventKind::failed, 1000);
    a.drained();
    const std::string saved = a.strategy->save();
    const Decision one_answer = a.ask(StrategyEventKind::drained, 1001);
    auto again = make_strategy(name);
    BOOST_REQUIRE(again->load(saved));
    BOOST_TEST(to_text(again->on({StrategyEventKind::drained, {}, {}}, a.view, at_ms(1001))) == to_text(one_answer));
    BOOST_TEST(again->save() == a.strategy->save());
  }
  BOOST_TEST(!make_strategy("none such"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

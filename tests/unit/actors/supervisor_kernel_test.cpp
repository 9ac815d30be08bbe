// The decisions of a supervisor, without actors: single claims, then a world of children that start, fail, dawdle and
// refuse to die in every order a seed can make.
#include <boost/test/unit_test.hpp>

#include "actors/supervision/supervisor_kernel.hpp"
#include "random_value.hpp"

#include <map>

using namespace troupe;
using namespace std::chrono_literals;
using Kernel = SupervisorKernel;

namespace {

Time at(Duration d) { return Time(d); }

ChildExit crash(std::string what = "boom", FailureClass kind = FailureClass::exception) {
  return {false, kind, std::move(what)};
}

std::vector<ChildSpec> specs(std::initializer_list<const char*> ids) {
  std::vector<ChildSpec> out;
  for (auto* id : ids) {
    ChildSpec spec;
    spec.id = id;
    out.push_back(spec);
  }
  return out;
}

/// "start a/1, stop b/2, wake 100ms, quit: cause"
std::string text(const std::vector<Kernel::Action>& actions) {
  std::string out;
  auto say = [&](std::string s) { out += (out.empty() ? "" : ", ") + s; };
  auto key = [](auto& a) { return a.id + "/" + std::to_string(a.life); };
  for (auto& action : actions) {
    if (auto* start = std::get_if<Kernel::Start>(&action))
      say("start " + key(*start));
    else if (auto* stop = std::get_if<Kernel::Stop>(&action))
      say("stop " + key(*stop));
    else if (auto* kill = std::get_if<Kernel::Kill>(&action))
      say("kill " + key(*kill));
    else if (auto* up = std::get_if<Kernel::GiveUp>(&action))
      say("give up " + key(*up));
    else if (auto* forget = std::get_if<Kernel::Forget>(&action))
      say("forget " + forget->id);
    else if (auto* wake = std::get_if<Kernel::Wake>(&action))
      say("wake " + std::to_string(wake->at.time_since_epoch() / 1ms) + "ms");
    else if (auto* quit = std::get_if<Kernel::Quit>(&action))
      say(std::string(quit->escalated ? "give in: " : "quit: ") + quit->cause);
  }
  return out;
}

/// Kernel whose children start at once when told to.
struct Prompt {
  Kernel kernel;
  Time now{};

  std::string on(const Kernel::Event& event) {
    auto actions = kernel.on(event, now);
    auto out = actions;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (auto* start = std::get_if<Kernel::Start>(&out[i])) {
        auto more = kernel.on(Kernel::Started{start->id, start->life}, now);
        out.insert(out.end(), more.begin(), more.end());
      }
    return text(out);
  }
};

Prompt make(RestartGroup group, std::vector<ChildSpec> children, RestartIntensity intensity = {3, 10s}) {
  return {Kernel({"sup", group, intensity, {}, false}, std::move(children)), {}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(kernel)

BOOST_AUTO_TEST_CASE(children_start_from_left_to_right_and_stop_from_right_to_left) {
  auto p = make(RestartGroup::rest_for_one, specs({"a", "b", "c"}));
  BOOST_TEST(p.on(Kernel::Begin{}) == "start a/1, start b/1, start c/1");
  BOOST_TEST(p.on(Kernel::Close{"bye"}) == "stop c/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"c", 1, {true, {}, {}}}) == "stop b/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"b", 1, {true, {}, {}}}) == "stop a/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"a", 1, {true, {}, {}}}) == "quit: bye");
  BOOST_TEST(p.on(Kernel::Close{"again"}) == "");
}

BOOST_AUTO_TEST_CASE(a_dependent_child_waits_for_those_before_it_to_run) {
  Kernel kernel({"sup", RestartGroup::rest_for_one, {}, {}, false}, specs({"a", "b"}));
  BOOST_TEST(text(kernel.on(Kernel::Begin{}, at(0s))) == "start a/1");
  BOOST_TEST(text(kernel.on(Kernel::Started{"a", 1}, at(1s))) == "start b/1");
}

BOOST_AUTO_TEST_CASE(one_for_one_restarts_only_the_dead) {
  auto p = make(RestartGroup::one_for_one, specs({"a", "b", "c"}));
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Ended{"b", 1, crash()}) == "start b/2");
}

BOOST_AUTO_TEST_CASE(rest_for_one_takes_the_later_ones_along) {
  auto p = make(RestartGroup::rest_for_one, specs({"a", "b", "c", "d"}));
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Ended{"b", 1, crash()}) == "stop d/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"d", 1, {true, {}, {}}}) == "stop c/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"c", 1, {true, {}, {}}}) == "start b/2, start c/2, start d/2");
}

BOOST_AUTO_TEST_CASE(one_for_all_takes_all_along) {
  auto p = make(RestartGroup::one_for_all, specs({"a", "b", "c"}));
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Ended{"b", 1, crash()}) == "stop c/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"c", 1, crash()}) == "stop a/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"a", 1, {true, {}, {}}}) == "start a/2, start b/2, start c/2");
}

BOOST_AUTO_TEST_CASE(a_transient_child_restarts_after_a_failure_only_and_a_temporary_one_never) {
  auto children = specs({"t", "x"});
  children[0].restart = Restart::transient;
  children[1].restart = Restart::temporary;
  auto p = make(RestartGroup::one_for_one, children);
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Ended{"t", 1, crash()}) == "start t/2");
  BOOST_TEST(p.on(Kernel::Ended{"t", 2, {true, {}, {}}}) == "");
  BOOST_TEST(p.on(Kernel::Ended{"x", 1, crash()}) == "");
  BOOST_TEST((p.kernel.status().children[1].phase == ChildPhase::ended));
}

BOOST_AUTO_TEST_CASE(the_second_failure_in_a_row_waits_and_each_further_one_twice_as_long) {
  auto p = make(RestartGroup::one_for_one, specs({"a"}), {100, 1h});
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Ended{"a", 1, crash()}) == "start a/2");
  BOOST_TEST(p.on(Kernel::Ended{"a", 2, crash()}) == "wake 100ms");
  p.now = at(100ms);
  BOOST_TEST(p.on(Kernel::Timer{}) == "start a/3");
  BOOST_TEST(p.on(Kernel::Ended{"a", 3, crash()}) == "wake 300ms");
  p.now = at(299ms);
  BOOST_TEST(p.on(Kernel::Timer{}) == "wake 300ms");
  p.now = at(300ms);
  BOOST_TEST(p.on(Kernel::Timer{}) == "start a/4");
  p.now = at(20s); // healthy for long: begins anew
  BOOST_TEST(p.on(Kernel::Ended{"a", 4, crash()}) == "start a/5");
  for (std::uint64_t life = 5; life < 20; ++life) {
    p.on(Kernel::Ended{"a", life, crash()});
    p.now += 10s; // the most
    BOOST_TEST(p.on(Kernel::Timer{}) == "start a/" + std::to_string(life + 1));
  }
}

BOOST_AUTO_TEST_CASE(too_many_restarts_escalate_with_the_first_cause_first) {
  auto p = make(RestartGroup::one_for_one, specs({"a", "b"}), {2, 10s});
  p.on(Kernel::Begin{});
  p.on(Kernel::Ended{"a", 1, crash("disk on fire", FailureClass::corrupt_data)});
  p.on(Kernel::Ended{"b", 1, crash("no reply")});
  p.now = at(1s);
  BOOST_TEST(p.on(Kernel::Ended{"b", 2, crash("no reply again")}) == "stop a/2, wake 6000ms");
  BOOST_TEST(p.on(Kernel::Ended{"a", 2, {true, {}, {}}})
             == "give in: sup: a: disk on fire (corrupt_data); more than 2 restarts (failures) in 10 s; "
                "last b: no reply again (exception)");
}

BOOST_AUTO_TEST_CASE(old_restarts_leave_the_window) {
  auto p = make(RestartGroup::one_for_one, specs({"a"}), {2, 10s});
  p.on(Kernel::Begin{});
  for (std::uint64_t life = 1; life < 50; ++life) {
    p.now += 11s; // healthy: no backoff either
    BOOST_TEST(p.on(Kernel::Ended{"a", life, crash()}) == "start a/" + std::to_string(life + 1));
  }
}

BOOST_AUTO_TEST_CASE(a_class_has_its_own_budget) {
  SupervisorSpec spec{"sup", RestartGroup::one_for_one, {100, 1h}, {{FailureClass::out_of_memory, {1, 1h}}}, false};
  Prompt p{Kernel(spec, specs({"a"})), {}};
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Ended{"a", 1, crash("big", FailureClass::out_of_memory)}) == "start a/2");
  p.now = at(60s);
  BOOST_TEST(p.on(Kernel::Ended{"a", 2, crash("other")}) == "start a/3");
  p.now = at(120s);
  auto last = p.on(Kernel::Ended{"a", 3, crash("bigger", FailureClass::out_of_memory)});
  BOOST_TEST(last.find("give in: sup: a: big (out_of_memory); more than 1 restarts (out_of_memory)") == 0u, last);
}

BOOST_AUTO_TEST_CASE(a_start_up_error_is_never_retried) {
  auto p = make(RestartGroup::one_for_one, specs({"a"}));
  p.on(Kernel::Begin{});
  auto said = p.on(Kernel::Ended{"a", 1, crash("no such key", FailureClass::startup)});
  BOOST_TEST(said == "give in: sup: a: no such key (startup); a start-up error is not retried");
}

BOOST_AUTO_TEST_CASE(who_does_not_stop_is_killed_and_then_given_up) {
  auto p = make(RestartGroup::one_for_one, specs({"a"}));
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Close{"bye"}) == "stop a/1, wake 5000ms");
  p.now = at(5s);
  BOOST_TEST(p.on(Kernel::Timer{}) == "kill a/1, wake 10000ms");
  p.now = at(10s);
  BOOST_TEST(p.on(Kernel::Timer{}) == "give up a/1, quit: bye");
}

BOOST_AUTO_TEST_CASE(a_child_that_cannot_be_killed_during_a_restart_escalates) {
  auto p = make(RestartGroup::one_for_all, specs({"a", "b"}));
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Ended{"a", 1, crash()}) == "stop b/1, wake 5000ms");
  p.now = at(5s);
  p.on(Kernel::Timer{});
  p.now = at(10s);
  BOOST_TEST(p.on(Kernel::Timer{}) == "give up b/1, give in: sup: b: still there 5 s after it was killed");
}

BOOST_AUTO_TEST_CASE(news_of_an_older_life_changes_nothing) {
  auto p = make(RestartGroup::one_for_one, specs({"a"}));
  p.on(Kernel::Begin{});
  p.on(Kernel::Ended{"a", 1, crash()});
  BOOST_TEST(p.on(Kernel::Ended{"a", 1, crash()}) == "");
  BOOST_TEST(p.on(Kernel::Started{"a", 1}) == "");
  BOOST_TEST((p.kernel.status().children[0].phase == ChildPhase::running));
}

BOOST_AUTO_TEST_CASE(dynamic_children_come_and_go) {
  auto p = make(RestartGroup::one_for_one, {});
  p.on(Kernel::Begin{});
  BOOST_TEST(p.on(Kernel::Add{specs({"w"})[0]}) == "start w/1");
  BOOST_TEST(p.on(Kernel::Add{specs({"w"})[0]}) == "");
  BOOST_TEST(p.on(Kernel::Again{"w", "asked"}) == "stop w/1, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"w", 1, {true, {}, {}}}) == "start w/2");
  BOOST_TEST(p.on(Kernel::Remove{"w"}) == "stop w/2, wake 5000ms");
  BOOST_TEST(p.on(Kernel::Ended{"w", 2, crash()}) == "forget w");
  BOOST_TEST(p.kernel.status().children.empty());
  BOOST_TEST(p.on(Kernel::Close{"bye"}) == "quit: bye");
}

namespace {

/// Children that do what a seed says. Checks the invariants of supervisor_kernel.hpp at every action.
struct World {
  World(std::uint64_t seed) : random(seed, "supervisor world"), group(static_cast<RestartGroup>(random.below(3))) {
    auto n = 1 + random.below(5);
    std::vector<ChildSpec> children;
    for (std::uint64_t i = 0; i < n; ++i) {
      ChildSpec spec;
      spec.id = std::string(1, static_cast<char>('a' + i));
      spec.restart = static_cast<Restart>(random.below(3));
      spec.grace = random.below(4) == 0 ? 0s : 2s;
      children.push_back(spec);
      order.push_back(spec.id);
      restart[spec.id] = spec.restart;
    }
    kernel.emplace(SupervisorSpec{"sup", group, {static_cast<std::uint32_t>(random.below(6)), 5s}, {},
                                  random.below(4) == 0},
                   children);
  }

  void feed(const Kernel::Event& event) {
    for (auto& action : kernel->on(event, now)) {
      BOOST_REQUIRE(!quit);
      if (auto* start = std::get_if<Kernel::Start>(&action))
        started(*start);
      else if (auto* stop = std::get_if<Kernel::Stop>(&action))
        leave(stop->id, stop->life, random.below(6) == 0 ? Duration::max() : Duration(random.below(1000000)));
      else if (auto* kill = std::get_if<Kernel::Kill>(&action))
        leave(kill->id, kill->life, random.below(8) == 0 ? Duration::max() : Duration(random.below(1000000)));
      else if (auto* up = std::get_if<Kernel::GiveUp>(&action))
        living.erase(up->id);
      else if (auto* wake = std::get_if<Kernel::Wake>(&action))
        timer = wake->at;
      else if (auto* q = std::get_if<Kernel::Quit>(&action)) {
        quit = true;
        BOOST_REQUIRE(living.empty());
        BOOST_REQUIRE(!q->cause.empty());
      }
    }
  }

  void started(const Kernel::Start& start) {
    BOOST_REQUIRE(!closed);
    BOOST_REQUIRE(!living.count(start.id));
    if (restart[start.id] == Restart::temporary)
      BOOST_REQUIRE(start.life == 1u);
    BOOST_REQUIRE(start.life > lives[start.id]);
    if (group != RestartGroup::one_for_one) {
      for (auto& [id, life] : living)
        BOOST_REQUIRE(!life.leaving);
      for (auto& id : order) { // those before it run, or are done
        if (id == start.id)
          break;
        auto status = kernel->status();
        for (auto& child : status.children)
          if (child.id == id)
            BOOST_REQUIRE((child.phase == ChildPhase::running || child.phase == ChildPhase::ended));
      }
    }
    lives[start.id] = start.life;
    living[start.id] = {start.life, false, now + Duration(random.below(1000000)), Time::max()};
  }

  void leave(const std::string& id, std::uint64_t life, Duration after) {
    BOOST_REQUIRE(living.count(id));
    auto& child = living[id];
    BOOST_REQUIRE(child.life == life);
    child.leaving = true;
    child.ends = after == Duration::max() ? Time::max() : now + after;
  }

  /// One thing that can happen happens; false when nothing can any more.
  bool step() {
    std::vector<std::pair<Time, std::function<void()>>> next;
    for (auto& [id, life] : living) {
      if (life.starts != Time::max() && !life.leaving)
        next.push_back({life.starts, [this, id = id] {
          auto life_number = living[id].life;
          living[id].starts = Time::max();
          if (random.below(10) == 0) {
            living.erase(id);
            return feed(Kernel::Ended{id, life_number, crash("not started")});
          }
          if (random.below(3) != 0)
            living[id].ends = now + Duration(random.below(4000000000));
          feed(Kernel::Started{id, life_number});
        }});
      if (life.ends != Time::max())
        next.push_back({life.ends, [this, id = id] {
          auto life_number = living[id].life;
          living.erase(id);
          feed(Kernel::Ended{id, life_number, random.below(4) == 0 ? ChildExit{true, {}, {}} : crash()});
        }});
    }
    if (timer != Time::max())
      next.push_back({timer, [this] {
        timer = Time::max();
        feed(Kernel::Timer{});
      }});
    if (next.empty())
      return false;
    // Of what is due soonest, any: but timers never fire early.
    std::size_t pick = random.below(next.size());
    for (std::size_t i = 0; i < next.size(); ++i)
      if (next[i].first < next[pick].first)
        pick = i;
    now = std::max(now, next[pick].first);
    next[pick].second();
    return true;
  }

  struct Life {
    std::uint64_t life = 0;
    bool leaving = false;
    Time starts = Time::max();
    Time ends = Time::max();
  };
  Random random;
  RestartGroup group;
  std::optional<Kernel> kernel;
  std::vector<std::string> order;
  std::map<std::string, Restart> restart;
  std::map<std::string, std::uint64_t> lives;
  std::map<std::string, Life> living;
  Time now{};
  Time timer = Time::max();
  bool closed = false;
  bool quit = false;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_invariants_hold_in_two_thousand_worlds) {
  int escalated = 0, worlds = 0;
  troupe::test::for_each_seed(200, [&](std::uint64_t seed) {
    for (std::uint64_t variant = 0; variant < 10; ++variant) {
      ++worlds;
      World world(seed * 10 + variant);
      world.feed(Kernel::Begin{});
      for (int i = 0; i < 60 && !world.quit && world.step(); ++i) {
      }
      if (world.quit || world.kernel->closing())
        ++escalated;
      if (world.quit)
        continue;
      world.closed = true;
      world.feed(Kernel::Close{"end of test"});
      for (int i = 0; i < 200 && !world.quit; ++i)
        BOOST_REQUIRE(world.step());
      BOOST_REQUIRE(world.quit);
    }
  });
  BOOST_TEST_MESSAGE(escalated << " of " << worlds << " worlds ended by giving up");
  BOOST_TEST(escalated > worlds / 20);
  BOOST_TEST(escalated < worlds);
}

BOOST_AUTO_TEST_SUITE_END()

#include <boost/test/unit_test.hpp>

#include "actors/supervision/supervisor.hpp"
#include "base/log.hpp"
#include "random_value.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <fcntl.h>
#include <map>

using namespace troupe;
using namespace troupe::test;
using namespace std::chrono_literals;

namespace {

/// What a supervisor logs of its children is expected here by the thousands.
struct Silence {
  Silence() { configure_log("test", LogLevel::error, ::open("/dev/null", O_WRONLY | O_CLOEXEC)); }
};

struct StageConfig : caf::actor_system_config {
  StageConfig() {
    register_types(*this);
    set("scheduler.policy", caf::atom("testing"));
    set("logger.inline-output", true);
  }
};

/// Actors without threads: one message of a randomly chosen ready actor at a time, and time that moves when told to.
struct Stage {
  StageConfig config;
  caf::actor_system system{config};
  caf::scoped_actor self{system, true};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  Random random{test_seed(), "stage"};
  std::vector<std::string> said; ///< "+a" life of a began, "-a" it was asked to stop
  caf::actor root;
  caf::error root_exit;
  bool root_gone = false;

  Stage() { scheduler.clock().current_time += 1h; }
  ~Stage() {
    if (root && !root_gone)
      self->send_exit(root, caf::exit_reason::kill);
    drain();
  }

  void drain() {
    auto& jobs = scheduler.jobs;
    do {
      if (!jobs.empty())
        std::rotate(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(random.below(jobs.size())), jobs.end());
    } while (scheduler.try_run_once());
  }
  void advance(Duration total, Duration small = 50ms) {
    for (auto t = Duration::zero(); t < total; t += small) {
      scheduler.advance_time(small);
      drain();
    }
  }

  /// A child that says when it begins and stops; `stubborn` ones do not stop when asked.
  ActorChild child(const std::string& id, bool stubborn = false, Restart restart = Restart::permanent) {
    ActorChild c;
    c.spec.id = id;
    c.spec.restart = restart;
    c.start = [this, id, stubborn](caf::local_actor* parent) -> caf::actor {
      said.push_back("+" + id);
      return parent->spawn([this, id, stubborn](caf::event_based_actor* actor) -> caf::behavior {
        actor->set_exit_handler([this, id, stubborn, actor](const caf::exit_msg& exit) {
          if (exit.reason == caf::exit_reason::user_shutdown) {
            said.push_back("-" + id);
            if (stubborn)
              return;
          }
          actor->quit(exit.reason);
        });
        actor->set_exception_handler([](std::exception_ptr& e) { return exception_to_caf(e); });
        return {[actor](caf::put_atom, const std::string& cause) { actor->quit(to_caf(Errc::corrupt, cause)); },
                [](caf::sys_atom) { throw std::runtime_error("threw"); },
                [actor](caf::close_atom) { actor->quit(); }};
      });
    };
    return c;
  }

  void open(RestartGroup group, std::vector<ActorChild> children, RestartIntensity intensity = {5, 10s}) {
    root = self->spawn<caf::monitored>(supervisor, SupervisorSpec{"sup", group, intensity, {}, false},
                                       std::move(children));
    drain();
  }
  void see_root_exit() {
    drain();
    bool more = true;
    while (more && !root_gone)
      self->receive(
        [&](caf::down_msg& down) {
          root_gone = true;
          root_exit = down.reason;
        },
        caf::after(0s) >> [&] { more = false; });
  }
  SupervisorStatus status() {
    auto request = self->request(root, 1s, caf::get_atom::value);
    drain();
    SupervisorStatus out;
    request.receive([&](const Message<schema::SupervisorStatus>& m) { out = *m.read(); },
                    [&](caf::error& e) { BOOST_FAIL(system.render(e)); });
    return out;
  }
  caf::actor find(const std::string& id) {
    auto request = self->request(root, 1s, caf::get_atom::value, id);
    drain();
    caf::actor out;
    request.receive([&](caf::actor& a) { out = a; }, [&](caf::error&) {});
    return out;
  }
  void crash(const std::string& id, const std::string& cause = "boom") {
    see_root_exit();
    if (root_gone)
      return;
    auto target = find(id);
    if (target)
      self->send(target, caf::put_atom::value, cause);
  }
  std::string story() {
    std::string out;
    for (auto& s : said)
      out += (out.empty() ? "" : " ") + s;
    said.clear();
    return out;
  }
};


BOOST_TEST_GLOBAL_FIXTURE(Silence);

BOOST_FIXTURE_TEST_SUITE(actors, Stage)

BOOST_AUTO_TEST_CASE(children_start_in_order_and_stop_in_reverse) {
  open(RestartGroup::rest_for_one, {child("a"), child("b"), child("c")});
  BOOST_TEST(story() == "+a +b +c");
  self->send_exit(root, caf::exit_reason::user_shutdown);
  self->send_exit(root, caf::exit_reason::user_shutdown); // repeats change nothing
  see_root_exit();
  BOOST_TEST(story() == "-c -b -a");
  BOOST_TEST(root_gone);
  BOOST_TEST((root_exit == caf::exit_reason::user_shutdown));
}

BOOST_AUTO_TEST_CASE(a_death_takes_along_whom_the_group_says) {
  open(RestartGroup::rest_for_one, {child("a"), child("b"), child("c")});
  story();
  crash("b");
  drain();
  BOOST_TEST(story() == "-c +b +c");
  auto now = status();
  BOOST_TEST(now.children[0].life == 1u);
  BOOST_TEST(now.children[1].life == 2u);
  BOOST_TEST((now.children[1].last.kind == FailureClass::corrupt_data));
  BOOST_TEST(now.children[1].last.what == "boom");
}

BOOST_AUTO_TEST_CASE(an_exception_is_a_failure_with_its_words) {
  open(RestartGroup::one_for_one, {child("a")});
  self->send(find("a"), caf::sys_atom::value);
  drain();
  auto now = status();
  BOOST_TEST(now.children[0].life == 2u);
  BOOST_TEST((now.children[0].last.kind == FailureClass::exception));
  BOOST_TEST(now.children[0].last.what == "threw");
}

BOOST_AUTO_TEST_CASE(a_stubborn_child_is_killed_after_its_grace) {
  open(RestartGroup::one_for_one, {child("a", true)});
  self->send_exit(root, caf::exit_reason::user_shutdown);
  see_root_exit();
  BOOST_TEST(!root_gone);
  advance(4s);
  see_root_exit();
  BOOST_TEST(!root_gone);
  advance(2s);
  see_root_exit();
  BOOST_TEST(root_gone);
  BOOST_TEST(story() == "+a -a");
}

BOOST_AUTO_TEST_CASE(a_failed_start_is_tried_again_with_backoff_and_others_go_on) {
  int tries = 0;
  auto broken = child("b");
  auto good = broken.start;
  broken.start = [&](caf::local_actor* parent) -> caf::actor {
    if (++tries < 4)
      throw std::runtime_error("port is taken");
    return good(parent);
  };
  open(RestartGroup::one_for_one, {child("a"), broken, child("c")});
  BOOST_TEST(story() == "+a +c");
  BOOST_TEST(tries == 2); // the first again at once, then after 100 ms and 200 ms
  advance(100ms);
  BOOST_TEST(tries == 3);
  advance(200ms);
  BOOST_TEST(tries == 4);
  BOOST_TEST(story() == "+b");
  BOOST_TEST(status().children[1].last.what == "port is taken");
}

BOOST_AUTO_TEST_CASE(giving_up_tells_the_first_cause_and_leaves_nobody_behind) {
  open(RestartGroup::one_for_one, {child("a"), child("b")}, {2, 10s});
  crash("b", "first cause");
  drain();
  for (int i = 0; i < 5; ++i) {
    crash("a", "later");
    advance(300ms);
  }
  see_root_exit();
  BOOST_REQUIRE(root_gone);
  auto error = from_caf(root_exit);
  BOOST_TEST((error.code == Errc::exhausted));
  BOOST_TEST(error.context.find("sup: b: first cause (corrupt_data); more than 2 restarts") == 0u, error.context);
}

BOOST_AUTO_TEST_CASE(an_error_that_retrying_cannot_help_is_not_retried) {
  auto c = child("a");
  c.start = [](caf::local_actor* parent) -> caf::actor {
    return parent->spawn([](caf::event_based_actor* actor) -> caf::behavior {
      actor->quit(to_caf(Errc::fenced, "another master"));
      return {[](caf::ok_atom) {}};
    });
  };
  open(RestartGroup::rest_for_one, {c});
  see_root_exit();
  BOOST_REQUIRE(root_gone);
  BOOST_TEST(from_caf(root_exit).context == "sup: a: another master (startup); a start-up error is not retried");
}

BOOST_AUTO_TEST_CASE(children_are_added_and_removed_while_it_runs) {
  open(RestartGroup::one_for_one, {});
  self->send(root, AddChild{child("w")});
  self->send(root, AddChild{child("w")}); // taken
  drain();
  BOOST_TEST(story() == "+w");
  self->send(root, caf::reset_atom::value, std::string("w"));
  drain();
  BOOST_TEST(story() == "-w +w");
  self->send(root, caf::delete_atom::value, std::string("w"));
  drain();
  BOOST_TEST(story() == "-w");
  BOOST_TEST(status().children.empty());
  self->send(root, AddChild{child("w")}); // the name is free again
  drain();
  BOOST_TEST(story() == "+w");
}

BOOST_AUTO_TEST_CASE(a_transient_child_may_end) {
  open(RestartGroup::one_for_all, {child("a"), child("t", false, Restart::transient)});
  self->send(find("t"), caf::close_atom::value);
  drain();
  BOOST_TEST(story() == "+a +t");
  BOOST_TEST((status().children[1].phase == ChildPhase::ended));
  BOOST_TEST(!find("t"));
}

BOOST_AUTO_TEST_CASE(a_supervisor_is_a_child_like_any_other) {
  ActorChild inner;
  inner.spec.id = "inner";
  inner.start = [this](caf::local_actor* parent) -> caf::actor {
    said.push_back("+inner");
    return parent->spawn(supervisor, SupervisorSpec{"inner", RestartGroup::one_for_one, {0, 10s}, {}, false},
                         std::vector<ActorChild>{child("leaf")});
  };
  open(RestartGroup::one_for_one, {inner});
  BOOST_TEST(story() == "+inner +leaf");
  auto request = self->request(find("inner"), 1s, caf::get_atom::value, std::string("leaf"));
  drain();
  request.receive([&](caf::actor& leaf) { self->send(leaf, caf::put_atom::value, std::string("deep")); },
                  [](caf::error&) { BOOST_FAIL("no leaf"); });
  drain();
  BOOST_TEST(story() == "+inner +leaf");
  BOOST_TEST(status().children[0].last.what.find("inner: leaf: deep (corrupt_data)") == 0u);
}

BOOST_AUTO_TEST_CASE(kill_is_obeyed_at_once) {
  open(RestartGroup::rest_for_one, {child("a", true), child("b", true)});
  self->send_exit(root, caf::exit_reason::kill);
  see_root_exit();
  BOOST_TEST(root_gone);
  BOOST_TEST(story() == "+a +b"); // nobody was asked
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(two_hundred_schedules_of_simultaneous_deaths_end_with_all_running_or_a_cause) {
  for_each_seed(200, [](std::uint64_t seed) {
    Stage stage;
    stage.random = Random(seed, "schedule");
    auto group = static_cast<RestartGroup>(stage.random.below(3));
    std::vector<ActorChild> children;
    std::vector<std::string> ids = {"a", "b", "c", "d"};
    for (auto& id : ids)
      children.push_back(stage.child(id, stage.random.below(5) == 0));
    stage.open(group, std::move(children), {static_cast<std::uint32_t>(3 + stage.random.below(20)), 10s});
    for (int wave = 0; wave < 3; ++wave) {
      std::vector<caf::actor> victims;
      for (auto& id : ids)
        if (stage.random.below(2) == 0)
          victims.push_back(stage.find(id));
      stage.see_root_exit();
      if (stage.root_gone)
        break;
      for (auto& v : victims) // all at once, before anybody reacts
        if (v)
          stage.self->send(v, caf::put_atom::value, std::string("wave"));
      stage.advance(Duration(static_cast<std::int64_t>(stage.random.below(8)) * 1s));
    }
    stage.advance(30s, 500ms);
    stage.see_root_exit();
    if (stage.root_gone) {
      auto error = from_caf(stage.root_exit);
      BOOST_REQUIRE((error.code == Errc::exhausted));
      BOOST_REQUIRE(error.context.find("wave") != std::string::npos);
      return;
    }
    auto now = stage.status();
    std::map<std::string, std::uint64_t> begun;
    for (auto& s : stage.said)
      if (s[0] == '+')
        ++begun[s.substr(1)];
    for (auto& c : now.children) {
      BOOST_REQUIRE((c.phase == ChildPhase::running));
      BOOST_REQUIRE(c.life == begun[c.id]);
    }
    stage.self->send_exit(stage.root, caf::exit_reason::user_shutdown);
    stage.advance(30s, 500ms);
    stage.see_root_exit();
    BOOST_REQUIRE(stage.root_gone);
  });
}

} // namespace

// Actors of a module under a real supervisor: they talk, die, come back, and stop when asked.
#define BOOST_TEST_MODULE module_actors
#include <boost/test/unit_test.hpp>

#include "actors/module_actors.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <condition_variable>
#include <map>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

struct Config : caf::actor_system_config {
  Config() {
    register_types(*this);
    set("scheduler.max-threads", std::size_t{1});
  }
};

/// Published numbers, and a wait for one of them.
class Board {
public:
  void put(std::string_view metric, double value) {
    std::lock_guard lock(mutex_);
    numbers_[std::string(metric)] = value;
    changed_.notify_all();
  }
  bool wait(const std::string& metric, double at_least) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s,
                             [&] { return numbers_.contains(metric) && numbers_[metric] >= at_least; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, double> numbers_;
};

/// Counts what it is told; throws when told to.
class Teller final : public ModuleActor {
public:
  explicit Teller(std::string other) : other_(std::move(other)) {}
  void start(ActorContext& context) override {
    context.publish("lives of " + other_, static_cast<double>(context.incarnation()));
    context.send_later(1ms, {"tick", {}});
  }
  void on_message(ActorContext& context, const ModuleMessage& message) override {
    if (message.topic == "fail")
      throw std::runtime_error("told to fail");
    if (message.topic == "tick") {
      context.publish("ticks", ++ticks_);
      context.send_later(1ms, {"tick", {}});
      context.send(other_, {"hello", {1, 2, 3}});
    }
    if (message.topic == "hello")
      context.publish("bytes", static_cast<double>(message.body.size()));
  }
  void stop(ActorContext& context) override { context.publish("stopped", 1); }

private:
  std::string other_;
  double ticks_ = 0;
};

ActorSpec teller(const std::string& name, const std::string& other, ActorPlace place = ActorPlace::worker) {
  return {name, place, ActorRestart::permanent, [other] { return std::make_unique<Teller>(other); }};
}

struct Stage {
  Config config;
  caf::actor_system system{config};
  Board board;
  std::shared_ptr<ModuleExchange> exchange = std::make_shared<ModuleExchange>(
    [this](std::string_view metric, double value) { board.put(metric, value); });

  void stop(caf::actor& supervisor) {
    caf::scoped_actor self{system};
    self->monitor(supervisor);
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
    self->receive([](const caf::down_msg&) {});
    supervisor = nullptr;
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(actors_of_a_place_talk_to_each_other_and_stop_when_asked) {
  Stage stage;
  auto root = spawn_module_actors(stage.system,
                                  {teller("a", "b"), teller("b", "a"), teller("c", "a", ActorPlace::master)},
                                  ActorPlace::worker, stage.exchange);
  BOOST_TEST(stage.board.wait("bytes", 3));
  BOOST_TEST(stage.board.wait("ticks", 5));
  BOOST_TEST(!stage.exchange->send("c", {"hello", {}})); // of another place
  stage.stop(root);
  BOOST_TEST(stage.board.wait("stopped", 1));
  BOOST_TEST(!stage.exchange->send("a", {"hello", {}}));
}

BOOST_AUTO_TEST_CASE(an_actor_that_throws_comes_back_as_a_new_life_and_the_others_go_on) {
  Stage stage;
  auto root = spawn_module_actors(stage.system, {teller("a", "b"), teller("b", "a")}, ActorPlace::worker,
                                  stage.exchange);
  BOOST_TEST(stage.board.wait("lives of b", 1));
  for (double life = 2; life <= 3; ++life) {
    while (!stage.exchange->send("a", {"fail", {}})) {
    }
    BOOST_TEST(stage.board.wait("lives of b", life));
  }
  BOOST_TEST(stage.board.wait("lives of a", 1));
  stage.stop(root);
}

BOOST_AUTO_TEST_CASE(a_message_that_is_too_large_is_refused) {
  Stage stage;
  ModuleMessage large{"large", std::vector<std::uint8_t>(ModuleExchange::most_bytes + 1)};
  BOOST_CHECK_THROW(stage.exchange->send("a", std::move(large)), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_place_without_actors_has_no_supervisor) {
  Stage stage;
  BOOST_TEST(!spawn_module_actors(stage.system, {teller("a", "b")}, ActorPlace::node, stage.exchange));
}

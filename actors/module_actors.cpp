#include "actors/module_actors.hpp"

#include "base/log.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <stdexcept>

namespace troupe {

namespace {

using BeginAtom = caf::atom_constant<caf::atom("begin")>;

struct HostState {
  static inline const char* name = "troupe.module-actor";
  std::string actor_name;
  std::uint64_t life = 0;
  std::shared_ptr<ModuleExchange> exchange;
  std::unique_ptr<ModuleActor> actor;
};
using Host = caf::stateful_actor<HostState>;

void check_size(const ModuleMessage& message) {
  if (message.body.size() > ModuleExchange::most_bytes)
    throw std::invalid_argument("message '" + message.topic + "' has " + std::to_string(message.body.size()) +
                                " bytes, at most 16 MiB are possible");
}

class Context final : public ActorContext {
public:
  explicit Context(Host* self) : self_(self) {}
  std::uint64_t incarnation() const override { return self_->state.life; }
  void send(std::string_view actor, ModuleMessage message) override {
    self_->state.exchange->send(actor, std::move(message));
  }
  void send_later(std::chrono::milliseconds delay, ModuleMessage message) override {
    check_size(message);
    self_->delayed_send(self_, delay, ModuleMail{std::make_shared<const ModuleMessage>(std::move(message))});
  }
  void publish(std::string_view metric, double value) override {
    self_->state.exchange->publish(metric, value);
  }

private:
  Host* self_;
};

caf::behavior module_actor(Host* self, const ActorSpec& spec, std::shared_ptr<ModuleExchange> exchange) {
  auto& state = self->state;
  state.actor_name = spec.name;
  state.exchange = std::move(exchange);
  install_handlers(self, [name = spec.name](const Error& error) {
    log(LogLevel::warn, "module_actor.error", "name={} {}", name, error.context);
  });
  self->set_exit_handler([self](caf::exit_msg& exit) {
    if (self->state.actor && exit.reason != caf::exit_reason::kill) {
      Context context(self);
      self->state.actor->stop(context);
    }
    self->quit(exit.reason);
  });
  self->attach_functor([exchange = state.exchange, name = spec.name,
                        life = state.exchange->enter(spec.name, caf::actor_cast<caf::actor>(self))] {
    exchange->leave(name, life);
  });
  self->send(self, BeginAtom::value);
  return {
    [self, make = spec.make](BeginAtom) {
      auto& s = self->state;
      s.life = s.exchange->enter(s.actor_name, caf::actor_cast<caf::actor>(self));
      s.actor = make();
      if (!s.actor)
        throw std::invalid_argument("the factory of module actor '" + s.actor_name + "' made nothing");
      Context context(self);
      s.actor->start(context);
    },
    [self](const ModuleMail& mail) {
      self->state.exchange->taken(self->state.actor_name, self->state.life);
      Context context(self);
      self->state.actor->on_message(context, *mail.message);
    },
  };
}

} // namespace

std::uint64_t ModuleExchange::enter(const std::string& name, const caf::actor& actor) {
  std::lock_guard lock(mutex_);
  auto& seat = seats_[name];
  if (seat.actor != actor) {
    seat.actor = actor;
    seat.waiting = 0;
    ++seat.life;
  }
  return seat.life;
}

void ModuleExchange::leave(const std::string& name, std::uint64_t life) {
  std::lock_guard lock(mutex_);
  if (auto seat = seats_.find(name); seat != seats_.end() && seat->second.life == life)
    seat->second.actor = nullptr;
}

bool ModuleExchange::send(std::string_view name, ModuleMessage message) {
  check_size(message);
  caf::actor to;
  {
    std::lock_guard lock(mutex_);
    auto seat = seats_.find(name);
    if (seat == seats_.end() || !seat->second.actor)
      return false;
    if (seat->second.waiting >= most_waiting) {
      log(LogLevel::warn, "module_actor.full", "name={} topic={}", name, message.topic);
      return false;
    }
    ++seat->second.waiting;
    to = seat->second.actor;
  }
  caf::anon_send(to, ModuleMail{std::make_shared<const ModuleMessage>(std::move(message))});
  return true;
}

void ModuleExchange::taken(const std::string& name, std::uint64_t life) {
  std::lock_guard lock(mutex_);
  if (auto seat = seats_.find(name);
      seat != seats_.end() && seat->second.life == life && seat->second.waiting > 0)
    --seat->second.waiting;
}

std::vector<ActorChild> module_children(const std::vector<ActorSpec>& specs, ActorPlace place,
                                        const std::shared_ptr<ModuleExchange>& exchange) {
  std::vector<ActorChild> children;
  for (const auto& spec : specs) {
    if (spec.place != place)
      continue;
    ActorChild child;
    child.spec.id = spec.name;
    child.spec.restart = spec.restart == ActorRestart::permanent   ? Restart::permanent
                         : spec.restart == ActorRestart::transient ? Restart::transient
                                                                   : Restart::temporary;
    child.start = [spec, exchange](caf::local_actor* parent) {
      return caf::actor(parent->home_system().spawn<caf::detached>(module_actor, spec, exchange));
    };
    children.push_back(std::move(child));
  }
  return children;
}

caf::actor spawn_module_actors(caf::actor_system& system, const std::vector<ActorSpec>& specs,
                               ActorPlace place, const std::shared_ptr<ModuleExchange>& exchange) {
  auto children = module_children(specs, place, exchange);
  if (children.empty())
    return nullptr;
  SupervisorSpec spec;
  spec.name = "actors of the module";
  spec.intensity = {10, std::chrono::seconds(10)};
  spec.stop_together = true;
  return system.spawn(supervisor, spec, std::move(children));
}

} // namespace troupe

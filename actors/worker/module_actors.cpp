#include "actors/worker/module_actors.hpp"

#include "actors/supervision/supervisor.hpp"
#include "base/log.hpp"

#include <caf/send.hpp>

namespace troupe {

/// A message between module actors. In-process only.
struct ModuleMail {
  ModuleMessage message;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ModuleMail)

namespace troupe {

namespace {

constexpr std::size_t max_mail_bytes = 16 << 20;

struct HostState {
  static inline const char* name = "troupe.module";
  std::unique_ptr<ModuleActor> actor;
  std::unique_ptr<ActorContext> context;
};

using HostSelf = caf::stateful_actor<HostState>*;

class HostContext final : public ActorContext {
public:
  HostContext(HostSelf self, std::string name, Directory* names, ProcessPort* port)
      : self_(self), name_(std::move(name)), names_(names), port_(port) {}

  std::uint64_t incarnation() const override { return names_->life(name_); }
  void send(std::string_view actor, ModuleMessage message) override {
    check(message);
    if (auto other = names_->find(std::string(actor)))
      self_->send(other, ModuleMail{std::move(message)});
  }
  void send_later(std::chrono::milliseconds delay, ModuleMessage message) override {
    check(message);
    self_->delayed_send(self_, delay, ModuleMail{std::move(message)});
  }
  void publish(std::string_view metric, double value) override { port_->publish(metric, value); }

private:
  static void check(const ModuleMessage& message) {
    if (message.body.size() > max_mail_bytes)
      throw std::length_error("a module message has at most 16 MiB");
  }

  HostSelf self_;
  std::string name_;
  Directory* names_;
  ProcessPort* port_;
};

caf::behavior host(HostSelf self, const ActorSpec& spec, Directory* names, ProcessPort* port) {
  install_handlers(self, [](const Error& e) { log(LogLevel::warn, "module.error", "{}", e.context); });
  self->state.context = std::make_unique<HostContext>(self, spec.name, names, port);
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    if (exit.reason != caf::exit_reason::kill && self->state.actor)
      self->state.actor->stop(*self->state.context);
    self->quit(exit.reason);
  });
  self->send(self,
             ModuleMail{}); // the actor is made and started by its first message, where exceptions are caught
  return {
    [self, spec](ModuleMail& mail) {
      auto& st = self->state;
      if (st.actor)
        return st.actor->on_message(*st.context, mail.message);
      st.actor = spec.make();
      st.actor->start(*st.context);
    },
  };
}

Restart rule_of(ActorRestart restart) {
  switch (restart) {
  case ActorRestart::permanent: return Restart::permanent;
  case ActorRestart::transient: return Restart::transient;
  case ActorRestart::temporary: return Restart::temporary;
  }
  return Restart::permanent;
}

} // namespace

result<void> check_places(const std::vector<ActorSpec>& specs) {
  for (const auto& spec : specs)
    if (spec.place != ActorPlace::worker)
      return fail(Errc::unsupported, "module actor '" + spec.name +
                                       "': this version hosts module actors in workers only; "
                                       "register it with ActorPlace::worker");
  return {};
}

caf::actor start_module_actors(caf::actor_system& system, const std::vector<ActorSpec>& specs,
                               Directory* names, ProcessPort* port) {
  SupervisorSpec spec;
  spec.name = "module actors";
  std::vector<ActorChild> children;
  for (const auto& actor : specs) {
    ActorChild child;
    child.spec.id = actor.name;
    child.spec.restart = rule_of(actor.restart);
    child.start = [actor, names, port](caf::local_actor* parent) -> caf::actor {
      caf::actor made = parent->spawn<caf::detached>(host, actor, names, port);
      names->announce(actor.name, made);
      return made;
    };
    children.push_back(std::move(child));
  }
  auto root = system.spawn(supervisor, spec, std::move(children));
  root->attach_functor([port](const caf::error& reason) {
    if (!reason || reason == caf::exit_reason::user_shutdown)
      return;
    Failure failure;
    failure.kind = FailureClass::exception;
    failure.what = from_caf(reason).context;
    failure.during = "module actors";
    port->failed(failure);
    port->leave(failure.what);
  });
  return root;
}

} // namespace troupe

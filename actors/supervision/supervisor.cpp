#include "actors/supervision/supervisor.hpp"

#include "base/log.hpp"
#include "base/overloaded.hpp"

#include <caf/actor_clock.hpp>
#include <caf/exit_reason.hpp>

#include <deque>

namespace troupe {

namespace {

using SupervisorSelf = caf::stateful_actor<SupervisorState>*;
using Kernel = SupervisorKernel;

constexpr auto troupe_category = caf::atom("troupe");

/// The clock of the actor system, which a test moves by hand.
Time now_of(SupervisorSelf self) {
  return Time(std::chrono::duration_cast<Duration>(self->clock().now().time_since_epoch()));
}

/// Makes one life; what goes wrong is told through the mailbox.
bool start(SupervisorSelf self, const Kernel::Start& wanted) {
  auto& slot = self->state.lives.at(wanted.id);
  slot.life = wanted.life;
  slot.actor = nullptr;
  StartFailed failed{wanted.id, wanted.life, {false, FailureClass::exception, "start made no actor"}};
  try {
    slot.actor = slot.child.start(self);
  } catch (const std::exception& e) {
    failed.exit.what = e.what();
  } catch (...) {
    failed.exit.what = "start threw something that is no std::exception";
  }
  if (slot.actor) {
    monitor_once(self, slot.actor);
    return true;
  }
  self->send(self, std::move(failed));
  return false;
}

void step(SupervisorSelf self, Kernel::Event event) {
  auto& st = self->state;
  std::deque<Kernel::Event> events;
  events.push_back(std::move(event));
  auto send_exit = [&](const std::string& id, std::uint64_t life, caf::exit_reason reason) {
    auto i = st.lives.find(id);
    if (i != st.lives.end() && i->second.life == life && i->second.actor)
      self->send_exit(i->second.actor, reason);
  };
  while (!events.empty()) {
    auto actions = st.kernel->on(events.front(), now_of(self));
    events.pop_front();
    for (auto& action : actions)
      std::visit(
        Overloaded{
          [&](const Kernel::Start& a) {
            if (start(self, a))
              events.push_back(Kernel::Started{a.id, a.life});
          },
          [&](const Kernel::Stop& a) { send_exit(a.id, a.life, caf::exit_reason::user_shutdown); },
          [&](const Kernel::Kill& a) {
            log(LogLevel::warn, "supervisor.kill", "child={} life={} reason=\"{}\"", a.id, a.life, a.reason);
            send_exit(a.id, a.life, caf::exit_reason::kill);
          },
          [&](const Kernel::GiveUp& a) {
            log(LogLevel::error, "supervisor.give_up", "child={} life={} reason=\"{}\"", a.id, a.life, a.reason);
            auto& slot = st.lives.at(a.id);
            self->demonitor(caf::actor_cast<caf::actor_addr>(slot.actor));
            slot.actor = nullptr;
          },
          [&](const Kernel::Forget& a) { st.lives.erase(a.id); },
          [&](const Kernel::Wake& a) {
            auto token = ++st.timer;
            self->delayed_send(self, std::max(a.at - now_of(self), Duration(1)), caf::tick_atom::value, token);
          },
          [&](const Kernel::Quit& a) {
            if (a.escalated)
              log(LogLevel::error, "supervisor.gave_up", "{}", a.cause);
            self->quit(a.escalated ? to_caf(Errc::exhausted, a.cause) : st.close_reason);
          },
        },
        action);
  }
}

void on_down(SupervisorSelf self, const caf::down_msg& down) {
  for (auto& [id, slot] : self->state.lives) {
    if (!slot.actor || slot.actor.address() != down.source)
      continue;
    auto exit = slot.child.classify(down.reason);
    slot.actor = nullptr;
    if (!exit.normal)
      log(LogLevel::warn, "supervisor.child_failed", "child={} life={} class={} what=\"{}\"", id, slot.life,
          to_string(exit.kind), exit.what);
    return step(self, Kernel::Ended{id, slot.life, std::move(exit)});
  }
}

void on_exit(SupervisorSelf self, caf::exit_msg& exit) {
  auto& st = self->state;
  if (exit.reason == caf::exit_reason::kill) {
    for (auto& [id, slot] : st.lives)
      if (slot.actor)
        self->send_exit(slot.actor, caf::exit_reason::kill);
    self->quit(std::move(exit.reason));
    return;
  }
  if (st.kernel->closing())
    return;
  st.close_reason = exit.reason;
  step(self, Kernel::Close{"asked to stop"});
}

} // namespace

ChildExit ActorChild::default_exit_class(const caf::error& reason) {
  if (!reason)
    return {true, FailureClass::none, {}};
  auto error = from_caf(reason);
  ChildExit exit{false, FailureClass::exception, error.context};
  if (reason.category() == exit_category) {
    auto code = static_cast<caf::exit_reason>(reason.code());
    exit.normal = code == caf::exit_reason::normal || code == caf::exit_reason::user_shutdown;
    if (code == caf::exit_reason::kill)
      exit.kind = FailureClass::signal;
    else if (code == caf::exit_reason::remote_link_unreachable)
      exit.kind = FailureClass::node_loss;
  } else if (reason.category() == troupe_category) {
    switch (error.code) {
    case Errc::invalid:
    case Errc::unsupported:
    case Errc::fenced:
      exit.kind = FailureClass::startup;
      break;
    case Errc::corrupt:
      exit.kind = FailureClass::corrupt_data;
      break;
    case Errc::deadline:
      exit.kind = FailureClass::hang;
      break;
    case Errc::peer_lost:
      exit.kind = FailureClass::node_loss;
      break;
    default:
      break;
    }
  }
  return exit.normal ? ChildExit{true, FailureClass::none, {}} : exit;
}

caf::behavior supervisor(SupervisorSelf self, SupervisorSpec spec, std::vector<ActorChild> children) {
  std::vector<ChildSpec> specs;
  for (auto& child : children) {
    specs.push_back(child.spec);
    auto id = child.spec.id;
    self->state.lives[id].child = std::move(child);
  }
  self->state.kernel = std::make_unique<Kernel>(std::move(spec), std::move(specs));
  install_handlers(self, [](const Error& error) {
    log(LogLevel::warn, "supervisor.error", "{}", error.context);
  });
  self->set_down_handler([self](caf::down_msg& down) { on_down(self, down); });
  self->set_exit_handler([self](caf::exit_msg& exit) { on_exit(self, exit); });
  step(self, Kernel::Begin{});
  return {
    [self](caf::tick_atom, std::uint64_t token) {
      if (token == self->state.timer)
        step(self, Kernel::Timer{});
    },
    [self](const StartFailed& failed) { step(self, Kernel::Ended{failed.id, failed.life, failed.exit}); },
    [self](AddChild& add) {
      auto id = add.child.spec.id;
      if (self->state.kernel->closing() || !self->state.lives.try_emplace(id, SupervisorState::Life{}).second)
        return;
      self->state.lives[id].child = std::move(add.child);
      step(self, Kernel::Add{self->state.lives[id].child.spec});
    },
    [self](caf::delete_atom, const std::string& id) { step(self, Kernel::Remove{id}); },
    [self](caf::reset_atom, const std::string& id) { step(self, Kernel::Again{id, "asked for"}); },
    [self](caf::get_atom) { return Message<schema::SupervisorStatus>::from(self->state.kernel->status()); },
    [self](caf::get_atom, const std::string& id) -> caf::result<caf::actor> {
      auto i = self->state.lives.find(id);
      if (i == self->state.lives.end() || !i->second.actor)
        return to_caf(Errc::retry_later, "no life of " + id);
      return i->second.actor;
    },
  };
}

} // namespace troupe

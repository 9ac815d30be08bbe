#include "actors/node/node_process.hpp"

#include "actors/atoms.hpp"
#include "actors/connect.hpp"
#include "actors/node/node_actor.hpp"
#include "actors/node/persister.hpp"
#include "actors/supervision/supervisor.hpp"
#include "actors/system_config.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <condition_variable>
#include <mutex>

namespace troupe {

// Also remembers a stop that was asked for before there was an agent to hear it.
struct NodeStop::Names {
  Directory roles;
  std::mutex mutex;
  std::condition_variable asked;
  std::string reason;
};

namespace {

constexpr auto connect_again = std::chrono::milliseconds(20);

// The node's supervision tree: persister and agent. The persister starts again; an agent that fails takes the node
// along, since its workers are its own. Ends when the agent ended in order.
caf::actor start_node(caf::actor_system& system, const NodeSettings* settings, const caf::actor& gate,
                      NodeStop::Names* stop) {
  auto* names = &stop->roles;
  ActorChild persister;
  persister.spec.id = role::persister;
  persister.spec.backoff.first = std::chrono::milliseconds(10);
  persister.start = [=](caf::local_actor* parent) -> caf::actor {
    caf::actor made = parent->spawn<caf::detached>(persister_actor, &settings->config);
    names->announce(role::persister, made);
    if (auto agent = names->find(role::agent))
      caf::anon_send(agent, PersisterBack{});
    return made;
  };
  ActorChild agent;
  agent.spec.id = role::agent;
  agent.spec.restart = Restart::temporary;
  agent.spec.grace = settings->config.limits.stop * 2;
  agent.start = [=](caf::local_actor* parent) -> caf::actor {
    caf::actor made = parent->spawn(node_actor, settings, gate, names);
    names->announce(role::agent, made);
    if (const std::lock_guard lock(stop->mutex); !stop->reason.empty())
      caf::anon_send(made, StopAtom::value, stop->reason);
    // Its end is the node's end, in order or not.
    made->attach_functor([parent = caf::actor_cast<caf::actor>(parent)](const caf::error& reason) {
      const bool in_order = !reason || reason == caf::exit_reason::user_shutdown;
      caf::anon_send_exit(parent,
                          in_order ? caf::exit_reason::user_shutdown : caf::exit_reason::unhandled_exception);
    });
    return made;
  };
  SupervisorSpec spec;
  spec.name = "node";
  return system.spawn(supervisor, spec, std::vector<ActorChild>{persister, agent});
}

} // namespace

NodeStop::NodeStop() : names_(std::make_unique<Names>()) {}
NodeStop::~NodeStop() = default;

void NodeStop::request(const std::string& reason) {
  const std::lock_guard lock(names_->mutex);
  names_->reason = reason;
  names_->asked.notify_all();
  if (auto agent = names_->roles.find(role::agent))
    caf::anon_send(agent, StopAtom::value, reason);
}

result<void> run_node(const NodeSettings& settings, std::uint16_t port, NodeStop& stop) {
  SystemConfig caf_config{1};
  caf::actor_system system{caf_config};
  auto& names = stop.names_->roles;
  auto found = connect(system, settings.master_host, port, settings.config.limits.request);
  // The master may just be starting again, behind another port.
  for (const auto until = monotonic_now() + settings.config.limits.request; !found && monotonic_now() < until;) {
    std::unique_lock lock(stop.names_->mutex);
    if (stop.names_->asked.wait_for(lock, connect_again, [&] { return !stop.names_->reason.empty(); }))
      return fail(Errc::aborted, stop.names_->reason);
    lock.unlock();
    if (const auto now = settings.master_port(); now != 0)
      found = connect(system, settings.master_host, now, settings.config.limits.request);
  }
  TROUPE_ASSIGN(auto gate, std::move(found));
  result<void> end;
  {
    caf::scoped_actor self{system};
    auto root = start_node(system, &settings, gate, stop.names_.get());
    self->monitor(root);
    self->receive([&](const caf::down_msg& down) {
      if (down.reason && down.reason != caf::exit_reason::user_shutdown)
        end = fail(Errc::exhausted, caf::to_string(down.reason));
    });
    root = nullptr;
    names.clear();
  }
  gate = nullptr;
  return end;
}

} // namespace troupe

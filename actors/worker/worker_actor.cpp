#include "actors/worker/worker_actor.hpp"

#include "actors/atoms.hpp"
#include "base/log.hpp"

#include <caf/send.hpp>

namespace troupe {

namespace {

using WorkerSelf = caf::stateful_actor<WorkerState>*;

void pass_on(WorkerSelf self, Outgoing& out) {
  auto& state = self->state;
  for (auto& hello : out.hello)
    self->send(state.node, Message<schema::WorkerHello>::from(hello));
  for (auto& report : out.report)
    self->send(state.node, Message<schema::WorkerReport>::from(report));
  for (auto& save : out.save)
    self->send(state.node, Message<schema::SaveReady>::from(save));
  for (const auto& reached : out.fault_reached)
    self->send(state.node, Message<schema::FaultReached>::from(reached));
}

// The whole report, and what is new; where nothing is, the times every second beat.
void beat(WorkerSelf self) {
  auto& state = self->state;
  self->delayed_send(self, state.heartbeat, BeatAtom::value);
  if (!state.node)
    return;
  const auto progress = state.port->take_progress();
  if (!progress.rows.empty() || ++state.beats % 2 == 0)
    self->send(state.node, Message<schema::ProgressReport>::from(progress));
  self->send(state.node, Message<schema::WorkerReport>::from(state.port->last_report()));
}

} // namespace

caf::behavior worker_actor(WorkerSelf self, ProcessPort* port, WorkerKey me, Duration heartbeat) {
  auto& state = self->state;
  state.port = port;
  state.me = me;
  state.heartbeat = heartbeat;
  self->set_error_handler(
    [](caf::error& e) { log(LogLevel::warn, "worker.error", "{}", caf::to_string(e)); });
  self->set_down_handler([self](caf::down_msg& down) {
    if (self->state.node && down.source == caf::actor_cast<caf::actor_addr>(self->state.node))
      self->state.port->leave("the node is gone");
  });
  self->delayed_send(self, heartbeat, BeatAtom::value);
  return {
    [self](Outgoing& out) {
      if (self->state.node)
        pass_on(self, out);
      else
        self->state.waiting.push_back(std::move(out));
    },
    [self](const caf::actor& node) {
      self->state.node = caf::actor_cast<NodeActor>(node);
      self->monitor(node);
      for (auto& out : self->state.waiting)
        pass_on(self, out);
      self->state.waiting.clear();
    },
    [self](const Message<schema::WorkerOrder>& message) {
      if (auto order = message.read<WorkerOrder>())
        self->state.port->deliver(std::move(*order));
      else
        log(LogLevel::error, "order.unreadable", "{}", order.error().context);
    },
    [self](const Message<schema::FireFault>& message) {
      if (auto fire = message.read<FireFault>())
        self->state.port->answer(*fire);
    },
    [self](BeatAtom) { beat(self); },
    [self](FlushAtom) {
      // The engine is done: the last rows and the last report go out before the process ends.
      if (!self->state.node)
        return;
      self->send(self->state.node, Message<schema::ProgressReport>::from(self->state.port->take_progress()));
      self->send(self->state.node, Message<schema::WorkerReport>::from(self->state.port->last_report()));
    },
  };
}

void ActorSink::hello(WorkerHello hello) {
  Outgoing out;
  out.hello.push_back(std::move(hello));
  caf::anon_send(worker_, std::move(out));
}

void ActorSink::report(WorkerReport report) {
  Outgoing out;
  out.report.push_back(std::move(report));
  caf::anon_send(worker_, std::move(out));
}

void ActorSink::fault_reached(FaultReached reached) {
  Outgoing out;
  out.fault_reached.push_back(reached);
  caf::anon_send(worker_, std::move(out));
}

void ActorSink::save_ready(SaveReady ready) {
  Outgoing out;
  out.save.push_back(std::move(ready));
  caf::anon_send(worker_, std::move(out));
}

} // namespace troupe

#include "actors/node/node_actor.hpp"

#include "actors/atoms.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/node/node_parts.hpp"
#include "actors/supervision/supervisor.hpp"
#include "base/log.hpp"

#include <caf/io/middleman.hpp>
#include <caf/send.hpp>

#include <csignal>

namespace troupe {

using namespace node;

caf::behavior node_actor(caf::stateful_actor<NodeState>* self, const NodeSettings* settings, caf::actor gate,
                         const Directory* names) {
  auto& mine = self->state;
  mine.settings = settings;
  mine.names = names;
  mine.slots.resize(settings->slots);
  for (std::uint32_t i = 0; i < settings->slots; ++i)
    mine.slots[i].fact.slot = SlotId{i};
  caf::actor me{self};
  mine.watcher = std::make_unique<ProcessWatcher>([me](std::uint64_t token, ExitStatus status) {
    caf::anon_send(me, ProcessEnded{token, status});
  });
  self->set_error_handler([](caf::error& e) { log(LogLevel::warn, "node.error", "{}", caf::to_string(e)); });
  self->set_down_handler([self](const caf::down_msg& down) {
    auto& state = self->state;
    if (!state.gate || down.source != caf::actor_cast<caf::actor_addr>(state.gate))
      return;
    log(LogLevel::warn, "master.away", "{}", caf::to_string(down.reason));
    state.gate = nullptr;
    state.away_since = monotonic_now();
    self->send(self, ConnectAtom::value);
  });
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    if (exit.reason == caf::exit_reason::kill)
      self->quit(exit.reason);
    else
      stop_all(self, "the node was told to end");
  });
  auto port = self->system().middleman().publish(self, 0, "127.0.0.1");
  if (!port) {
    log(LogLevel::error, "node.unpublished", "{}", caf::to_string(port.error()));
    self->quit(port.error());
    return {};
  }
  mine.port = *port;
  join(self, gate);
  return {
    [self](const Message<schema::SlotsOrder>& m) {
      with(m, [self](SlotsOrder& order) {
        auto& known = self->state.slots_order;
        if (order.term < self->state.term || (order.term == known.term && order.sequence < known.sequence))
          return;
        known = std::move(order);
        for (const auto& wanted : known.slots)
          if (wanted.slot.value < self->state.slots.size()) {
            auto& slot = self->state.slots[wanted.slot.value];
            slot.order = wanted;
            settle(self, slot);
          }
      });
    },
    [self](const Message<schema::GenerationOrder>& m) {
      with(m, [self](GenerationOrder& order) { obey(self, std::move(order)); });
    },
    [self](const Message<schema::SaveOrder>& m) {
      with(m, [self](const SaveOrder& order) { save(self, order); });
    },
    [self](const Message<schema::ArmedFaults>& m) {
      with(m, [self](ArmedFaults& armed) {
        if (armed.sequence < self->state.faults.sequence)
          return;
        self->state.faults = std::move(armed);
        send_orders(self);
      });
    },
    [self](const Message<schema::FireFault>& m) {
      with(m, [self, &m](const FireFault& verdict) {
        auto* slot = slot_of(self->state, verdict.worker.slot, verdict.worker.incarnation);
        if (slot == nullptr || !slot->worker)
          return;
        self->send(slot->worker, m);
        for (const auto& fault : self->state.faults.faults)
          if (fault.id == verdict.id && fault.kind == FaultKind::stop && verdict.fire)
            self->delayed_send(self, fault.lasts, FlushAtom::value, verdict.worker.slot.value,
                               verdict.worker.incarnation.value);
      });
    },
    [self](const Message<schema::KillWorker>& m) {
      with(m, [self](const KillWorker& kill) {
        if (auto* slot = slot_of(self->state, kill.worker.slot, kill.worker.incarnation))
          kill_worker(*slot, kill.reason);
      });
    },
    [self](const Message<schema::DeleteCheckpoint>& m) {
      with(m, [self](const DeleteCheckpoint& order) { to_persister(self, order); });
    },
    [self](const Message<schema::StopNode>& m) {
      with(m, [self](const StopNode& stop) { stop_all(self, stop.cause); });
    },
    [self](const Message<schema::WorkerHello>& m) {
      with(m, [self](const WorkerHello& hello) { greet(self, hello, self->current_sender()); });
    },
    [self](const Message<schema::WorkerReport>& m) {
      with(m, [self](const WorkerReport& report) { note(self, report, self->current_sender()); });
    },
    [self](const Message<schema::ProgressReport>& m) { tell_progress(self, m); },
    [self](const Message<schema::FaultReached>& m) { to_master(self, m); },
    [self](const Message<schema::SaveReady>& m) {
      with(m, [self](const SaveReady& ready) {
        auto& st = self->state;
        if (ready.worker.slot.value < st.slots.size() && st.slots[ready.worker.slot.value].bank_fd)
          persist(self, st.slots[ready.worker.slot.value], ready);
      });
    },
    [self](const Persisted& done) { to_master(self, Message<schema::Persisted>::from(done)); },
    [self](const LoadDone& done) { loaded(self, done); },
    [self](const PersisterBack&) { load_again(self); },
    [self](const ProcessEnded& end) { ended(self, end); },
    [self](ReportAtom) { send_report(self); },
    [self](ConnectAtom) { reconnect(self); },
    [self](BeatAtom) {
      self->delayed_send(self, self->state.settings->config.limits.heartbeat, BeatAtom::value);
      send_alive(self);
    },
    [self](KillAtom, std::uint32_t slot, std::uint64_t incarnation) {
      if (auto* s = slot_of(self->state, SlotId{slot}, Incarnation{incarnation}))
        kill_worker(*s, "did not leave in time");
    },
    [self](FlushAtom, std::uint32_t slot, std::uint64_t incarnation) { // end of an injected stop
      if (auto* s = slot_of(self->state, SlotId{slot}, Incarnation{incarnation}))
        send_signal(*s->process, SIGCONT);
    },
    [self](StopAtom, const std::string& cause) { stop_all(self, cause); },
  };
}

} // namespace troupe

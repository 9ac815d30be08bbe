// A worker's voice: one event-based actor that carries the engine's statements to the node, hands the node's
// orders to the port, and beats. It owns nothing of the training; when the node is gone it tells the port to
// leave.
#pragma once

#include "actors/message.hpp"
#include "actors/protocol.hpp"
#include "actors/worker/process_port.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

namespace troupe {

/// What the port's Sink puts into the actor's mailbox. In-process only.
struct Outgoing {
  std::vector<WorkerHello> hello; ///< at most one of each
  std::vector<WorkerReport> report;
  std::vector<SaveReady> save;
  std::vector<FaultReached> fault_reached;
};

struct WorkerState {
  static inline const char* name = "troupe.worker";
  ProcessPort* port = nullptr; ///< outlives the actor
  WorkerKey me;
  Duration heartbeat{};
  NodeActor node;
  std::vector<Outgoing> waiting; ///< until the node is known
  std::uint64_t beats = 0;
};

/// Handles: Outgoing (from the Sink), the node's handle (once, when connected), WorkerOrder and FireFault
/// (from the node), and its own heartbeat.
caf::behavior worker_actor(caf::stateful_actor<WorkerState>* self, ProcessPort* port, WorkerKey me,
                           Duration heartbeat);

/// Sink that posts to a worker actor. Any thread.
class ActorSink final : public ProcessPort::Sink {
public:
  void connect(caf::actor worker) { worker_ = std::move(worker); } ///< before the trainer's thread starts
  void disconnect() { worker_ = nullptr; }                         ///< after it ended
  void hello(WorkerHello hello) override;
  void report(WorkerReport report) override;
  void fault_reached(FaultReached reached) override;
  void save_ready(SaveReady ready) override;

private:
  caf::actor worker_;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Outgoing)

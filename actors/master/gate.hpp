// The master's door: the one published actor. Checks everything that comes in and hands it to the kernels;
// carries the kernels' external actions to nodes and askers. Remembers the newest generation, save and faults, so
// that a node that (re)connects gets them; what is wanted of its slots follows its first report. Decides nothing.
#pragma once

#include "actors/master/kernel_shell.hpp"
#include "actors/message.hpp"
#include "actors/protocol.hpp"
#include "actors/protocol_types.hpp"

#include <caf/response_promise.hpp>

#include <functional>
#include <optional>

namespace troupe {

struct GateSettings {
  std::string listen = "127.0.0.1";
  std::function<void(std::uint16_t, const caf::actor&)> published; ///< its port and the door, each time it listens anew
};

/// To the console: every node is gone after the job ended. In-process only.
struct NodesGone {};

/// From a signal: end the job unfinished. In-process only.
struct Interrupt {
  std::string reason;
};

struct GateState {
  static inline const char* name = "troupe.gate";
  struct Node {
    NodeId id;
    Incarnation agent;
    std::string host;
    NodeActor actor;
  };
  struct Asker {
    std::uint64_t request = 0;
    caf::response_promise promise;
  };
  MasterWiring* wiring = nullptr;
  const GateSettings* settings = nullptr;
  std::vector<Node> nodes; ///< by id
  std::optional<GenerationOrder> generation;
  std::optional<SaveOrder> save;
  std::optional<ArmedFaults> faults;
  std::vector<Asker> scaling;
  std::vector<Asker> saving;
  std::uint64_t requests = 0;
  bool stopped = false;
};

caf::behavior gate_actor(caf::stateful_actor<GateState>* self, MasterWiring* wiring,
                         const GateSettings* settings);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::NodesGone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Interrupt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ProgressReport)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::WorkerReport)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ControlRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ControlReply)

// Forward declarations and the block of CAF type ids. The block is append-only from the first release on: newer CAF
// sends the ids, and an id is never given to another type. Every type in it is round-tripped by a unit test, since
// CAF 0.17 finds a forgotten one only on the wire.
#pragma once

#include "actors/schemas.hpp"

#include <caf/type_id.hpp>

namespace troupe {

template <class Schema>
class Message;

} // namespace troupe

// clang-format off
#define TROUPE_MESSAGES(X)                                                                                    \
  X(NodeReport) X(GenerationOrder) X(SlotsOrder) X(SaveOrder)                                                 \
  X(NodeHello) X(NodeWelcome) X(StopNode)                                                                     \
  X(WorkerHello) X(WorkerReport) X(WorkerOrder) X(ProgressReport) X(SaveReady)                                \
  X(ControlRequest) X(ControlReply)                                                                           \
  X(Alive) X(ArmedFaults) X(FaultReached) X(FireFault) X(KillWorker) X(Persisted) X(DeleteCheckpoint)         \
  X(DigestMismatch) X(JobFinished) X(FailJob) X(StopAll) X(SupervisorStatus)
// clang-format on

CAF_BEGIN_TYPE_ID_BLOCK(troupe, caf::first_custom_type_id)

#define TROUPE_MESSAGE_ID(name) CAF_ADD_TYPE_ID(troupe, (troupe::Message<troupe::schema::name>))
TROUPE_MESSAGES(TROUPE_MESSAGE_ID)
#undef TROUPE_MESSAGE_ID

CAF_END_TYPE_ID_BLOCK(troupe)

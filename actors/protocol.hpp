// Every typed interface between processes, one imperative comment line per handler. All bodies are Cap'n Proto
// messages and all are statements: they may be lost, repeated or late, and the first thing a handler does is drop what
// is stale. What needs an answer is a request with a finite timeout.
#pragma once

#include "actors/fwd.hpp"

#include <caf/typed_actor.hpp>

namespace troupe {

using NodeActor = caf::typed_actor<
  // from the master
  caf::reacts_to<Message<schema::SlotsOrder>>,       // make the slots' processes what it says
  caf::reacts_to<Message<schema::GenerationOrder>>,  // drain, or form the generation
  caf::reacts_to<Message<schema::SaveOrder>>,        // have a version persisted
  caf::reacts_to<Message<schema::ArmedFaults>>,      // tell the workers which faults wait for them
  caf::reacts_to<Message<schema::FireFault>>,        // let a journaled fault happen
  caf::reacts_to<Message<schema::KillWorker>>,       // kill a worker at once
  caf::reacts_to<Message<schema::DeleteCheckpoint>>, // forget a checkpoint
  caf::reacts_to<Message<schema::StopNode>>,         // end all workers and leave
  // from the node's workers
  caf::reacts_to<Message<schema::WorkerHello>>,      // remember the worker and give it its memory
  caf::reacts_to<Message<schema::WorkerReport>>,     // replace what is known of the worker
  caf::reacts_to<Message<schema::ProgressReport>>,         // pass on rows of metrics
  caf::reacts_to<Message<schema::FaultReached>>,     // pass on: a worker stands at an armed fault
  caf::reacts_to<Message<schema::SaveReady>>>;       // persist the pinned version

using WorkerActor = caf::typed_actor<
  caf::reacts_to<Message<schema::WorkerOrder>>,      // obey the newest order
  caf::reacts_to<Message<schema::FireFault>>>;       // let the fault happen

/// The master's door: the only actor it publishes.
using GateActor = caf::typed_actor<
  caf::replies_to<Message<schema::NodeHello>>::with<Message<schema::NodeWelcome>>, // admit a node
  caf::reacts_to<Message<schema::NodeReport>>,       // tell membership what is so
  caf::reacts_to<Message<schema::Alive>>,            // note who was heard
  caf::reacts_to<Message<schema::WorkerReport>>,     // note a worker's modes and counts
  caf::reacts_to<Message<schema::DigestMismatch>>,   // members' digests differ
  caf::reacts_to<Message<schema::ProgressReport>>,         // note rows and progress
  caf::reacts_to<Message<schema::FaultReached>>,     // journal and fire
  caf::reacts_to<Message<schema::Persisted>>,        // note how a save ended
  caf::replies_to<Message<schema::ControlRequest>>::with<Message<schema::ControlReply>>>; // look and steer

} // namespace troupe

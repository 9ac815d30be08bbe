// The supervisor of actors: owns its children, starts them in order, watches each life once, and does what the pure
// SupervisorKernel says. It never sleeps and never blocks: waiting is a delayed message to itself. It ends by itself
// only when it gives up; then its exit reason is Errc::exhausted with the first cause, and its own supervisor decides.
// Exit messages: `kill` kills the children and ends at once, any other stops them in reverse order first; repeats
// change nothing. A restarted child is a new actor with a new mailbox: look handles up by role, never keep them.
//
// Messages it takes:
//   AddChild                       a dynamic child, last in order; ignored when the id is taken
//   caf::delete_atom, id           stop the child and forget it
//   caf::reset_atom, id            stop the child and start it again, at no cost to budgets
//   caf::get_atom -> Message<schema::SupervisorStatus>      which children
//   caf::get_atom, id -> caf::actor                         its present life, or Errc::retry_later
#pragma once

#include "actors/caf_error.hpp"
#include "actors/message.hpp"
#include "actors/supervision/supervisor_kernel.hpp"

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/behavior.hpp>
#include <caf/local_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <functional>
#include <map>

namespace troupe {

/// An actor under supervision. `start` runs in the supervisor's context and makes one life (spawn it with the given
/// parent, detached if it blocks; not linked, not monitored); an exception, or no actor, is a failed start that is
/// tried again. `classify` maps the exit reason of a life to a failure class.
struct ActorChild {
  ChildSpec spec;
  std::function<caf::actor(caf::local_actor* parent)> start;
  std::function<ChildExit(const caf::error& reason)> classify = default_exit_class;

  /// Normal exits and user_shutdown are normal; Errc::invalid, unsupported and fenced are never retried; corrupt is
  /// corrupt_data, deadline a hang, peer_lost a node loss; kill a signal; all else an exception.
  static ChildExit default_exit_class(const caf::error& reason);
};

struct AddChild {
  ActorChild child;
};

/// To itself: a start came to nothing. Through the mailbox, so that others have their turn between tries.
struct StartFailed {
  std::string id;
  std::uint64_t life = 0;
  ChildExit exit;
};

struct SupervisorState {
  static inline const char* name = "troupe.supervisor";
  struct Life {
    ActorChild child;
    caf::actor actor;
    std::uint64_t life = 0;
  };
  std::unique_ptr<SupervisorKernel> kernel;
  std::map<std::string, Life> lives; ///< by id, in no order: order is the kernel's
  caf::error close_reason;
  std::uint64_t timer = 0;           ///< newest; older timers are dropped when they fire
};

caf::behavior supervisor(caf::stateful_actor<SupervisorState>* self, SupervisorSpec spec,
                         std::vector<ActorChild> children);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::AddChild)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::StartFailed)

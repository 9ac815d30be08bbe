// The one actor of a node that touches checkpoint files: writes pinned versions, loads a checkpoint into
// fresh memory for a restore, deletes. Detached, since all of it blocks. Each request is answered once; a new
// life has none open and says PersisterBack: a load is asked for again then, a save by the master after limits.save.
#pragma once

#include "actors/kernel/checkpoints.hpp"
#include "actors/protocol_types.hpp"
#include "base/unique_fd.hpp"
#include "checkpoint/slot_bank.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>

#include <memory>

namespace troupe {

/// Persist the pinned version of `bank`.
struct PersistTask {
  SaveReady ready;
  std::shared_ptr<checkpoint::SlotBank> bank;
  std::shared_ptr<checkpoint::SlotBank::Pin> pin;
};

/// Load checkpoint `path` into a new bank of `layout`. `model_only`: the model of another job, as version (0,
/// 0).
struct LoadTask {
  Generation generation;
  std::string path;
  checkpoint::BankLayout layout;
  bool model_only = false;
};

struct LoadDone {
  Generation generation;
  std::string path;
  std::shared_ptr<UniqueFd> bank; ///< null: failed
  std::string error;
};

/// To the agent, of a later life of the persister: what was being loaded is not any more.
struct PersisterBack {};

/// PersistTask -> Persisted, LoadTask -> LoadDone, DeleteCheckpoint (no answer); both answers go to the
/// sender.
caf::behavior persister_actor(caf::event_based_actor* self, const JobConfig* config);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::PersistTask)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::LoadTask)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::LoadDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::PersisterBack)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Persisted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::DeleteCheckpoint)

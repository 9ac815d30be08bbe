// The journal of all decisions as an actor of its own thread: the one place that gives out sequence numbers and
// touches the files. First child of the master supervisor, so its death restarts everybody who wrote into it.
//
// Invariants
//  - Records are in the order in which they arrived; the event log holds all of them, the journal those that are not
//    transient.
//  - Committed is sent only after everything that arrived before its Append is durable.
//  - Errors of the disk end the actor: a master that cannot write may not decide.
#pragma once

#include "actors/journal_file.hpp"
#include "actors/journal_types.hpp"
#include "actors/master/run_face.hpp"
#include "actors/master/wiring.hpp"

#include <caf/actor.hpp>
#include <caf/stateful_actor.hpp>

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Adds a record. With `token` > 0 the sender gets Committed{token} once it is durable.
struct Append {
  JournalRecord record;
  std::uint64_t token = 0;
};

struct Committed {
  std::uint64_t token = 0;
};

/// Request: all journaled records of one kernel, in order (newest snapshot first, then what came after it).
struct RecordsOf {
  std::string kernel;
};

struct Records {
  std::vector<JournalRecord> records;
};

/// From the console: every record from now on, also transient ones, as they are added.
struct Follow {};

struct JournalState {
  static inline const char* name = "troupe.journal";
  ~JournalState(); ///< what is buffered reaches the files
  std::optional<JournalFile> journal;
  std::optional<JournalFile> events;
  caf::actor follower;
  std::uint64_t sequence = 0;
  std::uint64_t since_snapshot = 0;
  std::size_t snapshots = 0; ///< of the round at hand
};

caf::behavior journal_actor(caf::stateful_actor<JournalState>* self, MasterWiring* wiring,
                            const JournalPaths* paths);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Append)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Committed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::RecordsOf)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Records)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Follow)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::JournalRecord)

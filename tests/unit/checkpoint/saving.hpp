// Saving versions of the small state, and telling right checkpoints from wrong ones. Plain helpers, test thread only.
#pragma once

#include "checkpoint/store.hpp"
#include "tests/unit/checkpoint/state.hpp"
#include "tests/unit/folder.hpp"

#include <sys/wait.h>

namespace troupe::test {

using checkpoint::CheckpointMeta;
using checkpoint::CheckpointReader;
using checkpoint::CheckpointStore;
using checkpoint::SavedCheckpoint;

inline CheckpointMeta meta_of(PieceKey k) {
  CheckpointMeta meta;
  meta.key = k;
  meta.position = k.step.value * 64;
  meta.epoch = k.step.value / 20;
  meta.seed = 7;
  meta.virtual_workers = 8;
  meta.micro_batch = 8;
  meta.job = "digits";
  meta.version = "0.1.0";
  meta.reason = "every 50 steps";
  return meta;
}

inline result<SavedCheckpoint> save(const CheckpointStore& store, const SlotBank& bank, PieceKey k) {
  if (!bank.find(k))
    TROUPE_TRY(put(bank, k));
  return store.save(meta_of(k), bank);
}

inline std::vector<PieceKey> keys_in(const std::string& folder) {
  std::vector<PieceKey> keys;
  for (const auto found = checkpoint::list_checkpoints(folder).value(); const auto& entry : found)
    keys.push_back(entry.key);
  return keys;
}

// All pieces are those of the checkpoint's key.
inline bool holds(const CheckpointReader& reader) {
  for (std::size_t n = 0; n < reader.layout().size(); ++n) {
    std::vector<std::byte> bytes(reader.layout().pieces()[n].bytes());
    if (!reader.read(n, bytes) || bytes != content(reader.layout(), n, reader.meta().key))
      return false;
  }
  return true;
}

inline int wait_status(pid_t pid) {
  int status = 0;
  BOOST_REQUIRE_EQUAL(::waitpid(pid, &status, 0), pid);
  return status;
}

} // namespace troupe::test

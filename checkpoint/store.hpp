// Writes checkpoints: one HDF5 file, its manifest and a JSON twin per version, in one folder. A checkpoint exists if
// and only if its manifest does, and the manifest comes last: temporary names, space reserved first, every byte
// checked as it is written, fsync, rename, fsync of the folder. Whatever fails or dies before that touches nothing
// older and leaves nothing but temporary files, which the next open() removes. One writer per folder at a time, on a
// thread that may block.
#pragma once

#include "checkpoint/reader.hpp"

#include <functional>

namespace troupe::checkpoint {

struct SavedCheckpoint {
  CheckpointEntry entry;
  std::uint64_t bytes = 0;     ///< of the data file
  bool existed = false;        ///< the same version was there already, sound; at most its `best` was set
};

class CheckpointStore {
public:
  /// Makes the folder if need be and removes what dead writers of this host left half done.
  static result<CheckpointStore> open(std::string folder);

  const std::string& folder() const { return folder_; }

  /// Saves one version. `pieces` are those of `layout`, in its order; their bytes may lie in a pinned slot of a bank.
  /// `cancelled` is asked between chunks (Errc::aborted). Errc::exhausted: disk full, read-only, or failing;
  /// Errc::stale: bytes do not have their checksums (the slot was overwritten).
  result<SavedCheckpoint> save(const CheckpointMeta& meta, const BankLayout& layout, std::span<const PieceView> pieces,
                               const std::function<bool()>& cancelled = {}) const;
  /// The same from a bank, pinned while it is written; the digest is the bank's.
  result<SavedCheckpoint> save(const CheckpointMeta& meta, const SlotBank& bank,
                               const std::function<bool()>& cancelled = {}) const;

  /// Deletes a checkpoint, its manifest first. One that is not there is deleted already.
  result<void> remove(PieceKey key) const;

private:
  explicit CheckpointStore(std::string folder) : folder_(std::move(folder)) {}
  std::string path(const std::string& file) const { return folder_ + '/' + file; }
  result<void> remove_leftovers() const;
  result<void> mark_best(Manifest manifest) const;

  std::string folder_;
};

} // namespace troupe::checkpoint

// Reads checkpoints by their manifests: bytes by offset, each checked, never through HDF5, so workers can link it. A
// checkpoint that fails a check is refused with the reason and the next older one is used; nothing is repaired, nothing
// is started from random values in silence. One thread per object.
#pragma once

#include "base/unique_fd.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/slot_bank.hpp"

namespace troupe::checkpoint {

struct CheckpointEntry {
  PieceKey key;
  std::string path;          ///< of the manifest
  std::uint64_t digest = 0;  ///< from the manifest; 0 when that cannot be read
  bool best = false;
  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

/// Everything with a manifest, sound or not, newest key first. A folder that is not there holds none.
result<std::vector<CheckpointEntry>> list_checkpoints(const std::string& folder);
/// The same for callers to whom a folder that cannot be read is an empty one; that is logged.
std::vector<CheckpointEntry> list(const std::string& folder);
/// Opens the checkpoint of a manifest and checks its every byte.
result<void> verify(const std::string& manifest_path);

class CheckpointReader {
public:
  /// Reads and checks the manifest, finds the data file and its size. Errc::invalid: there is none at `manifest_path`.
  static result<CheckpointReader> open(const std::string& manifest_path);

  const Manifest& manifest() const { return manifest_; }
  const CheckpointMeta& meta() const { return manifest_.meta; }
  const BankLayout& layout() const { return manifest_.layout; }
  const std::string& path() const { return path_; }

  /// Bytes of one piece, checked.
  result<void> read(std::size_t piece, std::span<std::byte> out) const;
  /// Every byte of the data file, and the model digest.
  result<void> verify() const;
  /// Whether the JSON twin says the same as the manifest.
  result<void> verify_twin() const;
  /// Verifies while it copies the version into a free slot of `bank` and publishes it there under its key.
  /// Errc::invalid names the first difference when the bank holds a state of another shape.
  result<VersionInfo> load_into(const SlotBank& bank) const;
  /// The model alone, to start another job from: pieces that count for the digest must be the same ones (strict), the
  /// runtime's own become zeros. Published under `key`.
  result<VersionInfo> load_model_into(const SlotBank& bank, PieceKey key) const;

private:
  CheckpointReader(std::string path, Manifest manifest, UniqueFd data);
  std::string data_path() const;
  result<void> verify_skeleton() const;
  result<VersionInfo> copy_into(const SlotBank& bank, PieceKey key, bool runtime_pieces) const;

  std::string path_;
  Manifest manifest_;
  UniqueFd data_;
};

struct Refusal {
  CheckpointEntry entry;
  Error why;
};

/// The newest checkpoint whose every byte is right. Those refused on the way are appended to `refused`, newest first.
result<std::optional<CheckpointReader>> newest_sound(const std::string& folder, std::vector<Refusal>& refused);

} // namespace troupe::checkpoint

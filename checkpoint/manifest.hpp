// The manifest of a checkpoint as plain values, its file form (header with checksum, then Cap'n Proto) and its JSON
// twin. Whatever is decoded has been checked: names, shapes, sizes, and that the pieces lie inside the file and do not
// overlap. Plain functions, any thread.
#pragma once

#include "base/piece_key.hpp"
#include "checkpoint/layout.hpp"

#include <utility>

namespace troupe::checkpoint {

/// What the job says about a version when it is saved.
struct CheckpointMeta {
  PieceKey key;
  std::uint64_t digest = 0;      ///< model digest
  std::uint64_t position = 0;    ///< samples consumed
  std::uint64_t epoch = 0;
  std::uint64_t seed = 0;
  std::uint32_t virtual_workers = 0;
  std::uint64_t micro_batch = 0;
  std::uint64_t data_hash = 0;
  std::string job;
  std::string version;           ///< of Troupe
  std::string reason;            ///< why it was saved
  bool best = false;
  std::int64_t created_ns = 0;   ///< wall clock
  friend bool operator==(const CheckpointMeta&, const CheckpointMeta&) = default;
};

struct StoredPiece {
  std::uint64_t offset = 0;      ///< in the data file; 0 when it has no bytes
  std::uint64_t checksum = 0;    ///< XXH3-64 of its bytes
  std::string dataset;           ///< path in the HDF5 file
  friend bool operator==(const StoredPiece&, const StoredPiece&) = default;
};

struct Manifest {
  CheckpointMeta meta;
  std::string file;              ///< data file, in the manifest's folder
  std::uint64_t file_bytes = 0;
  std::uint64_t skeleton_checksum = 0;
  BankLayout layout;
  std::vector<StoredPiece> pieces; ///< as in layout
};

/// "step-000000000042-gen-7" for (42, 7); files of that checkpoint are this plus ".h5", ".json" and ".manifest".
std::string checkpoint_name(PieceKey key);
/// The key of a name without its ending; nullopt for any other text.
std::optional<PieceKey> parse_checkpoint_name(std::string_view name);

/// Bytes [begin, end) of the data file that belong to no piece, ascending: what skeleton_checksum is over.
std::vector<std::pair<std::uint64_t, std::uint64_t>> skeleton_ranges(const Manifest& manifest);

std::vector<std::byte> encode_manifest(const Manifest& manifest);
/// Errc::corrupt says what is wrong.
result<Manifest> decode_manifest(std::span<const std::byte> bytes);
std::string manifest_json(const Manifest& manifest);

} // namespace troupe::checkpoint

#include "checkpoint/store.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "checkpoint/files.hpp"
#include "checkpoint/hdf5_file.hpp"

#include <algorithm>

namespace troupe::checkpoint {

namespace {

constexpr std::size_t chunk = 1 << 20;

/// Files that are removed unless keep() is reached.
class Scratch {
public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    for (const auto& path : paths_)
      static_cast<void>(remove_file(path));
  }
  void add(std::string path) { paths_.push_back(std::move(path)); }
  void keep() { paths_.clear(); }

private:
  std::vector<std::string> paths_;
};

std::vector<Hdf5Attribute> attributes_of(const CheckpointMeta& meta) {
  return {{"troupe_version", meta.version},
          {"job", meta.job},
          {"step", meta.key.step.value},
          {"generation", meta.key.generation.value},
          {"position", meta.position},
          {"epoch", meta.epoch},
          {"seed", meta.seed},
          {"virtual_workers", std::uint64_t{meta.virtual_workers}},
          {"model_digest", hex64(meta.digest)}};
}

// HDF5's own bytes, from the memory file to the disk; returns their checksum.
result<std::uint64_t> write_skeleton(const Manifest& manifest, const Hdf5Skeleton& skeleton, int fd,
                                     const std::string& path) {
  Hasher hash;
  std::vector<std::byte> buffer;
  for (const auto& [begin, end] : skeleton_ranges(manifest)) {
    for (auto at = begin; at < end; at += buffer.size()) {
      buffer.resize(std::min<std::uint64_t>(chunk, end - at));
      TROUPE_TRY(read_at(skeleton.file.get(), buffer, at, "memory file"));
      TROUPE_TRY(write_at(fd, buffer, at, path));
      hash.add(buffer.data(), buffer.size());
    }
  }
  return hash.digest();
}

result<void> write_piece(const PieceView& piece, std::uint64_t offset, int fd, const std::string& path,
                         const std::function<bool()>& cancelled) {
  Hasher hash;
  for (std::size_t at = 0; at < piece.bytes.size(); at += chunk) {
    if (cancelled && cancelled())
      return fail(Errc::aborted, path + ": cancelled");
    const auto part = piece.bytes.subspan(at, std::min(chunk, piece.bytes.size() - at));
    TROUPE_TRY(write_at(fd, part, offset + at, path));
    hash.add(part.data(), part.size());
  }
  if (hash.digest() != piece.checksum)
    return fail(Errc::stale, path + ": \"" + piece.spec->name + "\" changed while it was saved");
  return {};
}

result<void> write_small(const std::string& path, std::span<const std::byte> bytes) {
  TROUPE_ASSIGN(const auto fd, create_file(path));
  TROUPE_TRY(write_at(fd.get(), bytes, 0, path));
  return sync_file(fd.get(), path);
}

result<void> write_manifest(const Manifest& manifest, const std::string& path, const std::string& twin) {
  const auto json = manifest_json(manifest);
  TROUPE_TRY(write_small(twin, std::as_bytes(std::span(json.data(), json.size()))));
  return write_small(path, encode_manifest(manifest));
}

} // namespace

result<CheckpointStore> CheckpointStore::open(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  TROUPE_TRY(make_folders(folder));
  CheckpointStore store(std::move(folder));
  TROUPE_TRY(store.remove_leftovers());
  return store;
}

// Every death between the first byte and the manifest leaves a temporary manifest or data file behind, and so does one
// in remove(). Only these say that a data file without a manifest is garbage; unknown files are left alone.
result<void> CheckpointStore::remove_leftovers() const {
  TROUPE_ASSIGN(const auto names, names_in(folder_));
  const auto exists = [&](const std::string& name) { return std::binary_search(names.begin(), names.end(), name); };
  for (const auto& file : names) {
    const auto temporary = parse_temporary_name(file);
    if (!temporary || !temporary->abandoned)
      continue;
    const auto stem = temporary->name.substr(0, temporary->name.rfind('.'));
    if (parse_checkpoint_name(stem) && !exists(stem + ".manifest")) {
      TROUPE_TRY(remove_file(path(stem + ".h5")));
      TROUPE_TRY(remove_file(path(stem + ".json")));
    }
    TROUPE_TRY(remove_file(path(file)));
  }
  return {};
}

result<SavedCheckpoint> CheckpointStore::save(const CheckpointMeta& meta, const BankLayout& layout,
                                              std::span<const PieceView> pieces,
                                              const std::function<bool()>& cancelled) const {
  TROUPE_ASSERT(pieces.size() == layout.size(), "one view per piece");
  const auto name = checkpoint_name(meta.key);
  SavedCheckpoint saved{{meta.key, path(name + ".manifest"), meta.digest, meta.best}, 0, false};
  if (const auto present = CheckpointReader::open(saved.entry.path);
      present && present->meta().digest == meta.digest && present->layout().hash() == layout.hash() &&
      present->verify()) {
    saved.bytes = present->manifest().file_bytes;
    saved.existed = true;
    saved.entry.best = meta.best || present->meta().best; // once the best, kept as that
    if (meta.best && !present->meta().best)
      TROUPE_TRY(mark_best(present->manifest()));
    return saved;
  }
  TROUPE_TRY(remove(meta.key)); // damaged, or of another attempt

  TROUPE_ASSIGN(auto skeleton, make_hdf5_skeleton(layout, attributes_of(meta)));
  Manifest manifest{meta, name + ".h5", skeleton.bytes, 0, layout, {}};
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    manifest.pieces.push_back({skeleton.offsets[i], pieces[i].checksum, skeleton.datasets[i]});
    sums.push_back(pieces[i].checksum);
  }
  if (layout.digest(sums) != meta.digest)
    return fail(Errc::stale, name + ": the pieces do not have the digest of this version");

  Scratch scratch;
  const auto data = path(temporary_name(manifest.file));
  const auto twin = path(temporary_name(name + ".json"));
  const auto last = path(temporary_name(name + ".manifest"));
  for (const auto& temporary : {data, twin, last}) {
    TROUPE_TRY(remove_file(temporary)); // of an earlier failure of this process
    scratch.add(temporary);
  }
  {
    TROUPE_ASSIGN(const auto fd, create_file(data));
    TROUPE_TRY(reserve(fd.get(), manifest.file_bytes, data));
    TROUPE_ASSIGN(manifest.skeleton_checksum, write_skeleton(manifest, skeleton, fd.get(), data));
    for (std::size_t i = 0; i < layout.size(); ++i)
      TROUPE_TRY(write_piece(pieces[i], skeleton.offsets[i], fd.get(), data, cancelled));
    TROUPE_TRY(sync_file(fd.get(), data));
  }
  TROUPE_TRY(write_manifest(manifest, last, twin));
  scratch.add(path(manifest.file));
  scratch.add(path(name + ".json"));
  TROUPE_TRY(rename_file(data, path(manifest.file)));
  TROUPE_TRY(rename_file(twin, path(name + ".json")));
  TROUPE_TRY(sync_folder(folder_));
  TROUPE_TRY(rename_file(last, saved.entry.path));
  scratch.keep();
  TROUPE_TRY(sync_folder(folder_));
  saved.bytes = manifest.file_bytes;
  return saved;
}

// The data file stays as it is. A death between the renames leaves a sound checkpoint whose twin is ahead of it.
result<void> CheckpointStore::mark_best(Manifest manifest) const {
  manifest.meta.best = true;
  const auto name = checkpoint_name(manifest.meta.key);
  const auto twin = path(temporary_name(name + ".json"));
  const auto last = path(temporary_name(name + ".manifest"));
  Scratch scratch;
  for (const auto& temporary : {twin, last}) {
    TROUPE_TRY(remove_file(temporary)); // of an earlier failure of this process
    scratch.add(temporary);
  }
  TROUPE_TRY(write_manifest(manifest, last, twin));
  TROUPE_TRY(rename_file(twin, path(name + ".json")));
  TROUPE_TRY(sync_folder(folder_));
  TROUPE_TRY(rename_file(last, path(name + ".manifest")));
  return sync_folder(folder_);
}

result<SavedCheckpoint> CheckpointStore::save(const CheckpointMeta& meta, const SlotBank& bank,
                                              const std::function<bool()>& cancelled) const {
  TROUPE_ASSIGN(const auto pin, bank.pin(meta.key));
  TROUPE_ASSIGN(const auto pieces, bank.view(pin.version()));
  auto complete = meta;
  complete.digest = pin.version().digest;
  return save(complete, bank.layout(), pieces, cancelled);
}

result<void> CheckpointStore::remove(PieceKey key) const {
  const auto name = checkpoint_name(key);
  const auto manifest = path(name + ".manifest");
  const auto gone = path(temporary_name(name + ".manifest"));
  const auto moved = rename_file(manifest, gone); // from here on there is no such checkpoint
  if (!moved && moved.error().code != Errc::invalid)
    return moved;
  TROUPE_TRY(remove_file(path(name + ".h5")));
  TROUPE_TRY(remove_file(path(name + ".json")));
  TROUPE_TRY(remove_file(gone));
  return sync_folder(folder_);
}

} // namespace troupe::checkpoint

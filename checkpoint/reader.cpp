#include "checkpoint/reader.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "base/log.hpp"
#include "checkpoint/files.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::checkpoint {

namespace {

constexpr std::string_view ending = ".manifest";
constexpr std::uint64_t max_manifest_bytes = 256 << 20;
constexpr std::size_t chunk = 1 << 20;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

std::string_view file_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<PieceKey> key_of(std::string_view file) {
  if (file.size() <= ending.size() || file.substr(file.size() - ending.size()) != ending)
    return std::nullopt;
  return parse_checkpoint_name(file.substr(0, file.size() - ending.size()));
}

} // namespace

result<std::vector<CheckpointEntry>> list_checkpoints(const std::string& folder) {
  std::vector<CheckpointEntry> found;
  auto names = names_in(folder);
  if (!names) {
    if (names.error().code == Errc::invalid)
      return found;
    return tl::make_unexpected(std::move(names).error());
  }
  for (const auto& name : *names)
    if (const auto key = key_of(name))
      found.push_back({*key, folder + '/' + name, 0, false});
  for (auto& entry : found)
    if (const auto bytes = read_whole(entry.path, max_manifest_bytes))
      if (const auto manifest = decode_manifest(*bytes)) {
        entry.digest = manifest->meta.digest;
        entry.best = manifest->meta.best;
      }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.key > b.key; });
  return found;
}

std::vector<CheckpointEntry> list(const std::string& folder) {
  auto found = list_checkpoints(folder);
  if (!found) {
    log(LogLevel::error, "checkpoint.list", "{}", found.error().context);
    return {};
  }
  return std::move(*found);
}

result<void> verify(const std::string& manifest_path) {
  TROUPE_ASSIGN(const auto reader, CheckpointReader::open(manifest_path));
  return reader.verify();
}

CheckpointReader::CheckpointReader(std::string path, Manifest manifest, UniqueFd data)
  : path_(std::move(path)), manifest_(std::move(manifest)), data_(std::move(data)) {}

std::string CheckpointReader::data_path() const {
  return folder_of(path_) + '/' + manifest_.file;
}

result<CheckpointReader> CheckpointReader::open(const std::string& manifest_path) {
  TROUPE_ASSIGN(const auto bytes, read_whole(manifest_path, max_manifest_bytes));
  auto manifest = decode_manifest(bytes);
  if (!manifest)
    return fail(manifest.error().code, manifest_path + ": " + manifest.error().context);
  if (const auto key = key_of(file_of(manifest_path)); key && *key != manifest->meta.key)
    return fail(Errc::corrupt, manifest_path + ": is the manifest of another checkpoint");
  const auto data_path = folder_of(manifest_path) + '/' + manifest->file;
  auto data = open_for_reading(data_path);
  if (!data)
    return fail(Errc::corrupt, data.error().context);
  TROUPE_ASSIGN(const auto size, file_size(data->get(), data_path));
  if (size != manifest->file_bytes)
    return fail(Errc::corrupt, data_path + ": " + std::to_string(size) + " bytes, its manifest says " +
                                 std::to_string(manifest->file_bytes));
  return CheckpointReader(manifest_path, std::move(*manifest), std::move(*data));
}

result<void> CheckpointReader::read(std::size_t piece, std::span<std::byte> out) const {
  const auto& spec = layout().pieces()[piece];
  TROUPE_ASSERT(out.size() == spec.bytes(), "piece of another size");
  const auto& stored = manifest_.pieces[piece];
  Hasher hash;
  for (std::size_t at = 0; at < out.size(); at += chunk) {
    const auto part = out.subspan(at, std::min(chunk, out.size() - at));
    TROUPE_TRY(read_at(data_.get(), part, stored.offset + at, data_path()));
    hash.add(part.data(), part.size());
  }
  if (hash.digest() != stored.checksum)
    return fail(Errc::corrupt, data_path() + ": wrong checksum of \"" + spec.name + '"');
  return {};
}

result<void> CheckpointReader::verify_skeleton() const {
  Hasher hash;
  std::vector<std::byte> buffer;
  for (const auto& [begin, end] : skeleton_ranges(manifest_)) {
    for (auto at = begin; at < end; at += buffer.size()) {
      buffer.resize(std::min<std::uint64_t>(chunk, end - at));
      TROUPE_TRY(read_at(data_.get(), buffer, at, data_path()));
      hash.add(buffer.data(), buffer.size());
    }
  }
  if (hash.digest() != manifest_.skeleton_checksum)
    return fail(Errc::corrupt, data_path() + ": wrong checksum of the bytes between the pieces");
  return {};
}

result<void> CheckpointReader::verify() const {
  TROUPE_TRY(verify_skeleton());
  std::vector<std::byte> buffer;
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < layout().size(); ++i) {
    const auto bytes = layout().pieces()[i].bytes();
    Hasher hash;
    for (std::uint64_t at = 0; at < bytes; at += buffer.size()) {
      buffer.resize(std::min<std::uint64_t>(chunk, bytes - at));
      TROUPE_TRY(read_at(data_.get(), buffer, manifest_.pieces[i].offset + at, data_path()));
      hash.add(buffer.data(), buffer.size());
    }
    sums.push_back(hash.digest());
    if (sums.back() != manifest_.pieces[i].checksum)
      return fail(Errc::corrupt, data_path() + ": wrong checksum of \"" + layout().pieces()[i].name + '"');
  }
  if (layout().digest(sums) != meta().digest)
    return fail(Errc::corrupt, path_ + ": wrong model digest");
  return {};
}

result<void> CheckpointReader::verify_twin() const {
  const auto path = path_.substr(0, path_.size() - ending.size()) + ".json";
  TROUPE_ASSIGN(const auto bytes, read_whole(path, max_manifest_bytes));
  const auto expected = manifest_json(manifest_);
  if (bytes.size() != expected.size() || std::memcmp(bytes.data(), expected.data(), bytes.size()) != 0)
    return fail(Errc::corrupt, path + ": does not say what the manifest says");
  return {};
}

result<VersionInfo> CheckpointReader::load_into(const SlotBank& bank) const {
  if (const auto difference = describe_difference(layout(), bank.layout()); !difference.empty())
    return fail(Errc::invalid, path_ + ": " + difference);
  if (const auto present = bank.find(meta().key); present && present->digest == meta().digest)
    return *present;
  return copy_into(bank, meta().key, true);
}

result<VersionInfo> CheckpointReader::load_model_into(const SlotBank& bank, PieceKey key) const {
  if (const auto difference = describe_difference(layout().counted(), bank.layout().counted()); !difference.empty())
    return fail(Errc::invalid, path_ + ": " + difference);
  return copy_into(bank, key, false);
}

result<VersionInfo> CheckpointReader::copy_into(const SlotBank& bank, PieceKey key, bool runtime_pieces) const {
  TROUPE_TRY(verify_skeleton());
  TROUPE_ASSIGN(auto writing, bank.begin_write(key));
  std::vector<std::byte> buffer;
  for (std::size_t to = 0; to < bank.layout().size(); ++to) {
    const auto& spec = bank.layout().pieces()[to];
    if (!runtime_pieces && !spec.counts_for_digest) {
      buffer.assign(spec.bytes(), std::byte{0});
      writing.write(to, buffer);
      continue;
    }
    const auto from = layout().find(spec.name);
    TROUPE_ASSERT(from.has_value(), "layouts were compared before");
    buffer.resize(spec.bytes());
    TROUPE_TRY(read(*from, buffer));
    TROUPE_TRY(writing.write_verified(to, {&spec, buffer, manifest_.pieces[*from].checksum}));
  }
  TROUPE_ASSIGN(const auto digest, writing.publish());
  if (digest != meta().digest) {
    bank.void_version(key);
    return fail(Errc::corrupt, path_ + ": wrong model digest");
  }
  const auto loaded = bank.find(key);
  return loaded ? result<VersionInfo>(*loaded) : fail(Errc::stale, path_ + ": the loaded version did not stay");
}

result<std::optional<CheckpointReader>> newest_sound(const std::string& folder, std::vector<Refusal>& refused) {
  TROUPE_ASSIGN(const auto entries, list_checkpoints(folder));
  for (const auto& entry : entries) {
    auto reader = CheckpointReader::open(entry.path);
    if (reader) {
      if (const auto sound = reader->verify())
        return std::optional(std::move(*reader));
      else
        refused.push_back({entry, sound.error()});
    } else {
      refused.push_back({entry, reader.error()});
    }
  }
  return std::optional<CheckpointReader>{};
}

} // namespace troupe::checkpoint

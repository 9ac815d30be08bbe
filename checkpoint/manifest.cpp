#include "checkpoint/manifest.hpp"

#include "base/checksum.hpp"
#include "checkpoint/manifest.capnp.h"

#include <fmt/format.h>

#include <capnp/compat/json.h>
#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace troupe::checkpoint {

namespace {

constexpr std::uint64_t magic = 0x31464e4d50525454ULL; // "TTRPMNF1"
constexpr std::uint32_t format = 1;

struct FileHeader {
  std::uint64_t magic;
  std::uint64_t body_bytes;
  std::uint64_t body_sum;
};
static_assert(sizeof(FileHeader) % 8 == 0); // the body starts on a word

void set(capnp::List<std::int64_t>::Builder to, const std::vector<std::int64_t>& from) {
  for (unsigned i = 0; i < to.size(); ++i)
    to.set(i, from[i]);
}

void fill(schema::Manifest::Builder to, const Manifest& from) {
  const auto& meta = from.meta;
  to.setFormat(format);
  to.setVersion(meta.version);
  to.setJob(meta.job);
  to.setStep(meta.key.step.value);
  to.setGeneration(meta.key.generation.value);
  to.setPosition(meta.position);
  to.setEpoch(meta.epoch);
  to.setSeed(meta.seed);
  to.setVirtualWorkers(meta.virtual_workers);
  to.setMicroBatch(meta.micro_batch);
  to.setDataHash(meta.data_hash);
  to.setDigest(hex64(meta.digest));
  to.setCreated(meta.created_ns);
  to.setReason(meta.reason);
  to.setBest(meta.best);
  to.setFile(from.file);
  to.setFileBytes(from.file_bytes);
  to.setSkeletonChecksum(from.skeleton_checksum);
  auto pieces = to.initPieces(static_cast<unsigned>(from.layout.size()));
  for (unsigned i = 0; i < pieces.size(); ++i) {
    const auto& spec = from.layout.pieces()[i];
    auto piece = pieces[i];
    piece.setName(spec.name);
    piece.setDtype(static_cast<schema::DType>(spec.dtype));
    set(piece.initShape(static_cast<unsigned>(spec.shape.size())), spec.shape);
    piece.setCountsForDigest(spec.counts_for_digest);
    piece.setOffset(from.pieces[i].offset);
    piece.setBytes(spec.bytes());
    piece.setChecksum(from.pieces[i].checksum);
    piece.setDataset(from.pieces[i].dataset);
  }
}

std::string text(capnp::Text::Reader from) {
  return {from.cStr(), from.size()};
}

bool parse_hex(std::string_view hex, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  return hex.size() == 16 && error == std::errc{} && end == hex.data() + hex.size();
}

tl::unexpected<Error> refuse(std::string why) {
  return fail(Errc::corrupt, "manifest: " + std::move(why));
}

// Offset and size of every piece that has bytes, by offset.
std::vector<std::pair<std::uint64_t, std::uint64_t>> places_of(const Manifest& manifest) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (std::size_t i = 0; i < manifest.pieces.size(); ++i)
    if (const auto bytes = manifest.layout.pieces()[i].bytes(); bytes > 0)
      places.emplace_back(manifest.pieces[i].offset, bytes);
  std::sort(places.begin(), places.end());
  return places;
}

// Inside the file, and none over another: each ends before the next begins.
result<void> check_places(const Manifest& manifest) {
  std::uint64_t end = 0;
  for (const auto& [offset, bytes] : places_of(manifest)) {
    if (offset < end || offset > manifest.file_bytes || bytes > manifest.file_bytes - offset)
      return refuse("pieces overlap or lie outside the file");
    end = offset + bytes;
  }
  return {};
}

result<Manifest> take(schema::Manifest::Reader from) {
  if (from.getFormat() != format)
    return refuse("format " + std::to_string(from.getFormat()) + "; this program reads format 1");
  Manifest manifest;
  auto& meta = manifest.meta;
  meta.key = {Step{from.getStep()}, Generation{from.getGeneration()}};
  if (!parse_hex(text(from.getDigest()), meta.digest))
    return refuse("bad digest");
  meta.position = from.getPosition();
  meta.epoch = from.getEpoch();
  meta.seed = from.getSeed();
  meta.virtual_workers = from.getVirtualWorkers();
  meta.micro_batch = from.getMicroBatch();
  meta.data_hash = from.getDataHash();
  meta.job = text(from.getJob());
  meta.version = text(from.getVersion());
  meta.reason = text(from.getReason());
  meta.best = from.getBest();
  meta.created_ns = from.getCreated();
  manifest.file = text(from.getFile());
  manifest.file_bytes = from.getFileBytes();
  manifest.skeleton_checksum = from.getSkeletonChecksum();
  if (manifest.file != checkpoint_name(meta.key) + ".h5")
    return refuse("names another data file: " + manifest.file);
  std::vector<PieceSpec> specs;
  const auto pieces = from.getPieces(); // once: each call counts the whole list against the limit
  for (const auto piece : pieces) {
    const auto dtype = static_cast<std::uint16_t>(piece.getDtype());
    if (dtype >= dtype_count || piece.getShape().size() > 8)
      return refuse("piece of an unknown type or of more than 8 dimensions");
    if (piece.getOrigin().size() != 0 || piece.getExtent().size() != 0)
      return fail(Errc::unsupported,
                  "manifest: \"" + text(piece.getName()) + "\" is a part of a tensor, not there yet");
    PieceSpec spec{text(piece.getName()), static_cast<DType>(dtype), {}, piece.getCountsForDigest()};
    for (const auto n : piece.getShape())
      spec.shape.push_back(n);
    if (!specs.empty() && !(specs.back().name < spec.name))
      return refuse("pieces are not in name order");
    specs.push_back(std::move(spec));
    manifest.pieces.push_back({piece.getOffset(), piece.getChecksum(), text(piece.getDataset())});
  }
  auto layout = BankLayout::make(std::move(specs));
  if (!layout)
    return refuse(layout.error().context);
  manifest.layout = std::move(*layout);
  for (std::size_t i = 0; i < manifest.pieces.size(); ++i)
    if (pieces[static_cast<unsigned>(i)].getBytes() != manifest.layout.pieces()[i].bytes())
      return refuse("size of \"" + manifest.layout.pieces()[i].name + "\" does not fit its shape");
  TROUPE_TRY(check_places(manifest));
  return manifest;
}

} // namespace

std::string checkpoint_name(PieceKey key) {
  return fmt::format("step-{:012}-gen-{}", key.step.value, key.generation.value);
}

std::optional<PieceKey> parse_checkpoint_name(std::string_view name) {
  PieceKey key;
  const auto number = [&](std::string_view prefix, std::uint64_t& value) {
    if (name.substr(0, prefix.size()) != prefix)
      return false;
    name.remove_prefix(prefix.size());
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    return error == std::errc{};
  };
  const auto whole = name;
  if (!number("step-", key.step.value) || !number("-gen-", key.generation.value) || !name.empty() ||
      whole != checkpoint_name(key))
    return std::nullopt;
  return key;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> skeleton_ranges(const Manifest& manifest) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  std::uint64_t end = 0;
  for (const auto& [offset, bytes] : places_of(manifest)) {
    if (offset > end)
      ranges.emplace_back(end, offset);
    end = offset + bytes;
  }
  if (manifest.file_bytes > end)
    ranges.emplace_back(end, manifest.file_bytes);
  return ranges;
}

std::vector<std::byte> encode_manifest(const Manifest& manifest) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<schema::Manifest>(), manifest);
  const auto words = capnp::messageToFlatArray(message);
  const auto body = words.asBytes();
  const FileHeader header{magic, body.size(), checksum(body.begin(), body.size())};
  std::vector<std::byte> out(sizeof header + body.size());
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, body.begin(), body.size());
  return out;
}

result<Manifest> decode_manifest(std::span<const std::byte> bytes) {
  FileHeader header{};
  if (bytes.size() < sizeof header)
    return refuse("too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto body = bytes.subspan(sizeof header);
  if (header.magic != magic)
    return refuse("not a manifest of this program");
  if (header.body_bytes != body.size() || body.size() % sizeof(capnp::word) != 0)
    return refuse("wrong length");
  if (header.body_sum != checksum(body.data(), body.size()))
    return refuse("wrong checksum");
  // Aligned, and no more to traverse than a few times what is there: shared or looping pointers end in an exception.
  auto words = kj::heapArray<capnp::word>(body.size() / sizeof(capnp::word));
  std::memcpy(words.asBytes().begin(), body.data(), body.size());
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = words.size() * 4 + 1024;
  limits.nestingLimit = 8;
  try {
    capnp::FlatArrayMessageReader reader(words, limits);
    return take(reader.getRoot<schema::Manifest>());
  } catch (const kj::Exception& e) {
    return refuse(e.getDescription().cStr());
  }
}

std::string manifest_json(const Manifest& manifest) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::Manifest>();
  fill(root, manifest);
  capnp::JsonCodec codec;
  codec.setPrettyPrint(true);
  return std::string(codec.encode(root.asReader()).cStr()) + '\n';
}

} // namespace troupe::checkpoint

#include "checkpoint/layout.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace troupe::checkpoint {

namespace {

constexpr std::size_t max_name = 200;
constexpr std::size_t max_dimensions = 8;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 46; // of one version: 64 TiB

constexpr std::uint64_t align(std::uint64_t n) {
  return (n + BankLayout::alignment - 1) / BankLayout::alignment * BankLayout::alignment;
}

void put(std::vector<std::byte>& out, const void* data, std::size_t bytes) {
  const auto at = out.size();
  out.resize(at + bytes);
  std::memcpy(out.data() + at, data, bytes);
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  put(out, &value, sizeof value);
}

// Name, dtype and shape as hashed for the digest and as stored; unambiguous, since lengths come first.
void put_spec(std::vector<std::byte>& out, const PieceSpec& spec) {
  put(out, static_cast<std::uint16_t>(spec.name.size()));
  put(out, spec.name.data(), spec.name.size());
  put(out, static_cast<std::uint8_t>(spec.dtype));
  put(out, static_cast<std::uint8_t>(spec.shape.size()));
  for (const auto n : spec.shape)
    put(out, n);
}

class Cursor {
public:
  explicit Cursor(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  bool get(T& value) {
    if (left_.size() < sizeof value)
      return false;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return true;
  }
  bool get(std::string& text, std::size_t bytes) {
    if (left_.size() < bytes)
      return false;
    text.assign(reinterpret_cast<const char*>(left_.data()), bytes);
    left_ = left_.subspan(bytes);
    return true;
  }
  bool at_end() const { return left_.empty(); }

private:
  std::span<const std::byte> left_;
};

bool get_spec(Cursor& in, PieceSpec& spec) {
  std::uint16_t name = 0;
  std::uint8_t dtype = 0;
  std::uint8_t dimensions = 0;
  std::uint8_t counts = 0;
  if (!in.get(name) || !in.get(spec.name, name) || !in.get(dtype) || !in.get(dimensions))
    return false;
  if (dtype >= dtype_count || dimensions > max_dimensions)
    return false;
  spec.dtype = static_cast<DType>(dtype);
  spec.shape.resize(dimensions);
  for (auto& n : spec.shape)
    if (!in.get(n))
      return false;
  if (!in.get(counts) || counts > 1)
    return false;
  spec.counts_for_digest = counts == 1;
  return true;
}

result<void> check(const PieceSpec& spec) {
  if (spec.name.empty() || spec.name.size() > max_name)
    return fail(Errc::invalid, "piece \"" + spec.name.substr(0, max_name) + "\": a name has 1 to 200 bytes");
  for (const char c : spec.name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return fail(Errc::invalid, "piece \"" + spec.name + "\": control character in the name");
  if (spec.shape.size() > max_dimensions)
    return fail(Errc::invalid, "piece \"" + spec.name + "\": more than 8 dimensions");
  std::uint64_t bytes = element_size(spec.dtype);
  for (const auto n : spec.shape) {
    if (n < 0)
      return fail(Errc::invalid, "piece \"" + spec.name + "\": negative size");
    if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(n)), &bytes) ||
        bytes > max_bytes)
      return fail(Errc::invalid, "piece \"" + spec.name + "\": too large");
  }
  return {};
}

} // namespace

std::uint64_t PieceSpec::elements() const {
  std::uint64_t count = 1;
  for (const auto n : shape)
    count *= static_cast<std::uint64_t>(n);
  return count;
}

result<BankLayout> BankLayout::make(std::vector<PieceSpec> pieces) {
  if (pieces.size() > max_pieces)
    return fail(Errc::invalid, std::to_string(pieces.size()) + " pieces; at most 65536 are possible");
  BankLayout layout;
  layout.pieces_ = std::move(pieces);
  std::sort(layout.pieces_.begin(), layout.pieces_.end(),
            [](const PieceSpec& a, const PieceSpec& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < layout.pieces_.size(); ++i) {
    const auto& spec = layout.pieces_[i];
    TROUPE_TRY(check(spec));
    if (i > 0 && layout.pieces_[i - 1].name == spec.name)
      return fail(Errc::invalid, "two pieces named \"" + spec.name + '"');
    layout.offsets_.push_back(layout.data_bytes_);
    layout.data_bytes_ += align(spec.bytes());
    layout.state_bytes_ += spec.bytes();
    if (layout.data_bytes_ > max_bytes)
      return fail(Errc::invalid, "the state is larger than 64 TiB");
    if (spec.counts_for_digest) {
      put_spec(layout.digest_form_, spec);
      layout.digest_holes_.push_back({i, layout.digest_form_.size()});
      put(layout.digest_form_, std::uint64_t{0});
    }
  }
  const auto bytes = layout.encode();
  layout.hash_ = checksum(bytes.data(), bytes.size());
  return layout;
}

std::optional<std::size_t> BankLayout::find(std::string_view name) const {
  const auto at = std::lower_bound(pieces_.begin(), pieces_.end(), name,
                                   [](const PieceSpec& spec, std::string_view wanted) { return spec.name < wanted; });
  if (at == pieces_.end() || at->name != name)
    return std::nullopt;
  return static_cast<std::size_t>(at - pieces_.begin());
}

std::uint64_t BankLayout::digest(std::span<const std::uint64_t> checksums) const {
  TROUPE_ASSERT(checksums.size() == size(), "one checksum per piece");
  thread_local std::vector<std::byte> form; // no allocation per step
  form.assign(digest_form_.begin(), digest_form_.end());
  for (const auto& hole : digest_holes_)
    std::memcpy(form.data() + hole.at, &checksums[hole.piece], sizeof(std::uint64_t));
  return checksum(form.data(), form.size());
}

BankLayout BankLayout::counted() const {
  std::vector<PieceSpec> pieces;
  std::copy_if(pieces_.begin(), pieces_.end(), std::back_inserter(pieces),
               [](const PieceSpec& spec) { return spec.counts_for_digest; });
  auto layout = make(std::move(pieces));
  TROUPE_ASSERT(layout.has_value(), "a part of a sound layout is sound");
  return std::move(*layout);
}

std::vector<std::byte> BankLayout::encode() const {
  std::vector<std::byte> out;
  put(out, static_cast<std::uint32_t>(pieces_.size()));
  for (const auto& spec : pieces_) {
    put_spec(out, spec);
    put(out, static_cast<std::uint8_t>(spec.counts_for_digest));
  }
  return out;
}

result<BankLayout> BankLayout::decode(std::span<const std::byte> bytes) {
  Cursor in(bytes);
  std::uint32_t count = 0;
  if (!in.get(count) || count > max_pieces)
    return fail(Errc::corrupt, "layout: bad number of pieces");
  std::vector<PieceSpec> pieces;
  for (std::uint32_t i = 0; i < count; ++i)
    if (!get_spec(in, pieces.emplace_back()))
      return fail(Errc::corrupt, "layout: piece " + std::to_string(i) + " cannot be read");
  if (!in.at_end())
    return fail(Errc::corrupt, "layout: bytes after the last piece");
  return make(std::move(pieces));
}

namespace {

std::string show(const PieceSpec& spec) {
  std::string text(dtype_name(spec.dtype));
  text += " [";
  for (std::size_t i = 0; i < spec.shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(spec.shape[i]);
  return text + ']';
}

} // namespace

std::string describe_difference(const BankLayout& there, const BankLayout& here) {
  if (there.hash() == here.hash())
    return {};
  for (const auto& spec : here.pieces()) {
    const auto at = there.find(spec.name);
    if (!at)
      return "has no piece \"" + spec.name + '"';
    if (const auto& stored = there.pieces()[*at]; show(stored) != show(spec))
      return '"' + spec.name + "\" is " + show(stored) + " there and " + show(spec) + " here";
  }
  for (const auto& spec : there.pieces())
    if (!here.find(spec.name))
      return "has a piece \"" + spec.name + "\" that the model does not have";
  return "counts other pieces for the digest";
}

} // namespace troupe::checkpoint

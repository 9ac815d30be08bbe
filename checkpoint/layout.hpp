// What one version of the state consists of: the pieces, in name order, and where each lies in a slot. Two processes
// have the same layout if and only if their hashes are equal. Also the model digest, which is computed from piece
// checksums: XXH3-64 over, for each counted piece in name order, its name, dtype, shape and the XXH3-64 of its bytes.
// Immutable after make(); any thread.
#pragma once

#include "base/errors.hpp"
#include "troupe/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::checkpoint {

struct PieceSpec {
  std::string name;                 ///< 1 … 200 bytes, no control characters
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  ///< at most 8 dimensions, each >= 0; {} is a scalar
  bool counts_for_digest = true;    ///< false for the runtime's own pieces under "troupe/"
  friend bool operator==(const PieceSpec&, const PieceSpec&) = default;

  std::uint64_t elements() const;
  std::uint64_t bytes() const { return elements() * element_size(dtype); }
};

class BankLayout {
public:
  static constexpr std::size_t max_pieces = 65'536;
  static constexpr std::size_t alignment = 64;

  BankLayout() = default;
  /// Sorts by name. Errc::invalid names the piece: repeated or bad name, bad shape, too large.
  static result<BankLayout> make(std::vector<PieceSpec> pieces);

  const std::vector<PieceSpec>& pieces() const { return pieces_; }
  std::size_t size() const { return pieces_.size(); }
  std::optional<std::size_t> find(std::string_view name) const;
  /// From the first piece's start in a slot, a multiple of 64.
  std::uint64_t offset(std::size_t piece) const { return offsets_[piece]; }
  std::uint64_t data_bytes() const { return data_bytes_; }  ///< with padding
  std::uint64_t state_bytes() const { return state_bytes_; } ///< without
  /// The pieces that count for the digest, as a layout of their own.
  BankLayout counted() const;
  /// Of names, shapes, dtypes and what counts.
  std::uint64_t hash() const { return hash_; }
  /// Model digest of a version whose pieces have these checksums (in piece order).
  std::uint64_t digest(std::span<const std::uint64_t> checksums) const;

  /// Bounded byte form, for a bank's header or a message.
  std::vector<std::byte> encode() const;
  static result<BankLayout> decode(std::span<const std::byte> bytes);

private:
  std::vector<PieceSpec> pieces_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t state_bytes_ = 0;
  std::uint64_t hash_ = 0;
  struct Hole {
    std::size_t piece; ///< whose checksum
    std::size_t at;    ///< goes here in digest_form_
  };
  std::vector<std::byte> digest_form_;
  std::vector<Hole> digest_holes_;
};

/// The first difference in words ("has no piece \"x\"", "\"w\" is f32 [3, 2] there and f32 [2, 3] here"); empty when
/// the layouts are equal. `there` is the stored one, `here` the one wanted.
std::string describe_difference(const BankLayout& there, const BankLayout& here);

/// One piece of a complete version in memory.
struct PieceView {
  const PieceSpec* spec = nullptr;
  std::span<const std::byte> bytes;
  std::uint64_t checksum = 0; ///< XXH3-64 of bytes
};

} // namespace troupe::checkpoint

// The one global order of samples: a pure function of (seed, epoch, index), so it needs no memory, no state and no
// agreement, and does not know how many workers there are. Position p of the endless sequence of epochs is index
// p % rows of epoch p / rows. Each epoch is a permutation of all rows: nothing is padded, dropped or repeated.
// A value; const calls from any thread.
#pragma once

#include "base/errors.hpp"
#include "troupe/ids.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::data {

enum class OrderKind : std::uint8_t { permuted, sequential };

/// "permuted" or "sequential"; "blocks" and "leased" are Errc::unsupported, anything else Errc::invalid.
result<OrderKind> parse_order(std::string_view text);

class SampleOrder {
public:
  /// `rows` > 0.
  SampleOrder(OrderKind kind, std::uint64_t rows, std::uint64_t seed);

  std::uint64_t rows() const { return rows_; }
  OrderKind kind() const { return kind_; }
  /// Row at a global position.
  SampleId at(std::uint64_t position) const { return row(position / rows_, position % rows_); }
  /// Row at `index` (< rows) of `epoch`.
  SampleId row(std::uint64_t epoch, std::uint64_t index) const;
  /// Rows at positions first, first + 1, …; keys are made once per epoch touched (about 30 ns a row).
  void fill(std::uint64_t first, std::span<SampleId> out) const;

private:
  static constexpr unsigned rounds = 8;
  using Keys = std::array<std::uint64_t, rounds>;
  Keys keys(std::uint64_t epoch) const;
  std::uint64_t permute(const Keys& keys, std::uint64_t index) const;

  OrderKind kind_;
  std::uint64_t rows_;
  std::uint64_t seed_;
  unsigned low_bits_ = 1;  ///< domain of the cipher: 2^(low_bits + high_bits) >= rows
  unsigned high_bits_ = 1;
};

} // namespace troupe::data

#include "data/sample_order.hpp"

#include "base/assert.hpp"
#include "troupe/random.hpp"

#include <bit>
#include <string>

namespace troupe::data {

namespace {

// Finaliser of MurmurHash3: the round function only has to mix; the Feistel structure makes the bijection.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdULL;
  z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return z ^ (z >> 33);
}

} // namespace

result<OrderKind> parse_order(std::string_view text) {
  if (text == "permuted")
    return OrderKind::permuted;
  if (text == "sequential")
    return OrderKind::sequential;
  if (text == "blocks" || text == "leased")
    return fail(Errc::unsupported,
                "order \"" + std::string(text) + "\" is not there yet; use \"permuted\" or \"sequential\"");
  return fail(Errc::invalid, "unknown order \"" + std::string(text) + "\"; known are \"permuted\", \"sequential\"");
}

SampleOrder::SampleOrder(OrderKind kind, std::uint64_t rows, std::uint64_t seed)
  : kind_(kind), rows_(rows), seed_(seed) {
  TROUPE_ASSERT(rows > 0, "an order needs at least one row");
  // The smallest even-handed domain: less than 2 * rows, so that less than one index in two walks on.
  const auto bits = std::max(2, static_cast<int>(std::bit_width(rows - 1)));
  low_bits_ = static_cast<unsigned>(bits) / 2;
  high_bits_ = static_cast<unsigned>(bits) - low_bits_;
}

SampleOrder::Keys SampleOrder::keys(std::uint64_t epoch) const {
  Random random(seed_, "sample order", {epoch});
  Keys keys;
  for (auto& key : keys)
    key = random.next_u64();
  return keys;
}

// An unbalanced Feistel network with cycle walking (Black and Rogaway, 2002): each round adds a keyed function of one
// half to the other, so it is a bijection on [0, 2^bits); results outside [0, rows) are permuted again.
std::uint64_t SampleOrder::permute(const Keys& keys, std::uint64_t index) const {
  const auto low_mask = (std::uint64_t{1} << low_bits_) - 1;
  const auto high_mask = (std::uint64_t{1} << high_bits_) - 1;
  do {
    auto low = index & low_mask;
    auto high = index >> low_bits_;
    for (unsigned r = 0; r < rounds; r += 2) {
      low = (low ^ mix(high + keys[r])) & low_mask;
      high = (high ^ mix(low + keys[r + 1])) & high_mask;
    }
    index = high << low_bits_ | low;
  } while (index >= rows_);
  return index;
}

SampleId SampleOrder::row(std::uint64_t epoch, std::uint64_t index) const {
  TROUPE_ASSERT(index < rows_, "index beyond the epoch");
  return kind_ == OrderKind::sequential ? index : permute(keys(epoch), index);
}

void SampleOrder::fill(std::uint64_t first, std::span<SampleId> out) const {
  auto epoch = first / rows_;
  auto index = first % rows_;
  for (std::size_t done = 0; done < out.size(); ++epoch, index = 0) {
    if (kind_ == OrderKind::sequential) {
      for (; index < rows_ && done < out.size(); ++index)
        out[done++] = index;
    } else {
      const auto epoch_keys = keys(epoch);
      for (; index < rows_ && done < out.size(); ++index)
        out[done++] = permute(epoch_keys, index);
    }
  }
}

} // namespace troupe::data

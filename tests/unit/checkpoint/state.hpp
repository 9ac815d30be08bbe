// A small training state for the tests of this room: its contents are a function of the key, so that a reader can
// tell a wrong version from a right one. Plain helpers, any thread.
#pragma once

#include "base/piece_key.hpp"
#include "checkpoint/slot_bank.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <vector>

namespace troupe::test {

using checkpoint::BankLayout;
using checkpoint::PieceSpec;
using checkpoint::SlotBank;

inline PieceKey key(std::uint64_t step, std::uint64_t generation = 1) {
  return {Step{step}, Generation{generation}};
}

/// `scale` elements in the largest piece.
inline BankLayout small_layout(std::int64_t scale = 200) {
  return BankLayout::make({{"layer1/weight", DType::f32, {scale / 10, 10}, true},
                           {"layer1/bias", DType::f32, {10}, true},
                           {"adam/step", DType::f64, {}, true},
                           {"empty", DType::f32, {0, 4}, true},
                           {"half", DType::bf16, {3}, true},
                           {"troupe/ledger", DType::u8, {77}, false}})
    .value();
}

/// Bytes of piece `n` of version `k`.
inline std::vector<std::byte> content(const BankLayout& layout, std::size_t n, PieceKey k) {
  std::vector<std::byte> bytes(layout.pieces()[n].bytes());
  std::uint64_t x = k.step.value * 1'000'003 + k.generation.value * 7919 + n + 1;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(bytes.data() + at, &x, std::min<std::size_t>(8, bytes.size() - at));
  }
  return bytes;
}

/// Writes and publishes version `k`; returns its digest.
inline result<std::uint64_t> put(const SlotBank& bank, PieceKey k) {
  TROUPE_ASSIGN(auto writing, bank.begin_write(k));
  for (std::size_t n = 0; n < bank.layout().size(); ++n)
    writing.write(n, content(bank.layout(), n, k));
  return writing.publish();
}

/// All pieces of a version are there and are those of its key.
inline bool holds(const SlotBank& bank, const checkpoint::VersionInfo& version) {
  for (std::size_t n = 0; n < bank.layout().size(); ++n) {
    std::vector<std::byte> bytes(bank.layout().pieces()[n].bytes());
    if (!bank.read(version, n, bytes) || bytes != content(bank.layout(), n, version.key))
      return false;
  }
  return true;
}

inline std::vector<std::uint64_t> steps_of(const SlotBank& bank) {
  std::vector<std::uint64_t> steps;
  for (const auto& version : bank.list())
    steps.push_back(version.key.step.value);
  return steps;
}

inline SlotBank fresh_bank(const BankLayout& layout = small_layout(),
                           std::uint32_t versions = SlotBank::default_versions) {
  const auto fd = SlotBank::create(layout, versions).value();
  return SlotBank::attach(fd.get()).value();
}

} // namespace troupe::test

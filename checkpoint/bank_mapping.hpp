// Bytes of a slot bank and how they are read and written without locks by several processes; private to this room.
// Shared by the SlotBank, Writing and Pin objects of one attach. A slot's word is (sequence << 8 | state); it changes
// whenever the content does, so equal words before and after a read mean that the read was not disturbed. A writer that
// wants the slot of a complete version first marks it claimed: still valid to read, and whoever pins it takes the
// claim back. Only then, and if nobody did, it becomes `writing`.
//
//   page 0     Header: sizes, pulse           then the layout's byte form, then K slots on page borders
//   a slot     SlotHeader, one checksum per piece, then the pieces on 64-byte borders
#pragma once

#include "checkpoint/slot_bank.hpp"

namespace troupe::checkpoint {

enum class SlotState : std::uint8_t { empty, writing, complete, void_, claimed };

constexpr std::uint64_t make_word(std::uint64_t sequence, SlotState state) {
  return sequence << 8 | static_cast<std::uint64_t>(state);
}
constexpr std::uint64_t sequence_of(std::uint64_t word) { return word >> 8; }
constexpr SlotState state_of(std::uint64_t word) { return static_cast<SlotState>(word & 0xff); }
/// The word without a claim: what VersionInfo carries.
constexpr std::uint64_t unclaimed(std::uint64_t word) {
  return state_of(word) == SlotState::claimed ? make_word(sequence_of(word), SlotState::complete) : word;
}

struct BankHeader {
  std::uint64_t magic;
  std::uint32_t format;
  std::uint32_t versions;
  std::uint64_t layout_bytes;
  std::uint64_t total_bytes;
  std::uint64_t sum; ///< of the fields above and the layout's bytes
  alignas(64) BankPulse pulse;
  alignas(64) std::atomic<std::uint64_t> stamp;
};

struct SlotHeader {
  static constexpr std::size_t max_pins = 11;
  alignas(64) std::atomic<std::uint64_t> word;
  std::atomic<std::uint64_t> agreed; ///< the word that was agreed on
  std::atomic<std::uint64_t> pins[max_pins];
  std::atomic<std::uint64_t> step;
  std::atomic<std::uint64_t> generation;
  std::atomic<std::uint64_t> stamp;
  std::atomic<std::uint64_t> digest;
  std::atomic<std::uint64_t> sum; ///< of the four above and the piece checksums that follow
};

/// Where everything lies; a function of layout and versions only.
struct BankGeometry {
  std::uint64_t slots_at = 0;
  std::uint64_t data_at = 0; ///< in a slot
  std::uint64_t stride = 0;
  std::uint64_t total = 0;
  BankGeometry(const BankLayout& layout, std::uint64_t layout_bytes, std::uint32_t versions);
};

class BankMapping {
public:
  static constexpr std::uint64_t magic = 0x314b4e4142505254ULL; // "TRPBANK1"
  static constexpr std::uint32_t format = 1;
  static constexpr std::uint64_t page = 4096;

  BankMapping(std::byte* base, BankGeometry geometry, BankLayout layout, std::uint32_t versions, bool writable);
  ~BankMapping();
  BankMapping(const BankMapping&) = delete;
  BankMapping& operator=(const BankMapping&) = delete;

  const BankLayout layout;
  const std::uint32_t versions;
  const BankGeometry geometry;
  const bool writable;
  std::vector<std::uint8_t> written; ///< pieces of the Writing in progress

  BankHeader& header() const { return *reinterpret_cast<BankHeader*>(base_); }
  SlotHeader& slot(std::uint32_t index) const {
    return *reinterpret_cast<SlotHeader*>(base_ + geometry.slots_at + index * geometry.stride);
  }
  std::span<std::uint64_t> checksums(std::uint32_t index) const {
    return {reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(&slot(index)) + sizeof(SlotHeader)),
            layout.size()};
  }
  std::span<std::byte> piece(std::uint32_t index, std::size_t n) const {
    return {reinterpret_cast<std::byte*>(&slot(index)) + geometry.data_at + layout.offset(n),
            layout.pieces()[n].bytes()};
  }

  /// The slot's version if it is complete and its header is sound.
  std::optional<VersionInfo> inspect(std::uint32_t index) const;
  /// All of them, newest key first.
  std::vector<VersionInfo> list() const;
  std::optional<VersionInfo> find(PieceKey key) const;
  bool unchanged(const VersionInfo& version) const;
  /// For a pinner: takes back the claim of a writer, if there is one. False when the version is gone.
  bool take_claim_back(const VersionInfo& version) const;
  std::uint64_t header_sum(std::uint32_t index) const;
  bool make_void(const VersionInfo& version) const;

  /// Takes a slot by the rules for a new version.
  result<std::pair<std::uint32_t, std::uint64_t>> take_slot();

  /// A living process holds a pin on the slot; entries of dead ones are cleared on the way.
  bool pinned(std::uint32_t index) const;
  /// Entry taken for this process, or none left.
  std::optional<std::size_t> add_pin(std::uint32_t index) const;
  void remove_pin(std::uint32_t index, std::size_t entry) const;

private:
  bool try_take(std::uint32_t index, std::uint64_t& word);

  std::byte* base_;
};

/// Copies and returns the checksum of what arrived.
std::uint64_t copy_checked(void* to, const void* from, std::size_t bytes);

} // namespace troupe::checkpoint

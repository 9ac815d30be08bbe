// The memory tier: one memfd per worker slot with room for K complete versions of the state. It outlives its worker
// (the node holds the descriptor), so the death of a process costs no step. One writer at a time, the slot's worker;
// any number of readers in other processes. An object belongs to one thread; several may map one bank.
//
// Invariants
//  - A version is seen if and only if its publish() happened: one final release store. A writer killed before leaves a
//    slot that is not complete, never a wrong one.
//  - begin_write() never takes the two newest valid versions, a pinned one, or the last agreed one.
//  - Every read checks checksums, and the slot's state word before and after: torn or overwritten is Errc::stale,
//    wrong bytes are Errc::corrupt.
//  - A pin belongs to a process and ends with it.
#pragma once

#include "base/piece_key.hpp"
#include "base/unique_fd.hpp"
#include "checkpoint/layout.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace troupe::checkpoint {

class BankMapping; // checkpoint/bank_mapping.hpp, private to this room

/// What a worker says about itself without a message: written by its trainer thread (relaxed stores), read by its
/// node and by whoever decides about hangs. All zero in a fresh bank.
struct BankPulse {
  std::atomic<std::uint64_t> progress;    ///< grows whenever something was done
  std::atomic<std::uint64_t> incarnation; ///< of the writer
  std::atomic<std::uint64_t> generation;
  std::atomic<std::uint64_t> step;        ///< next step to commit
  std::atomic<std::uint32_t> phase;       ///< meaning is the worker's
  std::atomic<std::uint32_t> waiting;     ///< 1 while inside a collective
  std::atomic<std::int64_t> since_ns;     ///< monotonic time of the last change
  std::atomic<std::uint64_t> compute_ns;  ///< of the last step, without waiting
  std::atomic<std::int64_t> killed_ns;    ///< when an injected fault ended or stopped the process; 0: none did
};

/// One complete version as list() saw it.
struct VersionInfo {
  PieceKey key;
  std::uint64_t digest = 0;   ///< model digest (BankLayout::digest)
  bool agreed = false;
  bool pinned = false;
  std::uint64_t stamp = 0;    ///< order of publishing in this bank
  std::uint32_t slot = 0;
  std::uint64_t word = 0;     ///< state word; proves later that nothing changed
};

class SlotBank {
public:
  static constexpr std::uint32_t default_versions = 5;

  /// Memory for `versions` (4 … 64) versions, reserved, zeroed and sealed against resizing. Errc::exhausted when there
  /// is not enough memory.
  static result<UniqueFd> create(const BankLayout& layout, std::uint32_t versions = default_versions);
  /// Maps a bank made elsewhere; checks seals, sizes and tables before use (Errc::corrupt). Does not keep `fd`.
  /// Through a read-only object nothing can be written, pinned, agreed or made void (Errc::invalid, false, 0).
  enum class Access : std::uint8_t { read_write, read_only };
  static result<SlotBank> attach(int fd, Access access = Access::read_write);

  const BankLayout& layout() const;
  std::uint32_t versions() const;
  std::uint64_t mapped_bytes() const;
  BankPulse& pulse() const;

  // --- writer ---
  class Writing {
  public:
    Writing(Writing&&) noexcept = default;
    Writing& operator=(Writing&&) = delete;
    /// Gives the slot back when publish() was not reached.
    ~Writing();
    /// Copies one piece and its checksum in; asserts index and size. Any order, each piece once.
    void write(std::size_t piece, std::span<const std::byte> bytes);
    /// The same, and Errc::corrupt when what arrived does not have the piece's checksum.
    result<void> write_verified(std::size_t piece, const PieceView& source);
    /// Makes the version visible; every piece must have been written (asserted). An older version of the same key
    /// becomes void. Errc::fenced when another writer took the slot. Returns the model digest.
    result<std::uint64_t> publish();

  private:
    friend class SlotBank;
    Writing(std::shared_ptr<BankMapping> bank, std::uint32_t slot, std::uint64_t word, PieceKey key);
    std::shared_ptr<BankMapping> bank_;
    std::uint32_t slot_;
    std::uint64_t word_;
    PieceKey key_;
  };
  /// A free slot for `key`. Errc::exhausted when the rules leave none. At most one Writing at a time.
  result<Writing> begin_write(PieceKey key) const;

  // --- everybody ---
  /// Complete, valid versions, newest key first.
  std::vector<VersionInfo> list() const;
  std::optional<VersionInfo> find(PieceKey key) const;
  std::optional<VersionInfo> newest() const;
  /// Copies one piece out, verified.
  result<void> read(const VersionInfo& version, std::size_t piece, std::span<std::byte> out) const;
  /// Copies all pieces out, verified; `out[i]` is where piece i goes, an empty span leaves it out.
  result<void> read_all(const VersionInfo& version, std::span<const std::span<std::byte>> out) const;
  /// Checks every byte of a version in place, and its digest.
  result<void> verify(const VersionInfo& version) const;
  /// The pieces in place, for somebody who holds a pin; still to be verified by its checksums.
  result<std::vector<PieceView>> view(const VersionInfo& version) const;

  /// All members of a generation had this version's digest. False when it is not here any more.
  bool set_agreed(PieceKey key) const;
  /// A generation `next` resumes at `resume`: versions of older generations with a larger step are void.
  /// Returns how many became so. May be repeated.
  std::size_t void_after(Step resume, Generation next) const;
  /// This version is void, whatever its generation (it failed the comparison of digests).
  bool void_version(PieceKey key) const;

  /// Keeps a version from being overwritten until the Pin or this process ends. Errc::stale when it is gone.
  class Pin {
  public:
    Pin(Pin&&) noexcept = default;
    Pin& operator=(Pin&&) = delete;
    ~Pin();
    const VersionInfo& version() const { return version_; }

  private:
    friend class SlotBank;
    Pin(std::shared_ptr<BankMapping> bank, std::size_t entry, VersionInfo version);
    std::shared_ptr<BankMapping> bank_;
    std::size_t entry_;
    VersionInfo version_;
  };
  result<Pin> pin(PieceKey key) const;

private:
  explicit SlotBank(std::shared_ptr<BankMapping> bank) : bank_(std::move(bank)) {}
  std::shared_ptr<BankMapping> bank_;
};

/// Restore staging: copies version `key` of `from` into a free slot of `to`, checks each piece against its checksum
/// and publishes it under the same key, agreed when it was. Does nothing when `to` holds it with the same digest.
/// Errc::stale: `from` has it no longer; Errc::corrupt: wrong bytes, take another source; Errc::invalid: layouts
/// differ.
result<VersionInfo> copy_version(const SlotBank& from, PieceKey key, const SlotBank& to);

} // namespace troupe::checkpoint

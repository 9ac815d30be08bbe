// The memory that the members of one generation on one host share: a sealed memfd without a name, so nothing
// can be left behind. Whoever forms the generation creates it (the node, usually not a member); members
// attach by descriptor. The size is fixed and the pages exist from creation on: a full memory is an error
// there, never a SIGBUS later. Late stores of a stopped member land in a segment nobody maps any more.
// attach() believes nothing: the layout is computed again from the header, which is copied and never read
// twice; what members write later (arrival counts, poison, life words) is range checked where it is used. Any
// thread.
#pragma once

#include "base/clock.hpp"
#include "base/errors.hpp"
#include "base/unique_fd.hpp"
#include "comm/futex.hpp"
#include "comm/leaf_stack.hpp"
#include "troupe/ids.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct MemberBlock {
  std::uint32_t first_virtual = 0;
  std::uint32_t virtual_count = 0;
  friend bool operator==(const MemberBlock&, const MemberBlock&) = default;
};

/// What all members must agree on before they share memory.
struct SegmentSpec {
  Generation generation;
  std::vector<MemberBlock> members;   ///< by rank; together they cover every virtual worker once
  std::uint32_t virtual_total = 0;    ///< V
  std::uint64_t f32_count = 0;        ///< floats and doubles of one leaf
  std::uint64_t f64_count = 0;
  std::uint64_t attachment_bytes = 0; ///< per virtual worker; a multiple of 64
  friend bool operator==(const SegmentSpec&, const SegmentSpec&) = default;
};

constexpr std::uint32_t max_members = 1024;      ///< of one segment
constexpr std::uint32_t max_virtual = 65536;
constexpr std::uint64_t max_segment_bytes = 1ull << 42;
constexpr std::size_t slot_bytes = 16384;        ///< of one member in a collective over plain buffers
constexpr std::uint64_t direct_node_bytes = 32 * 1024; ///< up to here every member reduces everything itself
constexpr std::uint32_t nobody = ~0u;

/// Bytes a node publishes through, where; a pure function of the spec.
struct SegmentLayout {
  NodeShape shape;
  bool direct = false;                          ///< one wait and private results, or two and a shared result
  std::uint64_t arrived = 0, members = 0, slots = 0, nodes = 0, results = 0, attachments = 0, total = 0; ///< offsets
  std::vector<std::uint64_t> first_node;        ///< [members + 1] running number of published nodes
};
result<SegmentLayout> layout_of(const SegmentSpec& spec);

/// Link and futex word of one member's life-lock; see life_lock.hpp.
struct LifeCell {
  void* next = nullptr;
  futex::Word word{0};
};

/// Who may record a poison for a member; each has its own record, so none is torn.
enum class PoisonSource : std::uint32_t { watcher, caller, crash };

class Segment {
public:
  /// errors: invalid (spec), exhausted (no memory for it).
  static result<UniqueFd> create(const SegmentSpec& spec);
  /// Maps it; the descriptor stays the caller's and may be closed. errors: corrupt (not a segment of ours, or
  /// not sealed), exhausted (no address space).
  static result<std::unique_ptr<Segment>> attach(int fd);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const SegmentSpec& spec() const { return spec_; }
  const SegmentLayout& layout() const { return layout_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(spec_.members.size()); }
  Block block(std::uint32_t rank) const {
    return {spec_.members[rank].first_virtual, spec_.members[rank].virtual_count};
  }

  // Waiting. The gate changes whenever somebody may have to look again.
  std::atomic<std::uint64_t>& arrived(std::uint32_t rank) const;
  futex::Word& gate() const;
  std::atomic<std::uint32_t>& waiters() const;
  /// Changes the gate and wakes those who sleep on it. Async-signal-safe.
  void open_gate() const noexcept;

  LifeCell& life(std::uint32_t rank) const;

  // Memory of collectives.
  std::byte* slot(std::uint32_t parity, std::uint32_t rank) const;
  /// Published node `index` (running number over all members). Parity is 0 unless the layout is direct.
  NodeBuffer node(std::uint32_t parity, std::uint64_t index) const;
  NodeBuffer shared_result(std::uint32_t parity) const; ///< not in a direct layout
  std::span<std::byte> attachment(std::uint32_t phase, std::uint32_t v) const; ///< phase 0, 1, 2

  /// Poisons the generation for everybody and wakes all; only the first one counts, and true is returned to
  /// it. `writer` is the member that says so, or size() for an outsider such as the node. Async-signal-safe.
  /// The caller sees to it that no two calls run at once for the same (writer, source).
  bool poison(std::uint32_t writer, PoisonSource source, std::uint32_t dead_rank,
              std::string_view cause) const noexcept;
  /// Wakes everyone who sleeps on this generation, so that they see its poison. Any number of times, any thread.
  void wake_poisoned() const noexcept;
  /// 0 until then; sleepers on it are woken. Only poison() changes it.
  futex::Word& poison_word() const noexcept;
  bool poisoned() const noexcept { return poison_word().load(std::memory_order_acquire) != 0; }
  struct PoisonFacts {
    Time at{};
    std::uint32_t dead_rank = nobody;
    std::string cause;
  };
  PoisonFacts poison_facts() const;

private:
  Segment(SegmentSpec spec, SegmentLayout layout, std::byte* base);
  std::byte* member(std::uint32_t rank) const;

  SegmentSpec spec_;
  SegmentLayout layout_;
  std::byte* base_;
};

} // namespace troupe

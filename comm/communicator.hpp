// Collectives among the members of one generation. One object per generation and process; its calls are made
// by one thread, the trainer's; abort() may come from any thread. Every call ends exactly once: with its
// value, with Errc::aborted (the generation was poisoned: some member died or was drained; context says which
// and why), or with Errc::deadline. A value means that the local result is complete, not that all members
// have theirs. After an abort every further call ends with Errc::aborted at once. No wait outlives a dead
// peer by more than a millisecond on the same host while a core is idle. Nothing of one generation is used by
// another.
#pragma once

#include "base/clock.hpp"
#include "base/errors.hpp"
#include "troupe/ids.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class Op : std::uint8_t { sum, min, max };
enum class Element : std::uint8_t { f32, f64, f16, bf16, i32, i64 };

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;
  virtual std::uint32_t size() const = 0;
  virtual Generation generation() const = 0;

  /// In place over `count` elements at `data`, by the fixed tree over ranks. Any size; more
  /// than 16 KiB goes in chunks.
  virtual result<void> all_reduce(void* data, std::size_t count, Element element, Op op) = 0;
  virtual result<void> reduce_scatter(const void* in, void* out, std::size_t count_per_rank, Element, Op) = 0;
  virtual result<void> all_gather(const void* in, void* out, std::size_t bytes_per_rank) = 0;
  virtual result<void> broadcast(void* data, std::size_t bytes, Rank root) = 0;
  virtual result<void> all_to_all(const void* in, void* out, std::size_t bytes_per_pair) = 0;
  virtual result<void> send(const void* data, std::size_t bytes, Rank to, std::uint32_t tag) = 0;
  virtual result<void> recv(void* data, std::size_t bytes, Rank from, std::uint32_t tag) = 0;
  virtual result<void> barrier() = 0;
  /// Members that give the same color form a group, ranked by (key, rank).
  virtual result<std::unique_ptr<Communicator>> split(std::uint32_t color, std::uint32_t key) = 0;

  // The reduction of a step over virtual workers (design section 4, "the bits"). The caller owns a contiguous
  // block of them and, in ascending order, fills leaf(v) and calls contribute(v). A leaf is zeroed when it is
  // first asked for in a step, is the communicator's memory and may not be touched after contribute(v). The
  // result does not depend on size(), NaN payloads aside.
  virtual std::span<float> leaf(VirtualWorker v) = 0;
  virtual std::span<double> leaf_f64(VirtualWorker v) = 0;
  /// Bytes that travel beside the reduction, unreduced: what v writes here everybody reads in Reduced (sample
  /// ids, the next state of a virtual worker). Not zeroed. Fixed size per virtual worker, a multiple of 64.
  virtual std::span<std::byte> attachment(VirtualWorker v) = 0;
  virtual void contribute(VirtualWorker v) = 0;
  struct Reduced {
    std::span<const float> f32;  ///< sums over all V leaves; valid until the second reduce_leaves() from now
    std::span<const double> f64;
    std::span<const std::span<const std::byte>> attachments; ///< [V], same life
  };
  virtual result<Reduced> reduce_leaves() = 0;
  /// Forgets the contributions of an unfinished step.
  virtual void drop_leaves() = 0;

  /// Poisons the generation for everybody. Any thread, any number of times; the first cause is kept.
  virtual void abort(std::string_view cause) noexcept = 0;
  /// The poison, if there is one: who saw it when, and why. Any thread.
  struct Poison {
    Time at{};
    std::uint32_t dead_rank = ~0u; ///< ~0: nobody died (drain, orderly abort)
    std::string cause;
  };
  virtual bool poisoned() const noexcept = 0;
  virtual Poison poison() const = 0;

  /// Members that the call in progress still waits for; empty when none waits. Any thread.
  virtual std::vector<Rank> awaited() const { return {}; }
  /// Time spent waiting for others since the generation was joined. Any thread.
  virtual Duration waited() const { return {}; }
};

} // namespace troupe

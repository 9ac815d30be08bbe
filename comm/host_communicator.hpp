// Communicator of one member inside one host: everything goes through the generation's segment. One object
// per generation, owned by the worker, used by the trainer's thread (see communicator.hpp for what any thread
// may call). It holds the member's life-lock from join() until it is destroyed, which is the orderly leave. A
// sync point is one store to the own arrival count; who arrives last opens the gate and all go on, so a step
// costs one sync point for small vectors (everybody reduces everything) and two for large ones (everybody
// reduces a slice of the shared result). May not happen: a wait that outlives poison, a use of another
// generation's memory, a buffer overwritten while a slow member may still read it (hence two parities of
// slots and nodes, three phases of attachments).
#pragma once

#include "comm/communicator.hpp"
#include "comm/life_lock.hpp"
#include "comm/urgency.hpp"

#include <mutex>

namespace troupe {

struct HostOptions {
  /// Longest wait at one sync point; then the generation is poisoned and the call ends with Errc::deadline.
  /// 0: none.
  Duration deadline{0};
  /// Busy wait before sleeping. Negative: chosen by members and processors.
  Duration spin{-1};
};

class HostCommunicator final : public Communicator {
public:
  /// Becomes member `rank` of the generation behind `segment`; the first barrier() shows that all others did
  /// too. `life` outlives the communicator. errors: stale (somebody joined as this rank before), exhausted.
  static result<std::unique_ptr<HostCommunicator>> join(std::unique_ptr<Segment> segment, Rank rank, LifeLine& life,
                                                        HostOptions options = {});
  /// Attaches first and requires that the segment is the one of `expected`. errors: also corrupt, stale.
  static result<std::unique_ptr<HostCommunicator>> join(int fd, const SegmentSpec& expected, Rank rank,
                                                        LifeLine& life, HostOptions options = {});
  ~HostCommunicator() override;

  Rank rank() const override { return Rank{rank_}; }
  std::uint32_t size() const override { return segment_->size(); }
  Generation generation() const override { return segment_->spec().generation; }

  result<void> all_reduce(void* data, std::size_t count, Element element, Op op) override;
  result<void> reduce_scatter(const void* in, void* out, std::size_t count_per_rank, Element, Op) override;
  result<void> all_gather(const void* in, void* out, std::size_t bytes_per_rank) override;
  result<void> broadcast(void* data, std::size_t bytes, Rank root) override;
  result<void> all_to_all(const void* in, void* out, std::size_t bytes_per_pair) override;
  result<void> send(const void* data, std::size_t bytes, Rank to, std::uint32_t tag) override;
  result<void> recv(void* data, std::size_t bytes, Rank from, std::uint32_t tag) override;
  result<void> barrier() override;
  result<std::unique_ptr<Communicator>> split(std::uint32_t color, std::uint32_t key) override;

  std::span<float> leaf(VirtualWorker v) override;
  std::span<double> leaf_f64(VirtualWorker v) override;
  std::span<std::byte> attachment(VirtualWorker v) override;
  void contribute(VirtualWorker v) override;
  result<Reduced> reduce_leaves() override;
  void drop_leaves() override;

  void abort(std::string_view cause) noexcept override;
  bool poisoned() const noexcept override { return segment_->poisoned(); }
  Poison poison() const override;
  std::vector<Rank> awaited() const override;
  Duration waited() const override { return Duration{waited_ns_.load(std::memory_order_relaxed)}; }

private:
  HostCommunicator(std::unique_ptr<Segment> segment, std::uint32_t rank, LifeLine& life, HostOptions options);
  /// One sync point: returns when every member has arrived at it.
  result<void> sync();
  result<void> sleep_until_arrived(std::uint64_t count);
  bool all_arrived(std::uint64_t count) const;
  void hurry(); ///< life thread, when the generation is poisoned
  result<void> left_behind(std::uint64_t count);
  tl::unexpected<Error> aborted() const;
  void begin_step();
  void reduce_slice(std::uint32_t part, std::uint32_t parts, NodeBuffer out);

  std::unique_ptr<Segment> segment_;
  std::uint32_t rank_;
  LifeLine& life_;
  HostOptions options_;
  bool joined_ = false;
  std::uint64_t syncs_ = 0;   ///< sync points passed or being passed
  std::uint64_t slot_use_ = 0; ///< sync points that used slots
  std::uint64_t step_ = 0;    ///< reduce_leaves() calls
  LeafStack leaves_;
  ReductionPlan over_leaves_;
  ReductionPlan over_ranks_;
  std::vector<const float*> f32_[2];  ///< sources of over_leaves_, by parity
  std::vector<const double*> f64_[2];
  std::vector<float> f32_scratch_;
  std::vector<double> f64_scratch_;
  AlignedBytes results_;      ///< two nodes in a direct layout
  std::vector<std::span<const std::byte>> attachments_[3];
  std::mutex abort_mutex_;
  std::mutex sleeper_mutex_; ///< guards the next two
  pid_t sleeper_ = 0;        ///< thread asleep in a sync point
  /// Of a sleeper that poison found, until the generation is left: giving it back at once would put the thread
  /// behind all others that compute, just when it has to let go of the generation.
  Urgency urgency_;
  std::atomic<std::uint64_t> waiting_for_{0}; ///< count waited for; 0: not waiting
  std::atomic<std::int64_t> waited_ns_{0};
};

} // namespace troupe

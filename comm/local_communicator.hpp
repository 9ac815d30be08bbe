// Communicator of a generation with one member: all virtual workers in this process, no shared memory, no
// peers. Gives the same bits as the host communicator with any number of members. Used by --in-process and by
// benches as the bare loop. One owner; trainer's thread but for abort() and poison.
#pragma once

#include "comm/communicator.hpp"
#include "comm/leaf_stack.hpp"

#include <atomic>
#include <mutex>

namespace troupe {

class LocalCommunicator final : public Communicator {
public:
  struct Shape {
    Generation generation;
    std::uint32_t virtual_total = 1;
    std::size_t f32_count = 0;
    std::size_t f64_count = 0;
    std::size_t attachment_bytes = 0; ///< per virtual worker
  };
  explicit LocalCommunicator(const Shape& shape);

  Rank rank() const override { return Rank{0}; }
  std::uint32_t size() const override { return 1; }
  Generation generation() const override { return shape_.generation; }

  result<void> all_reduce(void*, std::size_t, Element, Op) override { return live(); }
  result<void> reduce_scatter(const void* in, void* out, std::size_t count_per_rank, Element, Op) override;
  result<void> all_gather(const void* in, void* out, std::size_t bytes_per_rank) override;
  result<void> broadcast(void*, std::size_t, Rank root) override;
  result<void> all_to_all(const void* in, void* out, std::size_t bytes_per_pair) override;
  result<void> send(const void* data, std::size_t bytes, Rank to, std::uint32_t tag) override;
  result<void> recv(void* data, std::size_t bytes, Rank from, std::uint32_t tag) override;
  result<void> barrier() override { return live(); }
  result<std::unique_ptr<Communicator>> split(std::uint32_t color, std::uint32_t key) override;

  std::span<float> leaf(VirtualWorker v) override { return {leaves_.open(v.value).f32, shape_.f32_count}; }
  std::span<double> leaf_f64(VirtualWorker v) override { return {leaves_.open(v.value).f64, shape_.f64_count}; }
  std::span<std::byte> attachment(VirtualWorker v) override;
  void contribute(VirtualWorker v) override { leaves_.close(v.value); }
  result<Reduced> reduce_leaves() override;
  void drop_leaves() override { begin_step(); }

  void abort(std::string_view cause) noexcept override;
  bool poisoned() const noexcept override { return poisoned_.load(std::memory_order_acquire); }
  Poison poison() const override;

private:
  result<void> live() const;
  void begin_step();

  Shape shape_;
  NodeShape node_;
  LeafStack leaves_;
  AlignedBytes roots_;  ///< three sums: of this step and of the two before, which callers may still read
  AlignedBytes attached_;
  std::vector<std::span<const std::byte>> attachments_[3];
  std::uint64_t step_ = 0;
  mutable std::mutex mutex_; ///< guards poison_
  Poison poison_;
  std::atomic<bool> poisoned_{false};
};

} // namespace troupe

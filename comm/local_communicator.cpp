#include "comm/local_communicator.hpp"

#include "base/assert.hpp"
#include "comm/element.hpp"

#include <fmt/format.h>

namespace troupe {

LocalCommunicator::LocalCommunicator(const Shape& shape)
  : shape_(shape), node_{shape.f32_count, shape.f64_count},
    leaves_({0, shape.virtual_total}, shape.virtual_total, node_), roots_(3 * node_.bytes()),
    attached_(3 * shape.virtual_total * shape.attachment_bytes) {
  for (std::size_t phase = 0; phase < 3; ++phase)
    for (std::size_t v = 0; v < shape.virtual_total; ++v)
      attachments_[phase].emplace_back(
        attached_.get() + (phase * shape.virtual_total + v) * shape.attachment_bytes, shape.attachment_bytes);
  begin_step();
}

void LocalCommunicator::begin_step() {
  const auto root = node_.at(roots_.get() + step_ % 3 * node_.bytes());
  leaves_.begin({&root, 1});
}

std::span<std::byte> LocalCommunicator::attachment(VirtualWorker v) {
  TROUPE_ASSERT(v.value < shape_.virtual_total, "virtual worker of this job");
  const auto number = step_ % 3 * shape_.virtual_total + v.value;
  return {attached_.get() + number * shape_.attachment_bytes, shape_.attachment_bytes};
}

result<Communicator::Reduced> LocalCommunicator::reduce_leaves() {
  TROUPE_TRY(live());
  TROUPE_ASSERT(leaves_.complete(), "every virtual worker contributed before the reduction");
  const auto root = node_.at(roots_.get() + step_ % 3 * node_.bytes());
  const Reduced reduced{{root.f32, shape_.f32_count}, {root.f64, shape_.f64_count}, attachments_[step_ % 3]};
  ++step_;
  begin_step();
  return reduced;
}

result<void> LocalCommunicator::live() const {
  if (!poisoned())
    return {};
  return fail(Errc::aborted, fmt::format("generation {}: {}", shape_.generation.value, poison().cause));
}

void LocalCommunicator::abort(std::string_view cause) noexcept {
  const std::lock_guard lock(mutex_);
  if (poisoned())
    return;
  poison_ = {monotonic_now(), ~0u, std::string(cause)};
  poisoned_.store(true, std::memory_order_release);
}

Communicator::Poison LocalCommunicator::poison() const {
  const std::lock_guard lock(mutex_);
  return poison_;
}

result<void> LocalCommunicator::reduce_scatter(const void* in, void* out, std::size_t count_per_rank, Element element,
                                               Op) {
  return all_gather(in, out, count_per_rank * size_of(element));
}

result<void> LocalCommunicator::all_gather(const void* in, void* out, std::size_t bytes_per_rank) {
  TROUPE_TRY(live());
  if (bytes_per_rank > 0)
    std::memmove(out, in, bytes_per_rank);
  return {};
}

result<void> LocalCommunicator::broadcast(void*, std::size_t, Rank root) {
  if (root.value != 0)
    return fail(Errc::invalid, fmt::format("broadcast from rank {} of 1", root.value));
  return live();
}

result<void> LocalCommunicator::all_to_all(const void* in, void* out, std::size_t bytes_per_pair) {
  return all_gather(in, out, bytes_per_pair);
}

result<void> LocalCommunicator::send(const void*, std::size_t, Rank, std::uint32_t) {
  return fail(Errc::unsupported, "send is not there yet, and a single member has nobody to send to");
}

result<void> LocalCommunicator::recv(void*, std::size_t, Rank, std::uint32_t) {
  return fail(Errc::unsupported, "recv is not there yet, and a single member has nobody to receive from");
}

result<std::unique_ptr<Communicator>> LocalCommunicator::split(std::uint32_t, std::uint32_t) {
  return fail(Errc::unsupported, "split is not there yet");
}

} // namespace troupe

// What travels beside one virtual worker's leaf, unreduced: who computed what from which version, the ids
// handed to `gradient`, the next values of its virtual state; in an evaluation its table of sums. Offsets are
// fixed for a job. Plain memory in the communicator's segment, not zeroed between steps.
#pragma once

#include "actors/trainer/metric_sums.hpp"
#include "base/assert.hpp"
#include "troupe/ids.hpp"

#include <cstring>
#include <span>

namespace troupe {

enum class AttachmentKind : std::uint32_t { gradient = 1, evaluation = 2 };

struct AttachmentHeader {
  std::uint64_t step;
  AttachmentKind kind;
  std::uint32_t phase;
  std::uint64_t digest; ///< of the version the step starts from, 0 when this step does not compare
  std::uint64_t count;  ///< ids
};

class AttachmentLayout {
public:
  AttachmentLayout() = default;
  AttachmentLayout(std::uint64_t micro_batch, std::size_t virtual_bytes, bool evaluates)
      : micro_batch_(micro_batch), virtual_at_(round(ids_at + micro_batch * sizeof(SampleId))),
        bytes_(virtual_at_ + round(virtual_bytes)) {
    if (evaluates && bytes_ < round(ids_at + sizeof(MetricTable)))
      bytes_ = round(ids_at + sizeof(MetricTable));
  }

  std::size_t bytes() const { return bytes_; }

  AttachmentHeader& header(std::span<std::byte> a) const {
    TROUPE_ASSERT(a.size() >= bytes_, "attachment of the communicator is too small");
    return *reinterpret_cast<AttachmentHeader*>(a.data());
  }
  const AttachmentHeader& header(std::span<const std::byte> a) const {
    TROUPE_ASSERT(a.size() >= bytes_, "attachment of the communicator is too small");
    return *reinterpret_cast<const AttachmentHeader*>(a.data());
  }
  SampleId* ids(std::span<std::byte> a) const { return reinterpret_cast<SampleId*>(a.data() + ids_at); }
  std::span<const SampleId> ids(std::span<const std::byte> a) const {
    const auto count = header(a).count;
    TROUPE_ASSERT(count <= micro_batch_, "more ids than samples of a virtual worker");
    return {reinterpret_cast<const SampleId*>(a.data() + ids_at), count};
  }
  std::byte* next_virtual(std::span<std::byte> a) const { return a.data() + virtual_at_; }
  const std::byte* next_virtual(std::span<const std::byte> a) const { return a.data() + virtual_at_; }
  MetricTable& metrics(std::span<std::byte> a) const {
    return *reinterpret_cast<MetricTable*>(a.data() + ids_at);
  }
  const MetricTable& metrics(std::span<const std::byte> a) const {
    return *reinterpret_cast<const MetricTable*>(a.data() + ids_at);
  }

private:
  static constexpr std::size_t ids_at = 64;
  static constexpr std::size_t round(std::size_t n) { return (n + 63) / 64 * 64; }
  std::uint64_t micro_batch_ = 0;
  std::size_t virtual_at_ = 64;
  std::size_t bytes_ = 64;
};
static_assert(sizeof(AttachmentHeader) <= 64);

} // namespace troupe

#include "data/feeder.hpp"

#include "base/assert.hpp"

#include <cstring>

namespace troupe::data {

BatchBuffer::BatchBuffer(const Dataset& dataset, std::uint64_t capacity) : ids_(capacity) {
  for (const auto& field : dataset.fields())
    fields_.push_back({std::vector<std::byte>(capacity * field.sample_bytes()), field.sample_bytes()});
}

Feeder::Feeder(const Dataset& dataset, SampleOrder order, BatchPlan plan)
  : dataset_(&dataset), order_(order), plan_(plan) {
  TROUPE_ASSERT(order.rows() == dataset.rows() && plan.rows() == dataset.rows(),
                "order and plan are for another number of rows");
}

void Feeder::gather(Step step, VirtualWorker v, BatchBuffer& out) const {
  const auto range = plan_.positions(step, v);
  TROUPE_ASSERT(range.count <= out.capacity(), "batch buffer too small");
  TROUPE_ASSERT(out.fields_.size() == dataset_->fields().size(), "batch buffer of another data set");
  out.size_ = range.count;
  out.first_position_ = range.begin;
  order_.fill(range.begin, {out.ids_.data(), out.size_});
  for (std::size_t f = 0; f < out.fields_.size(); ++f) {
    const auto* source = dataset_->fields()[f].bytes.data();
    const auto stride = out.fields_[f].stride;
    auto* target = out.fields_[f].bytes.data();
    for (std::size_t i = 0; i < out.size_; ++i)
      std::memcpy(target + i * stride, source + out.ids_[i] * stride, stride);
  }
}

void gather_block(const Dataset& dataset, Range rows, BatchBuffer& out) {
  TROUPE_ASSERT(rows.end() <= dataset.rows() && rows.count <= out.capacity(), "block beyond data set or buffer");
  out.size_ = rows.count;
  out.first_position_ = rows.begin;
  for (std::size_t i = 0; i < out.size_; ++i)
    out.ids_[i] = rows.begin + i;
  for (std::size_t f = 0; f < out.fields_.size(); ++f) {
    const auto stride = out.fields_[f].stride;
    if (rows.count * stride > 0)
      std::memcpy(out.fields_[f].bytes.data(), dataset.fields()[f].bytes.data() + rows.begin * stride,
                  rows.count * stride);
  }
}

} // namespace troupe::data

// Gathers the rows of one virtual worker's batch (or of one evaluation block) into contiguous buffers. The data set
// outlives the feeder. Buffers belong to the caller, are sized once, and are refilled without allocation; a gather of
// 8 x 64 floats takes well under a microsecond. One thread per buffer; the feeder itself is const.
#pragma once

#include "data/batch_plan.hpp"
#include "data/dataset.hpp"
#include "data/sample_order.hpp"

namespace troupe::data {

/// Contiguous copies of some rows: `ids[size]`, and per field of the data set (same order) `[size, ...]`.
class BatchBuffer {
public:
  BatchBuffer() = default;
  BatchBuffer(const Dataset& dataset, std::uint64_t capacity);

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return ids_.size(); }
  std::span<const SampleId> ids() const { return {ids_.data(), size_}; }
  /// Bytes of field `index` of the data set, [size, sample shape...].
  std::span<const std::byte> field(std::size_t index) const {
    return {fields_[index].bytes.data(), size_ * fields_[index].stride};
  }
  /// Global position of the first row; for an evaluation block its first row.
  std::uint64_t first_position() const { return first_position_; }

private:
  friend class Feeder;
  friend void gather_block(const Dataset& dataset, Range rows, BatchBuffer& out);
  struct Column {
    std::vector<std::byte> bytes;
    std::size_t stride = 0;
  };
  std::vector<SampleId> ids_;
  std::vector<Column> fields_;
  std::size_t size_ = 0;
  std::uint64_t first_position_ = 0;
};

class Feeder {
public:
  /// Asserts that order and plan are for the rows of `dataset`.
  Feeder(const Dataset& dataset, SampleOrder order, BatchPlan plan);

  const Dataset& dataset() const { return *dataset_; }
  const BatchPlan& plan() const { return plan_; }
  const SampleOrder& order() const { return order_; }

  /// Rows of virtual worker v at `step`; `out` has a capacity of at least micro_batch.
  void gather(Step step, VirtualWorker v, BatchBuffer& out) const;

private:
  const Dataset* dataset_;
  SampleOrder order_;
  BatchPlan plan_;
};

/// Rows [rows.begin, rows.end) of `dataset` in their own order: one block of an evaluation.
void gather_block(const Dataset& dataset, Range rows, BatchBuffer& out);

} // namespace troupe::data

// Rows and times on their way from the trainer's thread to the worker actor: one writer, one reader, no lock, no
// allocation per row. When the reader is too slow new rows are dropped here; each version of the state carries the
// last 256 rows, so a short stall loses nothing.
#pragma once

#include "actors/worker/port.hpp"

#include <array>
#include <atomic>
#include <vector>

namespace troupe {

class RowRing {
public:
  static constexpr std::size_t capacity = 8192;

  /// Writer.
  void push(const StepRow& row) {
    const auto at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) >= capacity)
      return; // full: the state's own ring still has it
    ring_[at % capacity] = row;
    written_.store(at + 1, std::memory_order_release);
  }

  /// Writer: where the time went. Each figure is consistent by itself.
  void set_spent(const Spent& s) {
    const Duration values[] = {s.build, s.idle, s.connect, s.restore, s.useful,
                               s.lost,  s.wait, s.evaluation, s.snapshot, s.drain};
    for (std::size_t i = 0; i < spent_.size(); ++i)
      spent_[i].store(values[i].count(), std::memory_order_relaxed);
  }

  /// Reader: at most `limit` rows, oldest first.
  std::vector<StepRow> take(std::size_t limit) {
    auto at = read_.load(std::memory_order_relaxed);
    const auto end = written_.load(std::memory_order_acquire);
    std::vector<StepRow> rows;
    for (; at < end && rows.size() < limit; ++at)
      rows.push_back(ring_[at % capacity]);
    read_.store(at, std::memory_order_release);
    return rows;
  }

  Spent spent() const {
    Spent s;
    Duration* const values[] = {&s.build, &s.idle, &s.connect, &s.restore, &s.useful,
                                &s.lost,  &s.wait, &s.evaluation, &s.snapshot, &s.drain};
    for (std::size_t i = 0; i < spent_.size(); ++i)
      *values[i] = Duration{spent_[i].load(std::memory_order_relaxed)};
    return s;
  }

private:
  std::array<StepRow, capacity> ring_{};
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> read_{0};
  std::array<std::atomic<std::int64_t>, 10> spent_{};
};

} // namespace troupe

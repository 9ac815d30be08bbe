// One version of everything that is committed together: the trainer's registered state and the runtime's own pieces
// (troupe/ledger, troupe/rows, troupe/evaluation), how a version goes into a slot bank and back, and which version
// the live memory is. Owned by the engine, trainer's thread.
//
// Invariants
//  - `key` names what the live memory holds, or `valid` is false (an update was begun and did not end, or a load
//    broke off): then nothing is published from it.
//  - A version is in the bank at most once per key; publish() of a published key does nothing.
#pragma once

#include "actors/job_config.hpp"
#include "actors/trainer/model_state.hpp"
#include "actors/worker/port.hpp"
#include "data/batch_plan.hpp"
#include "data/ledger.hpp"

#include <array>
#include <functional>

namespace troupe {

/// The last rows of metrics, so that none is lost with the process that reported it.
struct RowsImage {
  static constexpr std::size_t capacity = 256;
  std::uint64_t count; ///< rows ever
  std::uint64_t unused[7];
  struct Row {
    std::uint64_t step, generation, epoch, samples;
    double loss_sum, loss_weight;
    std::uint32_t members, skipped;
    std::uint64_t unused;
  } rows[capacity];
};

/// Bookkeeping of evaluations. `before` is how it was before the last one, so that repeating it changes
/// nothing.
struct EvaluationImage {
  struct Book {
    std::uint64_t evaluations;
    std::uint64_t without_improvement;
    std::uint64_t best_step;
    double best;
    std::uint64_t has_best;
  };
  std::uint64_t last_step; ///< + 1; 0: none yet
  Book now;
  Book before;
  std::uint64_t unused[5];
};
static_assert(sizeof(EvaluationImage) == 128);

class EngineState {
public:
  EngineState(const JobConfig& job, const data::BatchPlan& plan);

  ModelState& model() { return model_; }
  const ModelState& model() const { return model_; }
  /// After build(): fixes the layout.
  result<void> close(std::uint32_t phases);
  const BankLayout& layout() const { return layout_; }
  std::uint64_t layout_hash() const { return layout_hash_; }

  PieceKey key;
  bool valid = true;

  bool published() const { return valid && has_published_ && published_ == key; }
  std::uint64_t published_digest() const { return digest_; }
  /// Copies the live version into a free slot. `before_publish` runs between the copies and the last store.
  result<void> publish(const SlotBank& bank, const std::function<void()>& before_publish);
  /// Copies a version of `bank` into place, verified. `runtime_pieces` false leaves the runtime's own as they
  /// are. On an error the live memory is not valid any more.
  result<void> load(const SlotBank& bank, const checkpoint::VersionInfo& version, bool runtime_pieces);
  /// Model digest of the live memory.
  std::uint64_t digest() const;

  data::Ledger& ledger() { return *ledger_; }
  EvaluationImage& evaluation() { return *reinterpret_cast<EvaluationImage*>(evaluation_.data()); }
  void add_row(const StepRow& row);
  /// Rows in the ring, oldest first.
  std::vector<StepRow> rows() const;

private:
  RowsImage& rows_image() const { return *reinterpret_cast<RowsImage*>(rows_.data()); }

  data::BatchPlan plan_;
  ModelState model_;
  std::size_t ledger_bytes_;
  StateMemory ledger_memory_;
  StateMemory rows_;
  StateMemory evaluation_;
  std::optional<data::Ledger> ledger_;
  BankLayout layout_;
  std::uint64_t layout_hash_ = 0;
  std::vector<std::span<std::byte>> pieces_; ///< live bytes by index of the layout
  bool has_published_ = false;
  PieceKey published_;
  std::uint64_t digest_ = 0;
};

} // namespace troupe

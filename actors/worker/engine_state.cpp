#include "actors/worker/engine_state.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::string_view ledger_piece = "troupe/ledger";
constexpr std::string_view rows_piece = "troupe/rows";
constexpr std::string_view evaluation_piece = "troupe/evaluation";

} // namespace

EngineState::EngineState(const JobConfig& job, const data::BatchPlan& plan)
    : plan_(plan), model_(job.job.seed, job.workers.virtual_workers),
      ledger_bytes_(data::Ledger::image_bytes(plan.rows(), plan.epochs_in_flight())),
      ledger_memory_(ledger_bytes_), rows_(sizeof(RowsImage)), evaluation_(sizeof(EvaluationImage)) {
  ledger_ =
    data::Ledger::format({ledger_memory_.data(), ledger_bytes_}, plan.rows(), plan.epochs_in_flight());
}

result<void> EngineState::close(std::uint32_t phases) {
  model_.close();
  auto specs = model_.pieces();
  const auto own = [&](std::string_view name, std::size_t bytes) {
    specs.push_back({std::string(name), DType::u8, {static_cast<std::int64_t>(bytes)}, false});
  };
  own(ledger_piece, ledger_bytes_);
  own(rows_piece, sizeof(RowsImage));
  own(evaluation_piece, sizeof(EvaluationImage));
  TROUPE_ASSIGN(layout_, BankLayout::make(std::move(specs)));
  pieces_.resize(layout_.size());
  const auto place = [&](std::string_view name, std::span<std::byte> bytes) {
    pieces_[*layout_.find(name)] = bytes;
  };
  for (const auto& entry : model_.entries())
    place(entry->name, entry->span());
  place(ledger_piece, {ledger_memory_.data(), ledger_bytes_});
  place(rows_piece, {rows_.data(), sizeof(RowsImage)});
  place(evaluation_piece, {evaluation_.data(), sizeof(EvaluationImage)});
  Hasher hash;
  hash.add(layout_.hash());
  hash.add(model_.layout_hash());
  hash.add(std::uint64_t{phases});
  layout_hash_ = hash.digest();
  return {};
}

result<void> EngineState::publish(const SlotBank& bank, const std::function<void()>& before_publish) {
  TROUPE_ASSERT(valid, "a torn state is published");
  if (published())
    return {};
  TROUPE_ASSIGN(auto writing, bank.begin_write(key));
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    writing.write(i, pieces_[i]);
  if (before_publish)
    before_publish();
  TROUPE_ASSIGN(digest_, writing.publish());
  published_ = key;
  has_published_ = true;
  return {};
}

result<void> EngineState::load(const SlotBank& bank, const checkpoint::VersionInfo& version,
                               bool runtime_pieces) {
  std::vector<std::span<std::byte>> out = pieces_;
  if (!runtime_pieces)
    for (auto name : {ledger_piece, rows_piece, evaluation_piece})
      out[*layout_.find(name)] = {};
  valid = false;
  TROUPE_TRY(bank.read_all(version, out));
  if (runtime_pieces) {
    TROUPE_ASSIGN(ledger_, data::Ledger::bind({ledger_memory_.data(), ledger_bytes_}, plan_.rows(),
                                              plan_.epochs_in_flight()));
  }
  key = version.key;
  valid = true;
  published_ = version.key;
  has_published_ = true;
  digest_ = version.digest;
  return {};
}

std::uint64_t EngineState::digest() const {
  std::vector<std::uint64_t> sums(pieces_.size());
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    sums[i] = checksum(pieces_[i].data(), pieces_[i].size());
  return layout_.digest(sums);
}

void EngineState::add_row(const StepRow& row) {
  auto& image = rows_image();
  image.rows[image.count++ % RowsImage::capacity] = {row.step.value, row.generation.value, row.epoch,
                                                     row.samples,    row.loss_sum,         row.loss_weight,
                                                     row.members,    row.skipped,          0};
}

std::vector<StepRow> EngineState::rows() const {
  const auto& image = rows_image();
  std::vector<StepRow> out;
  const auto first = image.count > RowsImage::capacity ? image.count - RowsImage::capacity : 0;
  for (auto i = first; i < image.count; ++i) {
    const auto& row = image.rows[i % RowsImage::capacity];
    out.push_back({Step{row.step}, Generation{row.generation}, row.epoch, row.samples, row.loss_sum,
                   row.loss_weight, 0, row.members, row.skipped});
  }
  return out;
}

} // namespace troupe

// What happens between two steps: versions, saves, evaluations, the end of the job.
#include "actors/worker/engine.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <poll.h>

namespace troupe {

namespace {

// checkpoint.snapshot_every = "auto": at most this part of the job's time, if all wait for the one that copies.
constexpr double snapshot_share = 0.005;
constexpr std::uint64_t longest_interval = 1024;
constexpr Duration pin_life = std::chrono::seconds(1); // until the node has its own pin

Duration smooth(Duration old, Duration now) {
  return old == Duration{} ? now : (old * 7 + now) / 8;
}

} // namespace

bool Engine::begin() {
  if (ended_)
    return false;
  if (!state_.valid && stage_ == Stage::updating)
    misuse("begin() after an update that did not end: the state is torn");
  const bool given_up = stage_ == Stage::gradients || stage_ == Stage::reduced;
  if (given_up &&
      !comm_->poisoned()) { // by the caller: compute it again. After an abort, drain() does all this
    if (phase_ > 0)
      misuse("begin() in the middle of a step with phases: reduce() and update() every phase");
    comm_->drop_leaves();
    clock_.lose_work();
    ++report_.steps_lost;
    stage_ = Stage::outside;
  }
  for (;;) {
    if (!comm_) {
      if (!obtain())
        return false;
      if (comm_ && !enter())
        drain();
      continue;
    }
    if (comm_->poisoned()) {
      drain();
      continue;
    }
    if (phase_ == 0 && !boundary_done_) {
      const auto next = boundary();
      if (next == Boundary::again)
        continue;
      if (next == Boundary::finished) {
        if (!finish())
          return false;
        if (comm_ && !enter())
          drain();
        continue;
      }
      boundary_done_ = true;
    }
    start_phase();
    return true;
  }
}

Engine::Boundary Engine::boundary() {
  const auto version = state_.key.step;
  const auto request = port_.wanted_save(version);
  const bool evaluates = evaluation_due(version);
  const bool last = version.value >= last_step_;
  if (request != 0 || evaluates || last || snapshot_due())
    publish(request != 0 || evaluates || last || phases_ > 1);
  if (last)
    publish_last();
  if (request != 0)
    pin_for(request, false);
  if (pin_ && monotonic_now() - pinned_at_ > pin_life)
    pin_.reset();
  if (evaluates && !evaluate()) {
    if (!comm_->poisoned())
      comm_->abort("evaluation broke off");
    return Boundary::again;
  }
  return version.value >= last_step_ ? Boundary::finished : Boundary::go;
}

bool Engine::snapshot_due() const {
  if (state_.published())
    return false;
  const auto step = state_.key.step.value;
  if (phases_ > 1 || (job_.job.digest_every && step % job_.job.digest_every == 0))
    return true;
  const auto& cadence = job_.checkpoint.snapshot_every;
  if (cadence.kind == CadenceKind::never)
    return false;
  const bool fixed = cadence.kind == CadenceKind::steps;
  const auto every = fixed ? std::max<std::uint64_t>(1, cadence.count) : snapshot_interval_;
  // All members hold the same state, so those of one node copy in turn: one copy outlives them all.
  return step % every == 0 && step / every % members_here_ == place_here_;
}

bool Engine::publish(bool must) {
  if (state_.published())
    return true;
  const auto before = activity_;
  auto& spent = clock_.spent();
  turn_to(before == Activity::draining    ? spent.drain
          : before == Activity::restoring ? spent.restore
                                          : spent.snapshot,
          Activity::snapshot);
  const auto hook = [&] { port_.at(FaultPoint::snapshot, state_.key.step); };
  auto done = state_.publish(*bank_, hook);
  if (!done && must && pin_) {
    pin_.reset(); // its reader takes another version
    done = state_.publish(*bank_, hook);
  }
  const auto now = monotonic_now();
  if (done)
    measure_snapshot(now - step_began_);
  else
    log(LogLevel::warn, "snapshot.failed", "step={} why={}", state_.key.step.value, done.error().context);
  activity_ = before;
  return done.has_value();
}

// The job's end is saved from this version, and nobody makes another: wait for a reader of an older one to let go.
void Engine::publish_last() {
  constexpr int again_ms = 20;
  const auto until = monotonic_now() + job_.limits.save;
  while (!state_.published() && monotonic_now() < until && !(comm_ && comm_->poisoned())) {
    ::poll(nullptr, 0, again_ms);
    publish(true);
  }
}

void Engine::measure_snapshot(Duration cost) {
  snapshot_cost_ = smooth(snapshot_cost_, cost);
  if (step_cost_ == Duration{})
    return;
  const auto share = static_cast<double>(snapshot_cost_.count()) / static_cast<double>(step_cost_.count());
  // A power of two, so that members with nearly equal costs agree on the steps and on whose turn it is.
  const auto wanted = std::clamp(share / snapshot_share, 1.0, static_cast<double>(longest_interval));
  snapshot_interval_ = std::bit_ceil(static_cast<std::uint64_t>(std::ceil(wanted)));
}

void Engine::pin_for(std::uint64_t request, bool best) {
  pin_.reset();
  auto pin = bank_->pin(state_.key);
  if (!pin) {
    log(LogLevel::warn, "save.unpinned", "step={} why={}", state_.key.step.value, pin.error().context);
    return;
  }
  pin_.emplace(std::move(*pin));
  pinned_at_ = monotonic_now();
  port_.saved(request, state_.key, pin_->version().slot, best);
}

// --- evaluation ---

bool Engine::evaluation_due(Step version) const {
  if (!evaluation_ || version.value == 0)
    return false;
  if (version.value >= total_steps_)
    return true;
  const auto& cadence = job_.evaluation.every;
  const auto& plan = feeder_.plan();
  const auto epoch = plan.finished_epochs(version);
  const bool epoch_ended = epoch != plan.finished_epochs(Step{version.value - 1});
  switch (cadence.kind) {
  case CadenceKind::automatic: return epoch_ended;
  case CadenceKind::never: return false;
  case CadenceKind::steps: return version.value % std::max<std::uint64_t>(1, cadence.count) == 0;
  case CadenceKind::epochs: return epoch_ended && epoch % std::max<std::uint64_t>(1, cadence.count) == 0;
  case CadenceKind::time: return false; // members have no common clock; the job file's reader refuses it
  }
  return false;
}

bool Engine::evaluate() {
  turn_to(clock_.spent().evaluation, Activity::evaluation);
  auto& batch = *evaluation_batch_;
  const auto& model = state_.model();
  const auto version = state_.key.step;
  for (auto v : block_) {
    comm_->leaf(v);
    const auto attachment = comm_->attachment(v);
    attachments_.header(attachment) = {version.value, AttachmentKind::evaluation, 0, 0, 0};
    MetricWriter writer(attachments_.metrics(attachment));
    const auto rows = data::block(evaluation_->rows(), model.virtual_workers(), v.value);
    for (auto first = rows.begin; first < rows.end(); first += evaluation_chunk) {
      data::gather_block(*evaluation_, {first, std::min(evaluation_chunk, rows.end() - first)},
                         batch.buffer());
      batch.point(version, feeder_.plan().epoch(version), 0, v.value, true);
      trainer_.evaluate(model, batch, writer);
    }
    comm_->contribute(v);
  }
  turn_to(clock_.spent().evaluation, Activity::reduce);
  const auto reduced = comm_->reduce_leaves();
  if (!reduced)
    return false;
  turn_to(clock_.spent().evaluation, Activity::evaluation);
  std::vector<const MetricTable*> tables;
  for (auto a : reduced->attachments) {
    const auto& header = attachments_.header(a);
    TROUPE_ASSERT(header.kind == AttachmentKind::evaluation && header.step == version.value,
                  "members evaluate different versions");
    tables.push_back(&attachments_.metrics(a));
  }
  conclude(MetricResult(tables));
  return true;
}

void Engine::conclude(const MetricResult& metrics) {
  const auto version = state_.key.step;
  const auto& settings = job_.evaluation;
  facts_.step = version;
  facts_.epoch = feeder_.plan().epoch(version);
  facts_.position = feeder_.plan().position(version);
  facts_view_.point(facts_, {});
  const auto verdict = trainer_.on_metrics(metrics, facts_view_);
  EvaluationRow row;
  row.step = version;
  row.generation = comm_->generation();
  row.metrics = metrics.values();
  row.stop = verdict == Verdict::stop;

  auto& image = state_.evaluation();
  if (image.last_step == version.value + 1)
    image.now = image.before; // the same evaluation again
  image.before = image.now;
  image.last_step = version.value + 1;
  auto& book = image.now;
  ++book.evaluations;
  if (!settings.metric.empty() && !metrics.has(settings.metric))
    fail_with(FailureClass::exception,
              fmt::format("[evaluation] metric '{}' was not added by evaluate()", settings.metric));
  if (!settings.metric.empty()) {
    const auto value = metrics.value(settings.metric);
    const bool better =
      !std::isnan(value) &&
      (!book.has_best || (settings.mode == MetricMode::max ? value > book.best : value < book.best));
    if (better) {
      book = {book.evaluations, 0, version.value, value, 1};
      row.best = true;
    } else {
      ++book.without_improvement;
      row.stop = row.stop || (settings.patience && book.without_improvement >= settings.patience);
    }
  }
  row.best = row.best || verdict == Verdict::keep_best;
  if (row.stop)
    last_step_ = version.value;
  port_.evaluated(row);
  if (row.best && publish(true))
    if (assignment_->rank == Rank{}) // one copy of it is enough
      pin_for(0, true);
}

} // namespace troupe

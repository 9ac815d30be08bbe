// One step: gradients of the own block, the reduction, the mean, update, commit. No allocation, lock or
// formatting on the straight path.
#include "actors/worker/engine.hpp"

#include "actors/worker/mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <poll.h>
#include <stdexcept>
#include <utility>

namespace troupe {

void Engine::turn_to(Duration& category, Activity activity) {
  const auto now = monotonic_now();
  clock_.turn_to(category, now);
  activity_ = activity;
  step_began_ = now;
  port_.enter(activity, state_.key.step, now);
}

void Engine::misuse(std::string_view what) const {
  throw std::logic_error(fmt::format("Session: {}", what));
}

void Engine::start_phase() {
  stage_ = Stage::gradients;
  next_contribution_ = 0;
  leaf_ready_ = false;
  if (phase_ == 0)
    give_back_batches();
  const auto step = state_.key.step;
  const auto& plan = feeder_.plan();
  facts_.step = step;
  facts_.position = plan.position(step);
  facts_.epoch = plan.epoch_at(facts_.position);
  facts_.total_steps = total_steps_;
  facts_.global_batch = plan.global_batch();
  facts_.phase = phase_;
  facts_.members = comm_->size();
  facts_.finite = true;
  facts_view_.point(facts_, {});
  turn_to(clock_.work(), Activity::gradient);
}

std::size_t Engine::index_of(VirtualWorker v) const {
  const auto index = block_.empty() ? 0 : static_cast<std::size_t>(v.value) - block_.front().value;
  if (v.value < (block_.empty() ? 0 : block_.front().value) || index >= block_.size())
    misuse(fmt::format("virtual worker {} is not in this worker's block", v.value));
  return index;
}

// The one that was used last: its memory is in the processor's cache.
StepBatch* Engine::take_batch() {
  if (idle_batches_.empty())
    return &batches_.emplace_back(train_, job_.job.seed, job_.workers.micro_batch);
  auto* batch = idle_batches_.back();
  idle_batches_.pop_back();
  return batch;
}

void Engine::give_back_batches() {
  for (auto& batch : batch_of_)
    if (batch)
      idle_batches_.push_back(std::exchange(batch, nullptr));
}

const Batch& Engine::batch(VirtualWorker v) {
  if (stage_ != Stage::gradients)
    misuse("batch() belongs between begin() and reduce()");
  const auto index = index_of(v);
  if (!batch_of_[index]) {
    batch_of_[index] = take_batch();
    feeder_.gather(state_.key.step, v, batch_of_[index]->buffer());
  }
  auto& batch = *batch_of_[index];
  batch.point(state_.key.step, feeder_.plan().epoch_at(batch.buffer().first_position()), phase_, v.value,
              false);
  return batch;
}

Gradients& Engine::gradients(VirtualWorker v) {
  if (stage_ != Stage::gradients)
    misuse("gradients() belongs between begin() and reduce()");
  if (index_of(v) != next_contribution_)
    misuse(
      fmt::format("virtual workers contribute once each and in ascending order: {} is not next", v.value));
  if (!leaf_ready_) {
    auto* next = attachments_.next_virtual(comm_->attachment(v));
    leaf_ = comm_->leaf(v);
    gradients_.point(leaf_.data(), next);
    for (const auto& part : state_.model().virtual_parts()) {
      const auto* from = phase_ == 0
                           ? part.entry->memory.data() + v.value * part.entry->item_bytes
                           : next_virtual_.data() + v.value * state_.model().virtual_bytes() + part.offset;
      std::memcpy(next + part.offset, from, part.entry->item_bytes);
    }
    leaf_ready_ = true;
  }
  return gradients_;
}

void Engine::contribute(VirtualWorker v, Loss loss) {
  gradients(v); // checks, and gives a zeroed leaf to a caller that has nothing to add
  if (next_contribution_ == 0) {
    const auto effect = port_.at(FaultPoint::gradient, state_.key.step);
    if (effect.nan && !leaf_.empty())
      leaf_[0] = std::numeric_limits<float>::quiet_NaN();
    if (effect.slow > 1)
      slow_down(effect.slow, step_began_);
  }
  auto sums = comm_->leaf_f64(v);
  sums[0] = loss.sum;
  sums[1] = loss.weight;
  write_attachment(v);
  comm_->contribute(v);
  ++next_contribution_;
  leaf_ready_ = false;
}

void Engine::write_attachment(VirtualWorker v) {
  const auto attachment = comm_->attachment(v);
  const auto index = index_of(v);
  const auto step = state_.key.step.value;
  const bool compares =
    phase_ == 0 && job_.job.digest_every && step % job_.job.digest_every == 0 && state_.published();
  auto& header = attachments_.header(attachment);
  header = {step, AttachmentKind::gradient, phase_, compares ? state_.published_digest() : 0, 0};
  auto*& batch = batch_of_[index];
  if (!batch)
    return;
  const auto ids = batch->ids();
  std::memcpy(attachments_.ids(attachment), ids.data(), ids.size_bytes());
  header.count = ids.size();
  if (phase_ + 1 == phases_)
    idle_batches_.push_back(std::exchange(batch, nullptr));
}

void Engine::gradient(VirtualWorker v) {
  const auto& samples = batch(v);
  auto& out = gradients(v);
  if (observer_)
    observer_->before_gradient(state_.model(), state_.key.step, v);
  const auto loss = trainer_.gradient(state_.model(), samples, out);
  if (observer_)
    observer_->after_gradient(state_.model(), state_.key.step, v);
  contribute(v, loss);
}

bool Engine::reduce() {
  if (stage_ != Stage::gradients)
    misuse("reduce() follows the gradients of a begin() that returned true");
  if (next_contribution_ != block_.size())
    misuse(fmt::format("reduce() before all virtual workers contributed: {} of {}", next_contribution_,
                       block_.size()));
  port_.at(FaultPoint::reduce, state_.key.step);
  turn_to(clock_.spent().wait, Activity::reduce);
  auto reduced = comm_->reduce_leaves();
  if (!reduced) {
    if (!comm_->poisoned())
      comm_->abort(reduced.error().context);
    return false; // begin() drains
  }
  turn_to(clock_.work(), Activity::update);
  reduced_ = *reduced;
  if (!compare_digests(reduced_))
    return false;
  facts_.loss = {reduced_.f64[0], reduced_.f64[1]};
  facts_.finite = divide(reduced_);
  facts_view_.point(facts_,
                    {reinterpret_cast<const float*>(mean_->data()), state_.model().gradient_floats()});
  if (!facts_.finite)
    return not_finite();
  stage_ = Stage::reduced;
  return true;
}

bool Engine::compare_digests(const Communicator::Reduced& reduced) {
  const auto first = attachments_.header(reduced.attachments.front()).digest;
  bool equal = true;
  bool known = true;
  for (auto a : reduced.attachments) {
    const auto& header = attachments_.header(a);
    TROUPE_ASSERT(header.kind == AttachmentKind::gradient && header.step == state_.key.step.value &&
                    header.phase == phase_,
                  "members reduce different steps");
    // 0: that member had no room to publish the version, so it says nothing about it.
    equal = equal && (header.digest == first || header.digest == 0 || first == 0);
    known = known && header.digest != 0;
  }
  if (equal) {
    if (known)
      bank_->set_agreed(state_.key);
    return true;
  }
  std::vector<std::uint64_t> by_rank;
  for (const auto& member : assignment_->plan.members)
    by_rank.push_back(attachments_.header(reduced.attachments[member.first_virtual]).digest);
  port_.digest_mismatch(assignment_->plan.generation, state_.key.step, by_rank);
  comm_->abort(fmt::format("digest: members disagree about step {}", state_.key.step.value));
  return false;
}

bool Engine::divide(const Communicator::Reduced& reduced) {
  return divide_all(reduced.f32, static_cast<float>(reduced.f64[1]),
                    reinterpret_cast<float*>(mean_->data())) &&
         reduced.f64[1] > 0 && reduced.f64[1] <= std::numeric_limits<double>::max();
}

bool Engine::not_finite() {
  const auto step = state_.key.step.value;
  if (job_.job.nonfinite == NonFinite::skip) {
    commit_step(true);
    return false;
  }
  if (job_.job.nonfinite == NonFinite::rollback && nonfinite_step_ != step) {
    nonfinite_step_ = step;
    clock_.lose_work();
    ++report_.steps_lost;
    stage_ = Stage::outside;
    if (phase_ > 0) { // earlier phases of the step changed the model
      phase_ = 0;
      const auto version = bank_->find(state_.key);
      const auto loaded =
        version ? state_.load(*bank_, *version, true) : result<void>(fail(Errc::stale, "it is gone"));
      if (!loaded)
        fail_with(FailureClass::corrupt_data,
                  "cannot go back to the last version: " + loaded.error().context);
    }
    return false;
  }
  std::string where = "the weights of all virtual workers sum to " + fmt::format("{}", reduced_.f64[1]);
  const auto& model = state_.model();
  for (const auto* parts : {&model.statistics(), &model.gradients()})
    for (const auto& part : *parts)
      if (!all_finite({reinterpret_cast<const float*>(mean_->data()) + part.offset, part.count}))
        where = fmt::format("first in the mean of '{}'", part.name);
  fail_with(
    FailureClass::corrupt_data,
    fmt::format("values of step {} are not finite, {}{}", step, where,
                job_.job.nonfinite == NonFinite::rollback ? ", also when the step was done again" : ""));
}

const Gradients& Engine::mean() const {
  if (stage_ != Stage::reduced && stage_ != Stage::updating)
    misuse("mean() follows a reduce() that returned true");
  return mean_view_;
}

void Engine::update() {
  begin_update();
  trainer_.update(state_.model(), mean_view_, facts_view_);
  commit();
}

void Engine::begin_update() {
  if (stage_ != Stage::reduced)
    misuse("begin_update() follows a reduce() that returned true");
  stage_ = Stage::updating;
  state_.valid = false; // until commit: a version that may be torn is nobody's source
}

void Engine::commit() {
  if (stage_ != Stage::updating)
    misuse("commit() follows begin_update()");
  const auto effect = port_.at(FaultPoint::update, state_.key.step);
  if (effect.slow > 1)
    slow_down(effect.slow, step_began_);
  if (effect.flip)
    state_.model().entries().front()->tensor.data()[0] ^= std::byte{1};
  if (phases_ > 1)
    keep_virtual();
  if (phase_ + 1 < phases_) {
    ++phase_;
    stage_ = Stage::outside;
    return;
  }
  commit_step(false);
}

void Engine::keep_virtual() {
  const auto bytes = state_.model().virtual_bytes();
  for (std::size_t v = 0; v < reduced_.attachments.size() && bytes > 0; ++v)
    std::memcpy(next_virtual_.data() + v * bytes, attachments_.next_virtual(reduced_.attachments[v]), bytes);
}

void Engine::commit_step(bool skipped) {
  const auto step = state_.key.step;
  auto& ledger = state_.ledger();
  const auto& plan = feeder_.plan();
  const auto micro_batch = plan.micro_batch();
  for (std::size_t v = 0; v < reduced_.attachments.size(); ++v) {
    const auto a = reduced_.attachments[v];
    ledger.add_run(facts_.position + v * micro_batch, attachments_.ids(a));
    if (!skipped)
      for (const auto& part : state_.model().virtual_parts())
        std::memcpy(part.entry->memory.data() + v * part.entry->item_bytes,
                    attachments_.next_virtual(a) + part.offset, part.entry->item_bytes);
  }
  ledger.advance(facts_.position + plan.global_batch());
  StepRow row{
    step, comm_->generation(), facts_.epoch,     plan.global_batch(), facts_.loss.sum, facts_.loss.weight,
    0,    comm_->size(),       skipped ? 1U : 0U};
  state_.add_row(row);
  state_.key = {step.next(), comm_->generation()};
  state_.valid = true;
  stage_ = Stage::outside;
  phase_ = 0;
  boundary_done_ = false;

  const auto now = monotonic_now();
  step_cost_ = step_cost_ == Duration{} ? now - last_commit_ : (step_cost_ * 15 + (now - last_commit_)) / 16;
  last_commit_ = now;
  clock_.turn_to(clock_.spent().snapshot, now);
  clock_.keep_work();
  row.at = wall_clock_ns();
  port_.committed(row, clock_.spent());
  if (first_step_due_) {
    first_step_due_ = false;
    report_.times.first_step = now;
    report(WorkerPhase::running);
  }
  if (facts_view_.members_used() && !mode_said_) {
    mode_said_ = true;
    port_.mode("the trainer uses members(): its result depends on failures");
  }
  if (observer_)
    observer_->committed(state_.model(), state_.key.step);
}

void Engine::slow_down(double factor, Time since) {
  const auto spent = monotonic_now() - since;
  const auto until =
    monotonic_now() + Duration(static_cast<Duration::rep>(static_cast<double>(spent.count()) * (factor - 1)));
  while (!comm_->poisoned()) {
    const auto left = until - monotonic_now();
    if (left <= Duration{})
      return;
    const timespec wait{0, static_cast<long>(std::min<Duration>(left, std::chrono::milliseconds(1)).count())};
    ::ppoll(nullptr, 0, &wait, nullptr); // to be slow is what was asked for
  }
}

} // namespace troupe

// The engine's life: build, joining a generation, restore, verify, drain, finish.
#include "actors/worker/engine.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace troupe {

namespace {

constexpr std::size_t most_words = 2000;

/// What the members of a generation must agree on before they run.
struct Statement {
  std::uint64_t term, generation, step, key_generation, digest, layout;
  friend bool operator==(const Statement&, const Statement&) = default;
};

} // namespace

Engine::Engine(const EngineInputs& in)
    : job_(in.job), trainer_(in.trainer), train_(in.train), evaluation_(in.evaluation), port_(in.port),
      observer_(in.observer), clock_(monotonic_now()),
      feeder_(in.train, data::SampleOrder(data::OrderKind::permuted, in.train.rows(), in.job.job.seed),
              data::BatchPlan(in.train.rows(), in.job.workers.virtual_workers, in.job.workers.micro_batch)),
      state_(in.job, feeder_.plan()),
      total_steps_(feeder_.plan().total_steps(in.job.job.steps, in.job.job.epochs)), last_step_(total_steps_),
      gradients_(state_.model()), mean_view_(state_.model()), facts_view_(in.job.job.seed) {}

Engine::~Engine() = default;

EngineEnd Engine::run() {
  auto kind = FailureClass::startup;
  std::string what;
  try {
    build();
    kind = FailureClass::exception;
    trainer_.run(*this);
    if (ended_)
      return end_;
    what = "Trainer::run returned before begin() said that the job is over";
  } catch (const Failed& failed) {
    end_.failure = failed.failure;
    what = failed.failure.what;
    kind = failed.failure.kind;
  } catch (const std::bad_alloc&) {
    kind = kind == FailureClass::startup ? kind : FailureClass::out_of_memory;
    what = "out of memory (std::bad_alloc)";
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "the trainer threw something that is no std::exception";
  }
  if (end_.failure.kind == FailureClass::none)
    end_.failure = describe(kind, what);
  end_.kind = EngineEnd::Kind::failed;
  end_.step = state_.key.step;
  if (comm_) {
    comm_->abort(fmt::format("rank {} failed in {}: {}", assignment_->rank.value, end_.failure.during,
                             what.substr(0, 200)));
    if (state_.valid && bank_)
      publish(true); // what was committed outlives this process
    drop_generation();
  }
  pin_.reset();
  return end_;
}

void Engine::build() {
  port_.enter(Activity::building, Step{}, monotonic_now());
  JobTrainerConfig config(job_);
  trainer_.build(state_.model(), config);
  const auto phases = trainer_.phases();
  phases_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(phases.size()));
  config.check_all_read();
  if (auto closed = state_.close(phases_); !closed)
    fail_with(FailureClass::startup, closed.error().context);
  const auto& model = state_.model();
  attachments_ = AttachmentLayout(job_.workers.micro_batch, model.virtual_bytes(), evaluation_ != nullptr);
  mean_ = std::make_unique<StateMemory>(model.leaf_floats() * sizeof(float));
  mean_view_.point(reinterpret_cast<float*>(mean_->data()), nullptr);
  next_virtual_.resize(phases_ > 1 ? model.virtual_bytes() * model.virtual_workers() : 0);
  if (evaluation_) {
    const auto rows =
      std::max<std::uint64_t>(1, data::block(evaluation_->rows(), model.virtual_workers(), 0).count);
    evaluation_batch_.emplace(*evaluation_, job_.job.seed, std::min(rows, evaluation_chunk));
  }
  StateLayout layout;
  layout.hash = state_.layout_hash();
  layout.bank = state_.layout();
  layout.leaf_floats = model.leaf_floats();
  layout.leaf_doubles = 2;
  layout.attachment_bytes = attachments_.bytes();
  layout.virtual_workers = model.virtual_workers();
  auto bank = port_.built(layout);
  if (!bank)
    fail_with(FailureClass::startup, "no memory for versions of the state: " + bank.error().context);
  bank_ = std::move(*bank);
  if (bank_->list().empty() && publish(true))
    bank_->set_agreed(state_.key);
  report_.layout = layout.hash;
  if (observer_)
    observer_->built(model);
  report(WorkerPhase::ready);
}

// --- generations ---

bool Engine::obtain() {
  turn_to(clock_.spent().idle, Activity::idle);
  auto order = port_.next();
  switch (order.kind) {
  case Order::Kind::form:
    drop_generation();
    assignment_ = std::move(order.assignment);
    comm_ = assignment_->communicator.get();
    return true;
  case Order::Kind::drain:
    report_.generation = order.generation;
    report_.cause = order.cause;
    drop_generation();
    report(WorkerPhase::drained);
    return true;
  case Order::Kind::finish:
    end_.kind = report_.phase == WorkerPhase::finished ? EngineEnd::Kind::finished : EngineEnd::Kind::stopped;
    break;
  case Order::Kind::stop: end_.kind = EngineEnd::Kind::stopped; break;
  }
  end_.cause = order.cause;
  end_.step = state_.key.step;
  ended_ = true;
  drop_generation();
  pin_.reset();
  return false;
}

bool Engine::enter() {
  const auto& plan = assignment_->plan;
  report_.generation = plan.generation;
  report_.cause.clear();
  report_.times.ordered = assignment_->ordered;
  report_.times.connected = report_.times.restored = report_.times.first_step = Time{};
  turn_to(clock_.spent().connect, Activity::connecting);
  report(WorkerPhase::connecting);
  const auto me = std::ranges::find(plan.members, assignment_->rank, &Member::rank);
  TROUPE_ASSERT(me != plan.members.end(), "a plan without this worker");
  const auto here = [me](const Member& m) { return m.worker.node == me->worker.node; };
  members_here_ = static_cast<std::uint64_t>(std::ranges::count_if(plan.members, here));
  place_here_ = static_cast<std::uint64_t>(std::count_if(plan.members.begin(), me, here));
  block_.clear();
  for (std::uint32_t i = 0; i < me->virtual_count; ++i)
    block_.push_back(VirtualWorker{me->first_virtual + i});
  give_back_batches();
  batch_of_.assign(block_.size(), nullptr);
  stage_ = Stage::outside;
  phase_ = 0;
  boundary_done_ = false;
  nonfinite_step_ = ~std::uint64_t{0};
  last_step_ = total_steps_;
  if (auto met = comm_->barrier(); !met) {
    if (!comm_->poisoned())
      comm_->abort(met.error().context);
    return false;
  }
  turn_to(clock_.spent().restore, Activity::restoring);
  report_.times.connected = monotonic_now();
  report(WorkerPhase::restoring);
  if (!restore() || !verify())
    return false;
  report_.times.restored = monotonic_now();
  first_step_due_ = true;
  last_commit_ = report_.times.restored;
  report(WorkerPhase::running);
  return true;
}

bool Engine::restore() {
  const auto& plan = assignment_->plan;
  bank_->void_after(plan.resume.step, plan.generation);
  const bool as_built = plan.resume == PieceKey{} && assignment_->sources.empty();
  const bool init_from = plan.resume == PieceKey{} && !as_built;
  if (state_.valid && state_.key == plan.resume && !init_from) {
    report_.restore_source = "local";
    port_.at(FaultPoint::restore, state_.key.step);
    if (!publish(true))
      comm_->abort("no room to publish the state");
  } else if (!(as_built ? load_as_built() : load_resume_point())) {
    return false;
  }
  facts_.loss = {};
  if (assignment_->rank.value == 0)
    port_.rows_restored(state_.rows());
  return !comm_->poisoned();
}

bool Engine::load_as_built() {
  port_.at(FaultPoint::restore, Step{});
  const auto version = bank_->find(PieceKey{});
  auto loaded = version ? state_.load(*bank_, *version, true)
                        : result<void>(fail(Errc::stale, "this process no longer has the state as built"));
  if (!loaded)
    fail_with(FailureClass::communicator, "cannot go back to step 0: " + loaded.error().context);
  report_.restore_source = "local";
  return true;
}

bool Engine::load_resume_point() {
  const auto& plan = assignment_->plan;
  const auto runtime_pieces =
    plan.resume != PieceKey{}; // a job that starts from a checkpoint starts its own counts
  std::string tried;
  const auto take = [&](const SlotBank* from, const std::string& name) {
    auto staged = from ? checkpoint::copy_version(*from, plan.resume, *bank_)
                       : result<checkpoint::VersionInfo>(fail(Errc::stale, "gone"));
    if (!from)
      if (auto own = bank_->find(plan.resume))
        staged = *own;
    if (!staged && staged.error().code == Errc::exhausted && pin_) {
      pin_.reset();
      staged = checkpoint::copy_version(*from, plan.resume, *bank_);
    }
    port_.at(FaultPoint::restore, plan.resume.step);
    auto loaded = staged ? state_.load(*bank_, *staged, runtime_pieces)
                         : result<void>(tl::make_unexpected(staged.error()));
    if (loaded) {
      report_.restore_source = name;
      return true;
    }
    log(LogLevel::warn, "restore.source_failed", "source={} why={}", name, loaded.error().context);
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", name, loaded.error().context);
    if (loaded.error().code == Errc::corrupt)
      bank_->void_version(plan.resume);
    return false;
  };
  if (bank_->find(plan.resume) && runtime_pieces && take(nullptr, "local"))
    return true;
  for (const auto& source : assignment_->sources) {
    if (comm_->poisoned())
      return false;
    if (take(source.bank.get(), source.name))
      return true;
  }
  comm_->abort(fmt::format("rank {} cannot restore step {}: {}", assignment_->rank.value,
                           plan.resume.step.value, tried.empty() ? "no source" : tried));
  return false;
}

bool Engine::verify() {
  const auto& plan = assignment_->plan;
  const Statement mine{assignment_->term.value,     plan.generation.value,     state_.key.step.value,
                       state_.key.generation.value, state_.published_digest(), state_.layout_hash()};
  std::vector<Statement> all(comm_->size());
  if (!comm_->all_gather(&mine, all.data(), sizeof mine))
    return false;
  if (std::ranges::all_of(all, [&](const Statement& s) { return s == all.front(); })) {
    bank_->set_agreed(state_.key);
    return true;
  }
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].layout != all.front().layout)
      fail_with(FailureClass::startup,
                fmt::format("rank {} registered other state in build() than rank 0: the names, "
                            "shapes and types of all workers must be equal",
                            r));
  std::vector<std::uint64_t> digests;
  for (const auto& s : all)
    digests.push_back(s.digest);
  port_.digest_mismatch(plan.generation, state_.key.step, digests);
  comm_->abort(
    fmt::format("digest: members disagree about step {} after the restore", state_.key.step.value));
  return false;
}

void Engine::drain() {
  const auto aborted = monotonic_now();
  const auto poison = comm_->poison();
  clock_.lose_work();
  turn_to(clock_.spent().drain, Activity::draining);
  auto& times = report_.times;
  times.detected = poison.at == Time{} ? aborted : std::min(poison.at, aborted);
  times.aborted = aborted;
  port_.at(FaultPoint::drain, state_.key.step);
  comm_->drop_leaves();
  if (stage_ != Stage::outside || phase_ > 0)
    ++report_.steps_lost;
  stage_ = Stage::outside;
  phase_ = 0;
  if (state_.valid)
    publish(true);
  report_.cause = poison.cause;
  drop_generation();
  times.drained = monotonic_now();
  report(WorkerPhase::drained);
}

bool Engine::finish() {
  turn_to(clock_.spent().idle, Activity::idle);
  end_.model_digest = report_.model_digest = state_.published() ? state_.published_digest() : state_.digest();
  report(WorkerPhase::finished);
  return obtain();
}

void Engine::drop_generation() {
  comm_ = nullptr;
  reduced_ = {};
  assignment_.reset();
}

// --- statements ---

std::vector<Holding> Engine::holdings() const {
  std::vector<Holding> all;
  if (bank_)
    for (const auto& version : bank_->list())
      all.push_back({0, version.key, Tier::snapshot, version.digest, version.agreed});
  return all;
}

void Engine::report(WorkerPhase phase) {
  report_.phase = phase;
  report_.step = state_.key.step;
  if (phase == WorkerPhase::ready || phase == WorkerPhase::drained || phase == WorkerPhase::finished)
    report_.holdings = holdings();
  port_.report(report_);
}

Failure Engine::describe(FailureClass kind, std::string what) const {
  Failure failure;
  failure.kind = kind;
  failure.what = what.substr(0, most_words);
  failure.during = kind == FailureClass::startup ? "build" : std::string(to_string(activity_));
  failure.step = state_.key.step;
  return failure;
}

void Engine::fail_with(FailureClass kind, std::string what) const {
  throw Failed{describe(kind, std::move(what))};
}

} // namespace troupe

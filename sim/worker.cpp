// The engine's model. See Worker in sim/node.hpp.
#include "sim/world.hpp"

#include <algorithm>

namespace troupe::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// What the model's bits are after `step` updates; does not depend on who computed them.
std::uint64_t digest_of(Step step) { return Random(7, "model", {step.value}).next_u64() | 1; }

} // namespace

Worker::Worker(World& world, Node& node, WorkerKey k) : key(k), world_(world), node_(node), machine_(k) {
  fact.slot = k.slot;
  fact.incarnation = k.incarnation;
}

/// Goes on after a time, unless dead; later if stopped.
void Worker::after(Duration most, std::function<void()> what) {
  world_.heap.after(microseconds(10) + world_.up_to(most), [self = shared_from_this(), what = std::move(what)] {
    if (!self->alive)
      return;
    if (self->stopped)
      self->parked_.push_back(what);
    else
      what();
  });
}

void Worker::stop_for(Duration lasts) {
  stopped = true;
  world_.heap.after(lasts, [self = shared_from_this()] {
    self->stopped = false;
    for (auto& what : std::exchange(self->parked_, {}))
      self->after(Duration{}, std::move(what));
  });
}

void Worker::enter(WorkerPhase phase) {
  fact.phase = phase;
  ++progress;
  world_.entered(*this, phase);
  if (alive)
    obey(EngineSaid{fact});
}

void Worker::start() {
  world_.entered(*this, WorkerPhase::starting);
  after(world_.scenario.build, [this] {
    live_ = {{}, 0, digest_of(Step{}), 0, false};
    fact.layout = 77;
    enter(WorkerPhase::ready);
  });
}

void Worker::obey(const WorkerMachine::Event& event) {
  if (!alive)
    return;
  if (stopped) {
    parked_.push_back([this, event] { obey(event); });
    return;
  }
  for (const WorkerMachine::Action& action : machine_.on(event, world_.heap.now())) {
    if (const auto* report = std::get_if<Report>(&action))
      node_.told(*this, report->fact);
    else if (const auto* plan = std::get_if<Join>(&action))
      after(microseconds(200), [this, p = *plan] { join(p.plan, p.rank); });
    else if (const auto* wish = std::get_if<Abort>(&action))
      abort(wish->generation, wish->reason);
    else
      after(microseconds(100), [this] { leave(); });
  }
}

void Worker::leave() {
  alive = false;
  node_.ended(*this, {});
}

void Worker::die(Failure failure) {
  if (!alive)
    return;
  alive = false;
  failure.step = fact.step;
  world_.line("worker", "died " + to_text(key) + " " + to_text(failure));
  if (segment) // the life-lock
    world_.heap.after(microseconds(20) + world_.up_to(microseconds(300)),
                      [this, self = shared_from_this(), s = segment] {
                        world_.poison(*s, static_cast<std::int32_t>(rank.value), "a life-lock was released");
                      });
  node_.ended(*this, failure);
}

void Worker::join(const Plan& plan, Rank as) {
  segment = world_.segment(plan);
  rank = as;
  fact.generation = plan.generation;
  fact.dead_rank = -1;
  fact.cause.clear();
  enter(WorkerPhase::connecting);
  if (alive)
    after(milliseconds(2), [this] { wait_all([this] { restore(); }); });
}

void Worker::wait_all(std::function<void()> go_on) {
  if (segment->poisoned) {
    aborted();
    return;
  }
  waiting = true;
  segment->waiting.emplace_back(shared_from_this(), std::move(go_on));
  if (segment->waiting.size() < segment->plan.members.size())
    return;
  for (auto& [worker, what] : std::exchange(segment->waiting, {}))
    worker->after(microseconds(100), [w = worker.get(), what = std::move(what)] {
      w->waiting = false;
      ++w->progress;
      // Whoever wakes after the poison may have seen either.
      if (w->segment->poisoned && w->world_.random.below(2) == 0)
        w->aborted();
      else
        what();
    });
}

void Worker::restore() {
  enter(WorkerPhase::restoring);
  if (!alive)
    return;
  after(world_.scenario.restore, [this] {
    const Plan& plan = segment->plan;
    Version found{{}, 0, digest_of(Step{}), 0, false};
    bool ok = plan.resume == PieceKey{};
    for (const Source& source : plan.sources)
      if (const Version* v = ok ? nullptr : world_.find_version(source, plan.resume)) {
        found = *v;
        ok = true;
      }
    if (!ok) {
      world_.poison(*segment, -1, "no source has the resume point");
      aborted();
      return;
    }
    live_ = found;
    publish(found, false);
    segment->restored.push_back(found);
    wait_all([this] { verify(); });
  });
}

void Worker::verify() {
  for (const Version& v : segment->restored)
    if (v.key != live_.key || v.digest != live_.digest || v.samples != live_.samples)
      world_.violated("members of a generation restored different versions");
  publish(live_, true);
  fact.step = live_.key.step;
  enter(WorkerPhase::running);
  if (alive)
    begin();
}

void Worker::begin() {
  if (segment->poisoned) {
    aborted();
    return;
  }
  if (live_.key.step == world_.scenario.settings.total_steps) {
    fact.model_digest = live_.digest;
    segment = nullptr;
    enter(WorkerPhase::finished);
    return;
  }
  // Injected faults: ask, and stand still until answered.
  for (const FaultOrder& f : node_.armed.faults)
    if (f.rank == rank.value && f.step == live_.key.step && !f.fired &&
        std::find(passed_.begin(), passed_.end(), f.id) == passed_.end()) {
      asking_ = f.id + 1;
      const std::uint64_t number = ++asked_;
      auto ask = std::make_shared<std::function<void()>>();
      *ask = [this, id = f.id, number, weak = std::weak_ptr(ask)] {
        if (asking_ == 0 || asked_ != number)
          return;
        world_.to_master(node_, FaultReached{id, key, live_.key.step});
        if (auto again = weak.lock())
          after(milliseconds(500), [again] { (*again)(); });
      };
      (*ask)();
      return;
    }
  compute();
}

void Worker::faulted(const FireFault& verdict) {
  if (!alive || asking_ != verdict.id + 1)
    return;
  asking_ = 0;
  passed_.push_back(verdict.id);
  if (verdict.fire)
    die({FailureClass::signal, 9, 0, verdict.reason, "gradient", {}, {}});
  else if (segment)
    compute();
}

void Worker::compute() {
  if (raising) {
    raising = false;
    die({FailureClass::exception, 0, 1, "the trainer threw", "gradient", {}, {}});
    return;
  }
  if (hung)
    return;
  after(world_.scenario.compute, [this] { reduce(); });
}

void Worker::reduce() {
  ++progress;
  if (machine_.state().promised >= segment->plan.generation)
    world_.violated("a worker contributes to a generation it promised to leave");
  if (!segment->poisoned && segment->waiting.size() + 1 == segment->plan.members.size())
    world_.completed(segment->plan.generation);
  wait_all([this] { after(milliseconds(1), [this] { apply(); }); });
}

bool Worker::out_of(Generation generation) const {
  return !alive || machine_.state().promised >= generation;
}

void Worker::apply() {
  const Step next = live_.key.step.next();
  const std::uint64_t taint = live_.taint ^ (flipping ? 2U : 0U);
  flipping = false;
  live_ = {{next, segment->plan.generation}, live_.samples + 1, digest_of(next) ^ taint, taint, false};
  fact.step = live_.key.step;
  ++progress;
  world_.committed(*this, live_);
  publish(live_, false);
  if (live_.key.step.value % world_.scenario.digest_every == 0 && !segment->poisoned) {
    segment->compared.push_back(live_);
    wait_all([this] { compare(); });
  } else {
    begin();
  }
}

void Worker::compare() {
  const bool same = std::all_of(segment->compared.begin(), segment->compared.end(),
                                [&](const Version& v) { return v.key != live_.key || v.digest == live_.digest; });
  if (!same) {
    world_.mismatched();
    world_.to_master(node_, DigestMismatch{segment->plan.generation, live_.key.step, {}});
    world_.poison(*segment, -1, "digest");
    aborted();
    return;
  }
  publish(live_, true);
  begin();
}

/// Five slots: the newest two and the last agreed one are never overwritten. Newer ones than that are void.
void Worker::publish(Version version, bool agreed) {
  version.agreed = agreed;
  auto& memory = node_.slots[key.slot.value].memory;
  std::erase_if(memory, [&](const Version& v) { return v.key.step >= version.key.step; });
  memory.push_back(version);
  if (memory.size() <= 5)
    return;
  std::size_t last_agreed = memory.size();
  for (std::size_t i = 0; i < memory.size(); ++i)
    if (memory[i].agreed)
      last_agreed = i;
  memory.erase(memory.begin() + (last_agreed == 0 ? 1 : 0));
}

void Worker::abort(Generation generation, const std::string& why) {
  if (segment && segment->plan.generation == generation)
    world_.poison(*segment, -1, why);
}

void Worker::wake_poisoned() {
  after(microseconds(100), [this] { aborted(); });
}

/// Back at the boundary: says so once, with what its memory holds.
void Worker::aborted() {
  if (!segment)
    return;
  waiting = false;
  asking_ = 0;
  after(microseconds(300), [this, s = segment] {
    if (segment != s)
      return;
    segment = nullptr;
    fact.generation = s->plan.generation;
    fact.dead_rank = s->dead_rank;
    fact.cause = s->cause;
    enter(WorkerPhase::drained);
  });
}

} // namespace troupe::sim

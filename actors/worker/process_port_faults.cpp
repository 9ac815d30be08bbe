#include "actors/worker/process_port.hpp"

#include "checkpoint/slot_bank.hpp"

#include <csignal>
#include <unistd.h>

namespace troupe {

namespace {

/// The kernel's word for a point of the engine; a fault without a phase strikes at the start of `gradient`.
bool strikes_at(FaultPhase phase, FaultPoint point) {
  return to_string(phase) == to_string(point) || (phase == FaultPhase::any && point == FaultPoint::gradient);
}

/// What the pulse shows of a process that ends at this point.
Activity activity_at(FaultPoint point) {
  switch (point) {
  case FaultPoint::gradient: return Activity::gradient;
  case FaultPoint::reduce: return Activity::reduce;
  case FaultPoint::update: return Activity::update;
  case FaultPoint::snapshot: return Activity::snapshot;
  case FaultPoint::drain: return Activity::draining;
  case FaultPoint::restore: return Activity::restoring;
  }
  return Activity::idle;
}

/// In drain, restore and snapshot a fault means the next one from its step on.
bool from_step_on(FaultPoint point) {
  return point == FaultPoint::drain || point == FaultPoint::restore || point == FaultPoint::snapshot;
}

} // namespace

void ProcessPort::answer(const FireFault& verdict) {
  if (verdict.worker != settings_.me)
    return;
  {
    std::lock_guard lock(mutex_);
    fired_[verdict.id] = verdict.fire;
  }
  changed_.notify_all();
}

const FaultOrder* ProcessPort::match(FaultPoint point, Step step) const {
  for (const auto& fault : faults_) {
    if (fault.target != FaultTarget::worker || fault.rank != rank_.value || !strikes_at(fault.phase, point))
      continue;
    if (fault.kind == FaultKind::slow
          ? step >= fault.step && step <= fault.until
          : !struck_.contains(fault.id) && (from_step_on(point) ? step >= fault.step : step == fault.step))
      return &fault;
  }
  return nullptr;
}

Effect ProcessPort::at(FaultPoint point, Step step) {
  Effect effect;
  const auto version = fault_version_.load(std::memory_order_acquire);
  if (version != seen_faults_) {
    std::lock_guard lock(mutex_);
    faults_ = order_.faults.faults;
    seen_faults_ = version;
  }
  if (faults_.empty())
    return effect;
  for (const auto& fault : faults_)
    if (fault.target != FaultTarget::worker && fault.rank == rank_.value && step >= fault.step &&
        strikes_at(fault.phase, point))
      announce(fault, step);
  while (const auto* fault = match(point, step)) {
    bank_->pulse().phase.store(static_cast<std::uint32_t>(activity_at(point)), std::memory_order_relaxed);
    if (fault->kind != FaultKind::slow) {
      strike(*fault, step, effect);
    } else {
      if (fault->fired || struck_.contains(fault->id) || strike(*fault, step, effect))
        effect.slow = fault->percent / 100.0;
      break;
    }
  }
  return effect;
}

// Tells the master, at this step and every later one until it says that it knows: it may just be away.
void ProcessPort::announce(const FaultOrder& fault, Step step) {
  constexpr auto again = std::chrono::milliseconds(100);
  const auto now = monotonic_now();
  auto [last, first] = announced_.try_emplace(fault.id, now);
  if (!first && now - last->second < again)
    return;
  last->second = now;
  {
    std::lock_guard lock(mutex_);
    if (fired_.contains(fault.id))
      return;
  }
  sink_.fault_reached({fault.id, settings_.me, step});
}

// Asks the master to journal the fault, then lets it happen. Without an answer it does not happen.
bool ProcessPort::strike(const FaultOrder& fault, Step step, Effect& effect) {
  struck_.insert(fault.id);
  auto answered = [&] { return leave_ || fired_.contains(fault.id); };
  bool fire = false;
  for (auto left = settings_.fault_answer; left > Duration{}; left -= settings_.fault_retry) {
    sink_.fault_reached({fault.id, settings_.me, step});
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, settings_.fault_retry, answered)) {
      fire = fired_.contains(fault.id) && fired_[fault.id];
      break;
    }
  }
  if (!fire)
    return false;
  auto& killed = bank_->pulse().killed_ns;
  switch (fault.kind) {
  case FaultKind::kill:
    killed.store(monotonic_now().time_since_epoch().count(), std::memory_order_release);
    ::kill(::getpid(), SIGKILL);
    for (;;)
      ::pause();
  case FaultKind::stop:
    killed.store(monotonic_now().time_since_epoch().count(), std::memory_order_release);
    ::raise(SIGSTOP);
    killed.store(0, std::memory_order_release);
    break;
  case FaultKind::nan: effect.nan = true; break;
  case FaultKind::flip: effect.flip = true; break;
  default: break;
  }
  return true;
}

} // namespace troupe

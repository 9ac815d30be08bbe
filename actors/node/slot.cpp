#include "actors/node/slot.hpp"

#include "actors/kernel/membership.hpp"
#include "actors/worker/port.hpp"

#include <csignal>
#include <fmt/format.h>
#include <fstream>

namespace troupe {

namespace {

bool traced(std::int64_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("TracerPid:"))
      return line.find_first_of("123456789") != std::string::npos;
  return false;
}

Activity activity_of(const checkpoint::BankPulse& pulse) {
  const auto raw = pulse.phase.load(std::memory_order_relaxed);
  return raw <= static_cast<std::uint32_t>(Activity::draining) ? static_cast<Activity>(raw) : Activity::idle;
}

bool pulse_is_of(const Slot& slot) {
  return slot.bank &&
         slot.bank->pulse().incarnation.load(std::memory_order_relaxed) == slot.fact.incarnation.value;
}

} // namespace

std::vector<Holding> holdings_of(const checkpoint::SlotBank& bank) {
  std::vector<Holding> holdings;
  for (const auto& version : bank.list()) {
    Holding h;
    h.key = version.key;
    h.tier = Tier::snapshot;
    h.digest = version.digest;
    h.agreed = version.agreed;
    holdings.push_back(h);
  }
  return holdings;
}

Failure failure_of(const Slot& slot, ExitStatus status) {
  Failure failure = slot.fact.failure;
  failure.exit_code = status.code;
  failure.signal = status.signal;
  if (pulse_is_of(slot)) {
    const auto& pulse = slot.bank->pulse();
    if (failure.kind == FailureClass::none) {
      failure.step = Step{pulse.step.load(std::memory_order_relaxed)};
      failure.during = std::string(to_string(activity_of(pulse)));
    }
    failure.killed_at = Time{Duration{pulse.killed_ns.load(std::memory_order_acquire)}};
  }
  if (slot.killed_at != Time{})
    failure.killed_at = slot.killed_at;
  if (failure.kind != FailureClass::none)
    return failure;
  if (status.signal != 0) {
    failure.kind = FailureClass::signal;
  } else if (status.code != 0) {
    failure.kind = slot.fact.phase == WorkerPhase::starting ? FailureClass::startup : FailureClass::exception;
    failure.what = fmt::format("ended with exit status {}", status.code);
  } else if (slot.stop_cause.empty() && slot.fact.phase != WorkerPhase::finished) {
    failure.kind = FailureClass::exception;
    failure.what = "ended by itself before the job was done (exit status 0)";
  }
  return failure;
}

bool heard_of(const Slot& slot, Duration heartbeat, const LimitsSettings& limits, Time now, Heard& out) {
  if (!slot.runs())
    return false;
  const bool fresh = now - slot.heard <= heartbeat + heartbeat / 2;
  out.slot = slot.fact.slot;
  out.incarnation = slot.fact.incarnation;
  out.generation = slot.fact.generation;
  out.step = slot.fact.step;
  if (!fresh) {
    out.debugged = traced(slot.process->pid);
    return out.debugged;
  }
  auto activity = Activity::building;
  if (pulse_is_of(slot)) {
    const auto& pulse = slot.bank->pulse();
    out.progress = pulse.progress.load(std::memory_order_relaxed);
    out.step = Step{pulse.step.load(std::memory_order_relaxed)};
    out.waiting = pulse.waiting.load(std::memory_order_relaxed) != 0;
    activity = activity_of(pulse);
  }
  if (activity == Activity::building)
    out.allowance = limits.build;
  else if (activity == Activity::restoring || activity == Activity::evaluation)
    out.allowance = limits.form;
  else if (activity == Activity::connecting)
    out.allowance = limits.form;
  else if (activity == Activity::idle)
    out.allowance = limits.below_min;
  return true;
}

} // namespace troupe

#include "actors/kernel/faults.hpp"

#include "troupe/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

std::vector<FaultSpec> numbered(std::vector<FaultSpec> faults) {
  std::vector<std::uint32_t> taken{~0U}; // `troupe kill` says it
  for (FaultSpec& fault : faults) {
    std::uint32_t id = 2'166'136'261U; // FNV-1a
    for (const char c : fault.text)
      id = (id ^ static_cast<unsigned char>(c)) * 16'777'619U;
    while (std::find(taken.begin(), taken.end(), id) != taken.end())
      ++id; // the same sentence twice
    taken.push_back(id);
    fault.id = id;
  }
  return faults;
}

FaultsKernel::FaultsKernel(KernelSettings settings) : settings_(std::move(settings)) {
  settings_.faults = numbered(std::move(settings_.faults));
  for (const FaultSpec& spec : settings_.faults)
    state_.faults.push_back({spec, 0, {}, {}, {}});
}

struct FaultsKernel::Turn {
  const KernelSettings& settings;
  State& s;
  Time now;
  std::vector<Action> out;

  template <class A>
  void say(A action) {
    out.push_back(std::move(action));
  }
  static bool is_random(const Fault& f) { return f.spec.every > Duration::zero(); }

  void take(const Started& event) {
    if (event.term != s.term)
      adopt();
    s.ended = s.ended && event.term == s.term;
    s.term = event.term;
    for (Fault& f : s.faults)
      f.next = {};
    state_armed();
    wake();
  }
  /// The list of this term, with what is known of those that were on the one before.
  void adopt() {
    const std::vector<Fault> before = std::exchange(s.faults, {});
    for (const FaultSpec& spec : settings.faults) {
      const auto known = std::find_if(before.begin(), before.end(), [&](const Fault& f) {
        return f.spec.id == spec.id && f.spec.text == spec.text;
      });
      Fault fault = known != before.end() ? *known : Fault{};
      fault.spec = spec;
      s.faults.push_back(std::move(fault));
    }
  }
  void take(const PeerRestarted&) {
    state_armed();
    wake();
  }
  void take(const Formed& event) {
    if (event.generation < s.generation)
      return;
    s.generation = event.generation;
    s.members = event.members;
    wake();
  }
  void take(const Tick& tick) {
    if (s.ended || s.members.empty())
      return;
    bool drawn = false;
    for (Fault& f : s.faults) {
      if (!is_random(f))
        continue;
      Random random(tick.random, "poisson", {f.spec.id, f.fired});
      if (f.next != Time{} && now >= f.next) {
        const WorkerKey victim = s.members[random.below(s.members.size())];
        ++f.fired;
        f.by = victim;
        say(KillWorker{s.term, f.spec.id, victim, f.spec.text});
        f.next = {};
      }
      if (f.next == Time{}) {
        const double gap = static_cast<double>(f.spec.every.count()) * random.exponential();
        f.next = now + Duration{static_cast<std::int64_t>(std::min(gap, 1e18)) + 1};
        drawn = true;
      }
    }
    if (drawn)
      state_armed(); // so that the draw is journaled
    wake();
  }
  void take(const FaultReached& event) {
    auto it = std::find_if(s.faults.begin(), s.faults.end(), [&](const Fault& f) { return f.spec.id == event.id; });
    FireFault answer{s.term, event.id, event.worker, false, {}};
    if (it == s.faults.end() || is_random(*it) || s.ended) {
      answer.reason = "no such fault is armed";
    } else if (it->fired == 0) {
      it->fired = 1;
      it->by = event.worker;
      it->at = event.step;
      answer.reason = it->spec.text;
      if (it->spec.target == FaultTarget::master) {
        say(KillMaster{event.id, it->spec.text});
        state_armed();
      } else {
        answer.fire = true;
      }
    } else {
      answer.fire = it->spec.target == FaultTarget::worker && it->by == event.worker;
      answer.reason = answer.fire ? it->spec.text : "it fired already";
    }
    const bool first = answer.fire && it->at == event.step;
    say(answer);
    if (first)
      state_armed();
  }
  void take(const KillRequest& event) {
    if (event.rank < s.members.size())
      say(KillWorker{s.term, ~0U, s.members[event.rank], event.reason.empty() ? "asked for" : event.reason});
  }
  void take(const JobFinished&) { s.ended = true; }
  void take(const StopAll&) { s.ended = true; }
  void take(const FailJob&) { s.ended = true; }

  void state_armed() {
    ArmedFaults armed{s.term, ++s.sequence, {}};
    for (const Fault& f : s.faults) {
      const FaultSpec& spec = f.spec;
      const bool lasting = spec.kind == FaultKind::slow;
      const bool told = spec.target == FaultTarget::worker || spec.target == FaultTarget::master;
      if (is_random(f) || !told || (f.fired > 0 && !lasting))
        continue;
      armed.faults.push_back({spec.id, spec.kind, spec.index, spec.step, spec.until, spec.phase, spec.percent,
                              spec.lasts, f.fired > 0, spec.target});
    }
    say(std::move(armed));
  }
  void wake() {
    if (s.ended || s.members.empty())
      return;
    Time next = Time::max();
    for (const Fault& f : s.faults)
      if (is_random(f))
        next = std::min(next, f.next == Time{} ? now : f.next);
    if (next != Time::max())
      say(WakeAt{next, "the next random fault"});
  }
};

std::vector<FaultsKernel::Action> FaultsKernel::on(const Event& event, Time now) {
  Turn turn{settings_, state_, now, {}};
  std::visit([&](const auto& e) { turn.take(e); }, event);
  return std::move(turn.out);
}

std::vector<std::string> never_fired(const FaultsKernel::State& state) {
  std::vector<std::string> texts;
  for (const FaultsKernel::Fault& f : state.faults)
    if (f.fired == 0 && f.spec.every == Duration::zero())
      texts.push_back(f.spec.text);
  return texts;
}

} // namespace troupe

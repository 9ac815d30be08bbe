#include "actors/kernel/scaling.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

struct Turn {
  const KernelSettings& settings;
  ScalingKernel::State& s;
  std::vector<ScalingKernel::Action> out;

  void take(const Started&) {
    s.ended = false;
    if (s.target == 0) {
      s.target = settings.start;
      s.reason = "workers.start";
    }
    restate();
  }
  void take(const PeerRestarted&) { restate(); }
  void restate() {
    if (!s.ended)
      out.push_back(ScaleTarget{s.target, s.reason});
  }
  void take(const ScaleRequest& event) {
    const std::string refusal = objection(event.count);
    if (refusal.empty()) {
      s.target = event.count;
      s.reason = event.reason.empty() ? "asked for" : event.reason;
      restate();
    }
    out.push_back(ScaleAnswer{event.request, refusal.empty(), s.target,
                              refusal.empty() ? fmt::format("{} workers are wanted", s.target) : refusal});
  }
  std::string objection(std::uint32_t count) const {
    if (s.ended)
      return "the job is ending";
    if (count < settings.min)
      return fmt::format("{} workers are fewer than workers.min = {}", count, settings.min);
    if (count > settings.virtual_workers)
      return fmt::format("{} workers are more than workers.virtual = {}: each needs at least one virtual worker", count,
                         settings.virtual_workers);
    if (count > settings.max)
      return fmt::format("{} workers are more than workers.max = {}", count, settings.max);
    return {};
  }
  void take(const JobFinished&) { s.ended = true; }
  void take(const StopAll&) { s.ended = true; }
  void take(const FailJob&) { s.ended = true; }
};

} // namespace

std::vector<ScalingKernel::Action> ScalingKernel::on(const Event& event, Time) {
  Turn turn{settings_, state_, {}};
  std::visit([&](const auto& e) { turn.take(e); }, event);
  return std::move(turn.out);
}

} // namespace troupe

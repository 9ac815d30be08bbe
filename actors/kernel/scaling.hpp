// The wanted number of workers: checks wishes against min, max and V.
#pragma once

#include "actors/kernel/membership.hpp"

namespace troupe {

/// `troupe scale N`; `request` is the asker's number, given back in the answer.
struct ScaleRequest {
  static constexpr std::string_view tag = "scale_request";
  std::uint64_t request = 0;
  std::uint32_t count = 0;
  std::string reason;
  friend bool operator==(const ScaleRequest&, const ScaleRequest&) = default;
  TROUPE_FIELDS(request, count, reason)
};

struct ScaleAnswer {
  static constexpr std::string_view tag = "scale_answer";
  static constexpr bool external = true;
  std::uint64_t request = 0;
  bool ok = false;
  std::uint32_t target = 0;
  std::string reason;
  friend bool operator==(const ScaleAnswer&, const ScaleAnswer&) = default;
  TROUPE_FIELDS(request, ok, target, reason)
};

class ScalingKernel {
public:
  static constexpr std::string_view name = "scaling";
  using Event = std::variant<Started, PeerRestarted, ScaleRequest, JobFinished, StopAll, FailJob>;
  using Action = std::variant<ScaleTarget, ScaleAnswer>;

  struct State {
    std::uint32_t target = 0;
    std::string reason;
    bool ended = false;
    friend bool operator==(const State&, const State&) = default;
    TROUPE_FIELDS(target, reason, ended)
  };

  explicit ScalingKernel(KernelSettings settings) : settings_(std::move(settings)) {}
  std::vector<Action> on(const Event& event, Time now);
  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

private:
  KernelSettings settings_;
  State state_;
};

} // namespace troupe

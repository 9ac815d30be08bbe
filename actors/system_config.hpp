// The CAF configuration of every process of a job. Idle scheduler threads wait on a condition variable: CAF's
// default policy polls some 7,000 times a second on each, which costs a trainer on the same cores a tenth of
// its speed.
#pragma once

#include "actors/message.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>

namespace troupe {

struct SystemConfig : caf::actor_system_config {
  /// `threads`: of the scheduler; actors that block have one of their own.
  explicit SystemConfig(std::size_t threads) {
    load<caf::io::middleman>();
    register_types(*this);
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", threads);
    set("middleman.workers", std::size_t{0});
  }
};

} // namespace troupe

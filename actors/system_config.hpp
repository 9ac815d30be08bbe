// The CAF configuration of every process of a job. Idle scheduler threads wait on a condition variable: CAF's
// default policy polls some 7,000 times a second on each, which costs a trainer on the same cores a tenth of
// its speed.
#pragma once

#include "actors/message.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>
#include <caf/thread_hook.hpp>

#include <sched.h>

namespace troupe {

/// Actors give way to trainers on the same processors: a batch thread interrupts nobody, it runs when a trainer waits
/// for the others, as each does in each step, or has used its slice. A policy chosen from outside is kept.
class GivesWay : public caf::thread_hook {
public:
  void init(caf::actor_system&) override {}
  void thread_started() override {
    const sched_param ordinary{};
    if (::sched_getscheduler(0) == SCHED_OTHER)
      ::sched_setscheduler(0, SCHED_BATCH, &ordinary);
  }
  void thread_terminates() override {}
};

struct SystemConfig : caf::actor_system_config {
  /// `threads`: of the scheduler; actors that block have one of their own.
  explicit SystemConfig(std::size_t threads) {
    load<caf::io::middleman>();
    register_types(*this);
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", threads);
    set("middleman.workers", std::size_t{0});
    add_thread_hook<GivesWay>();
  }
};

} // namespace troupe

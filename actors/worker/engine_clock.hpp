// Where the trainer's thread spends its time. Exactly one category runs at a time; work on a step (gradient,
// update) is kept apart until the step commits, because an abort turns it from useful into lost. One clock
// read per change.
#pragma once

#include "actors/worker/port.hpp"

#include <utility>

namespace troupe {

class EngineClock {
public:
  explicit EngineClock(Time now) : since_(now), running_(&spent_.build) {}

  void turn_to(Duration& category, Time now) {
    *running_ += now - since_;
    since_ = now;
    running_ = &category;
  }
  void keep_work() { spent_.useful += std::exchange(work_, Duration{}); }
  void lose_work() { spent_.lost += std::exchange(work_, Duration{}); }

  Spent& spent() { return spent_; }
  const Spent& spent() const { return spent_; }
  Duration& work() { return work_; } ///< of the step in hand

private:
  Spent spent_;
  Duration work_{};
  Time since_;
  Duration* running_;
};

} // namespace troupe

// Virtual time: a heap of things to do, in order of time and then of their making. One thread; nothing here waits.
#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace troupe::sim {

class Heap {
public:
  Time now() const { return now_; }
  void at(Time when, std::function<void()> what) {
    todo_.push({when < now_ ? now_ : when, made_++, std::move(what)});
  }
  void after(Duration wait, std::function<void()> what) { at(now_ + wait, std::move(what)); }
  /// False when there is nothing left to do.
  bool step() {
    if (todo_.empty())
      return false;
    auto what = std::move(const_cast<Item&>(todo_.top()).what);
    now_ = todo_.top().when;
    todo_.pop();
    what();
    return true;
  }

private:
  struct Item {
    Time when;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Item& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  std::priority_queue<Item> todo_;
  Time now_{std::chrono::hours(1)};
  std::uint64_t made_ = 0;
};

} // namespace troupe::sim

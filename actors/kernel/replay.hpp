// Decisions made again: an event of a journal or an event log is given to a kernel once more, and its actions are
// compared with those recorded. Knows no codec: whoever reads the log decodes. Any thread, one kernel at a time.
#pragma once

#include "base/clock.hpp"
#include "base/reflect_text.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Where two lists of actions first differ, in words; empty: they are equal. A few lines, however long they are.
std::string difference_of(const std::vector<std::string>& recorded, const std::vector<std::string>& made);

/// Gives `event` to `kernel` and compares. Empty: the same actions. The kernel has taken the event in any case.
template <class K>
std::string replay_event(K& kernel, const typename K::Event& event, Time now,
                         const std::vector<typename K::Action>& recorded) {
  const std::vector<typename K::Action> made = kernel.on(event, now);
  if (made == recorded)
    return {};
  std::vector<std::string> was;
  std::vector<std::string> is;
  for (const auto& action : recorded)
    was.push_back(to_text(action));
  for (const auto& action : made)
    is.push_back(to_text(action));
  return std::string{K::name} + " answers " + to_text(event) + "\n" + difference_of(was, is);
}

/// Empty: equal. Else the first place where the texts of two states part.
template <class State>
std::string state_difference(const State& one, const State& other) {
  if (one == other)
    return {};
  return difference_of({to_text(one)}, {to_text(other)});
}

} // namespace troupe

// What a supervisor is told about its children, as data: which, when to start them again, how long to wait for them,
// and how many failures are too many. The same words serve actors, operating-system processes and the actors of a
// module. Plain values.
#pragma once

#include "actors/kernel/facts.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

enum class Restart : std::uint8_t {
  permanent, ///< whenever it ends
  transient, ///< when it ended by a failure
  temporary, ///< never
};

/// Whom the restart of one child takes along. All stop from right to left and start from left to right.
enum class RestartGroup : std::uint8_t {
  one_for_one,  ///< nobody
  one_for_all,  ///< all
  rest_for_one, ///< those that started after it
};

/// At most `restarts` in any `window`; one more and the supervisor gives up.
struct RestartIntensity {
  std::uint32_t restarts = 3;
  Duration window = std::chrono::seconds(10);
  friend bool operator==(const RestartIntensity&, const RestartIntensity&) = default;
  TROUPE_FIELDS(restarts, window)
};

/// The first failure after a healthy time starts again at once; the n-th in a row waits first · 2^(n-2), at most
/// `most`.
struct RestartBackoff {
  Duration first = std::chrono::milliseconds(100);
  Duration most = std::chrono::seconds(10);
  Duration healthy_after = std::chrono::seconds(10); ///< a life that ran so long counts as healthy
  friend bool operator==(const RestartBackoff&, const RestartBackoff&) = default;
  TROUPE_FIELDS(first, most, healthy_after)
};

struct ChildSpec {
  std::string id;                                   ///< unique among its siblings
  Restart restart = Restart::permanent;
  Duration grace = std::chrono::seconds(5);         ///< from being asked to stop to being killed; 0: killed at once
  Duration kill_grace = std::chrono::seconds(5);    ///< from being killed to being given up
  RestartBackoff backoff;
  friend bool operator==(const ChildSpec&, const ChildSpec&) = default;
  TROUPE_FIELDS(id, restart, grace, kill_grace, backoff)
};

struct SupervisorSpec {
  std::string name;                                 ///< shown in causes and logs
  RestartGroup group = RestartGroup::one_for_one;
  RestartIntensity intensity;                       ///< over all children and classes
  std::vector<std::pair<FailureClass, RestartIntensity>> budgets; ///< of single classes, beside it
  bool stop_together = false;                       ///< children do not need each other: all are asked to stop at once
};

/// How a life ended. A failure of class startup is never retried.
struct ChildExit {
  bool normal = false;
  FailureClass kind = FailureClass::none;
  std::string what;                                 ///< first cause in words
  friend bool operator==(const ChildExit&, const ChildExit&) = default;
  TROUPE_FIELDS(normal, kind, what)
};

enum class ChildPhase : std::uint8_t {
  waiting,  ///< to be started: in its turn, or after its backoff
  starting,
  running,
  stopping, ///< asked to stop
  killed,   ///< and not yet seen to be gone
  ended,    ///< and not to be started again
};

/// Answer to "which children": for the console.
struct ChildStatus {
  std::string id;
  ChildPhase phase = ChildPhase::waiting;
  std::uint64_t life = 0;                           ///< counts starts
  std::uint32_t in_a_row = 0;                       ///< failures without a healthy life between
  Time since{};                                     ///< of the present phase
  ChildExit last;                                   ///< end of the life before
  friend bool operator==(const ChildStatus&, const ChildStatus&) = default;
  TROUPE_FIELDS(id, phase, life, in_a_row, since, last)
};

struct SupervisorStatus {
  std::string name;
  RestartGroup group = RestartGroup::one_for_one;
  bool closing = false;
  std::string cause;                                ///< of closing, first cause first
  std::vector<ChildStatus> children;                ///< in start order
  friend bool operator==(const SupervisorStatus&, const SupervisorStatus&) = default;
  TROUPE_FIELDS(name, group, closing, cause, children)
};

constexpr std::string_view to_string(RestartGroup group) {
  constexpr std::string_view names[] = {"one_for_one", "one_for_all", "rest_for_one"};
  return names[static_cast<unsigned>(group)];
}
constexpr std::size_t enum_count(RestartGroup) { return 3; }
constexpr std::string_view to_string(Restart restart) {
  constexpr std::string_view names[] = {"permanent", "transient", "temporary"};
  return names[static_cast<unsigned>(restart)];
}
constexpr std::size_t enum_count(Restart) { return 3; }
constexpr std::string_view to_string(ChildPhase phase) {
  constexpr std::string_view names[] = {"waiting", "starting", "running", "stopping", "killed", "ended"};
  return names[static_cast<unsigned>(phase)];
}
constexpr std::size_t enum_count(ChildPhase) { return 6; }

} // namespace troupe

// What every decision maker is: a state and one function, actions = on(event, now). No clock, thread, I/O, actor or
// random number inside; nothing depends on the order of an unordered container or on an address. Kernels see each
// other only through events: an action marked `to_kernels` becomes the same-named event of its receivers. Messages
// state what is wanted or what is so, never a change, so each may be lost or repeated. `Event` and `Action` are
// variants of reflected structs; `State` is reflected, so it can be journaled, compared and shown.
//
// A kernel K has: Event, Action, State, constexpr name, on(Event, Time) -> std::vector<Action>, state(), and
// restore(State). Every action has a `reason`, or is a statement whose reason stands in itself.
#pragma once

#include "actors/kernel/roster.hpp"

#include <variant>

namespace troupe {

/// A new life of a peer kernel (or node): whoever sees it states its own state again.
struct PeerRestarted {
  static constexpr std::string_view tag = "peer_restarted";
  std::string peer;
  friend bool operator==(const PeerRestarted&, const PeerRestarted&) = default;
  TROUPE_FIELDS(peer)
};

/// The shell's timer went off. `late` when it came so much too late that this process must have been stopped.
struct Tick {
  static constexpr std::string_view tag = "tick";
  bool late = false;
  friend bool operator==(const Tick&, const Tick&) = default;
  TROUPE_FIELDS(late)
};

/// Asks the shell for a Tick at `at`; the newest request replaces older ones.
struct WakeAt {
  static constexpr std::string_view tag = "wake_at";
  Time at{};
  std::string reason;
  friend bool operator==(const WakeAt&, const WakeAt&) = default;
  TROUPE_FIELDS(at, reason)
};

/// The job cannot go on; ends everything in order with exit status 1.
struct FailJob {
  static constexpr std::string_view tag = "fail_job";
  std::string cause;   ///< first cause first, in words
  Failure first;       ///< of the worker that failed first, if any
  WorkerKey worker;
  std::string reason;
  friend bool operator==(const FailJob&, const FailJob&) = default;
  TROUPE_FIELDS(cause, first, worker, reason)
};

} // namespace troupe

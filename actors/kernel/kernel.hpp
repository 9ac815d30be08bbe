// What every decision maker is: a state and one function, actions = on(event, now). No clock, thread, I/O, actor or
// random number inside; nothing depends on the order of an unordered container or on an address. Messages state what is
// wanted or what is so, never a change, so each may be lost or repeated.
//
// A kernel K has: Event and Action (variants of reflected structs), State (reflected: journaled, compared, shown),
// constexpr name, on(Event, Time) -> std::vector<Action>, state(), restore(State).
//
// Routing is by type: an action whose type is an alternative of some kernel's Event goes to that kernel as an event,
// also to the one that made it (`accepts`). One that is `external` is also carried out by the shells, after fdatasync
// of its record, except when its type says that it cannot wait (`urgent(action)`).
//
// A `transient` event (heartbeat, progress, tick) is journaled only when it causes an action that is not transient; if
// it causes none it has changed nothing in State. What a kernel remembers of heartbeats lies outside State and is
// never the only ground of a change of State: it leads to a Suspect, which is journaled. So the journal alone gives
// the same State, and the event log gives also the same actions.
//
// The first event of every life is Started; every kernel answers it by stating all that it wants.
#pragma once

#include "actors/kernel/roster.hpp"

#include <variant>

namespace troupe {

/// First event of every life of a kernel, with the master's term: the same one after a restart of the actor, a larger
/// one after a start of the master. All clocks that watch others start anew.
struct Started {
  static constexpr std::string_view tag = "started";
  Term term;
  friend bool operator==(const Started&, const Started&) = default;
  TROUPE_FIELDS(term)
};

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
  static constexpr bool transient = true;
  bool late = false;
  std::uint64_t random = 0; ///< fresh bits keyed by (seed, kernel, sequence of the record)
  friend bool operator==(const Tick&, const Tick&) = default;
  TROUPE_FIELDS(late, random)
};

/// Asks the shell for a Tick at `at`; the newest request replaces older ones.
struct WakeAt {
  static constexpr std::string_view tag = "wake_at";
  static constexpr bool transient = true;
  Time at{};
  std::string reason;
  friend bool operator==(const WakeAt&, const WakeAt&) = default;
  TROUPE_FIELDS(at, reason)
};

/// The job cannot go on; ends everything in order with exit status 1.
struct FailJob {
  static constexpr std::string_view tag = "fail_job";
  static constexpr bool external = true;
  std::string cause;   ///< first cause first, in words
  Failure first;       ///< of the worker that failed first, if any
  WorkerKey worker;
  std::string reason;
  friend bool operator==(const FailJob&, const FailJob&) = default;
  TROUPE_FIELDS(cause, first, worker, reason)
};

/// Ends the job in order: no generation is formed any more, all workers leave. `finished`: all steps are done.
struct StopAll {
  static constexpr std::string_view tag = "stop_all";
  bool finished = false;
  std::string reason;
  friend bool operator==(const StopAll&, const StopAll&) = default;
  TROUPE_FIELDS(finished, reason)
};

/// Kill and replace this life: it hangs, is silent, or was found dead by another. Kind none: its end was seen, but not
/// its cause; the node's report will tell the class.
struct Suspect {
  static constexpr std::string_view tag = "suspect";
  WorkerKey worker;
  FailureClass kind = FailureClass::none;
  std::string reason;
  friend bool operator==(const Suspect&, const Suspect&) = default;
  TROUPE_FIELDS(worker, kind, reason)
};

/// First word of a node in a new term. `kept`: it is of the run before, so only the master is new, and what was ending
/// goes on to its end. Otherwise everything is started again by somebody who wants a stopped or failed job to go on.
struct RunFound {
  static constexpr std::string_view tag = "run_found";
  Term term;
  bool kept = false;
  friend bool operator==(const RunFound&, const RunFound&) = default;
  TROUPE_FIELDS(term, kept)
};

/// Newest committed version seen in the running generation: all its members have begun `step`, or one has done it.
struct Advanced {
  static constexpr std::string_view tag = "advanced";
  static constexpr bool transient = true;
  Generation generation;
  Step step;
  friend bool operator==(const Advanced&, const Advanced&) = default;
  TROUPE_FIELDS(generation, step)
};

/// Asks for the end of `generation` in order: its members drain, then recovery plans again.
struct DrainRequest {
  static constexpr std::string_view tag = "drain_request";
  Generation generation;
  std::string reason;
  friend bool operator==(const DrainRequest&, const DrainRequest&) = default;
  TROUPE_FIELDS(generation, reason)
};

/// All members of `generation` drained or are dead; the next one may be planned. Generation 0 at the start.
struct Drained {
  static constexpr std::string_view tag = "drained";
  Generation generation;
  std::string cause;     ///< why it ended: first cause first
  std::string refused;   ///< why the plan made for it could not be announced; empty: none was made yet
  Roster roster;         ///< with their final holdings
  friend bool operator==(const Drained&, const Drained&) = default;
  TROUPE_FIELDS(generation, cause, refused, roster)
};

/// All members of `generation` have restored and run.
struct Formed {
  static constexpr std::string_view tag = "formed";
  Generation generation;
  Step step;                       ///< resumed step
  std::vector<WorkerKey> members;  ///< by rank
  friend bool operator==(const Formed&, const Formed&) = default;
  TROUPE_FIELDS(generation, step, members)
};

/// All members are finished with the same digest.
struct JobFinished {
  static constexpr std::string_view tag = "job_finished";
  static constexpr bool external = true;
  std::uint64_t digest = 0;
  Step step;
  Generation generation;
  WorkerKey holder;      ///< a member that has the final version in its slot
  friend bool operator==(const JobFinished&, const JobFinished&) = default;
  TROUPE_FIELDS(digest, step, generation, holder)
};

/// Members' digests of version `step` differ: everything after the last agreed version is void.
struct DigestMismatch {
  static constexpr std::string_view tag = "digest_mismatch";
  Generation generation;
  Step step;
  std::vector<std::uint64_t> digests; ///< by rank, if known
  friend bool operator==(const DigestMismatch&, const DigestMismatch&) = default;
  TROUPE_FIELDS(generation, step, digests)
};

/// Does kernel K take this as an event?
template <class T, class Variant>
struct is_alternative : std::false_type {};
template <class T, class... Ts>
struct is_alternative<T, std::variant<Ts...>> : std::bool_constant<(std::is_same_v<T, Ts> || ...)> {};
template <class K, class T>
inline constexpr bool accepts = is_alternative<T, typename K::Event>::value;

template <class T>
inline constexpr bool is_transient = requires { requires T::transient; };
/// Carried out by the shells (sent to nodes, written, shown), beside what kernels take of it.
template <class T>
inline constexpr bool is_external = requires { requires T::external; };

/// Leaves without waiting for the journal.
template <class T>
constexpr bool urgent(const T&) {
  return false;
}
inline bool urgent(const GenerationOrder& order) { return order.command == GenerationCommand::drain; }

} // namespace troupe

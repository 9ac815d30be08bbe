// For the tables of kernel cases: facts written briefly, and actions looked for by type.
#pragma once

#include "actors/kernel/checkpoints.hpp"
#include "actors/kernel/faults.hpp"
#include "actors/kernel/membership.hpp"
#include "actors/kernel/recovery.hpp"
#include "actors/kernel/rendezvous.hpp"
#include "base/reflect_text.hpp"

#include <boost/test/unit_test.hpp>

#include <ostream>

namespace troupe {

template <class Tag, class Rep>
std::ostream& operator<<(std::ostream& out, Id<Tag, Rep> id) {
  return out << +id.value;
}
inline std::ostream& operator<<(std::ostream& out, WorkerPhase v) { return out << to_string(v); }
inline std::ostream& operator<<(std::ostream& out, FailureClass v) { return out << to_string(v); }
inline std::ostream& operator<<(std::ostream& out, GenerationCommand v) { return out << to_string(v); }
inline std::ostream& operator<<(std::ostream& out, RendezvousKernel::Phase v) { return out << to_string(v); }
inline std::ostream& operator<<(std::ostream& out, const PieceKey& v) { return out << to_text(v); }
inline std::ostream& operator<<(std::ostream& out, const WorkerKey& v) { return out << to_text(v); }

} // namespace troupe

namespace troupe::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline Time at_ms(std::int64_t ms) { return Time{std::chrono::hours(1) + milliseconds(ms)}; }

inline KernelSettings settings_for(std::uint32_t workers) {
  KernelSettings s;
  s.total_steps = Step{100};
  s.samples_per_epoch = 80;
  s.global_batch = 8;
  s.start = workers;
  s.max = s.virtual_workers = 8;
  return s;
}

inline WorkerKey key(std::uint32_t slot, std::uint64_t incarnation = 1, std::uint32_t node = 0) {
  return {NodeId{node}, SlotId{slot}, Incarnation{incarnation}};
}

inline PieceKey version(std::uint64_t step, std::uint64_t generation) { return {Step{step}, Generation{generation}}; }

inline Holding holding(std::uint64_t step, std::uint64_t generation, std::uint64_t digest = 0, bool agreed = false) {
  return {0, version(step, generation), Tier::snapshot, digest, agreed};
}

inline SlotFact fact(std::uint32_t slot, std::uint64_t incarnation, WorkerPhase phase, std::uint64_t generation = 0) {
  SlotFact f;
  f.slot = SlotId{slot};
  f.incarnation = Incarnation{incarnation};
  f.phase = phase;
  f.generation = Generation{generation};
  return f;
}

inline SlotFact died(std::uint32_t slot, std::uint64_t incarnation, FailureClass kind, std::string what = "boom") {
  SlotFact f = fact(slot, incarnation, WorkerPhase::exited);
  f.failure.kind = kind;
  f.failure.what = std::move(what);
  return f;
}

inline RosterRow row(std::uint32_t slot, WorkerPhase phase, std::uint64_t generation = 0,
                     std::uint64_t incarnation = 1) {
  RosterRow r;
  r.worker = key(slot, incarnation);
  r.phase = phase;
  r.generation = Generation{generation};
  r.wanted = true;
  r.layout = 7;
  return r;
}

inline RosterRow dead(RosterRow r, bool confirmed = true) {
  r.dead = true;
  r.confirmed = confirmed;
  r.failure.kind = FailureClass::signal;
  r.failure.what = "killed by signal 9";
  return r;
}

/// Actions of one type, in order.
template <class A, class Variant>
std::vector<A> all_of(const std::vector<Variant>& actions) {
  std::vector<A> found;
  for (const Variant& action : actions)
    if (const A* a = std::get_if<A>(&action))
      found.push_back(*a);
  return found;
}

/// The only action of this type; fails the test when there is none, or more.
template <class A, class Variant>
A one(const std::vector<Variant>& actions) {
  const std::vector<A> found = all_of<A>(actions);
  std::string said;
  for (const Variant& action : actions)
    said += "\n  " + to_text(action);
  BOOST_REQUIRE_MESSAGE(found.size() == 1, "one " << A::tag << " expected, said was:" << said);
  return found.front();
}

template <class A, class Variant>
bool none(const std::vector<Variant>& actions) {
  return all_of<A>(actions).empty();
}

} // namespace troupe::test

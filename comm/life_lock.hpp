// How the death of a process is seen by its peers within a fraction of a millisecond, whatever its memory:
// every member holds a robust lock in the generation's segment for life, and the kernel marks and wakes it
// before it frees anything. One thread per process, as long-lived as the process, holds this process's locks
// of all generations and watches the next member of each, so the members form a ring and any set of deaths
// leaves a survivor that sees one. The lock is the kernel's robust futex itself and not a pthread mutex: one
// thread can wait on many of them and on its own orders at once, and giving up a watch needs no help from the
// peer. Invariants:
// - A life word is 0 (not joined yet), a thread id (alive), `left` (orderly) or has FUTEX_OWNER_DIED (dead).
//   It never goes back; a generation is joined once per rank.
// - Only the life thread takes and gives back locks, since a robust lock belongs to a thread.
// - A ring skips members that left; a leave wakes the watcher, so leaving is never taken for death.
// - Death of a member poisons its generation, and every life thread of it wakes and says so to its process.
// - A poisoner may die between its mark and its wakes. So a member is watched also in a poisoned generation, and
//   whoever sees one die there wakes all sleepers once more.
#pragma once

#include "comm/segment.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe {

/// One per process, made before it joins its first generation, destroyed after it left its last.
class LifeLine {
public:
  LifeLine();
  ~LifeLine();
  LifeLine(const LifeLine&) = delete;
  LifeLine& operator=(const LifeLine&) = delete;

  /// Takes the life-lock of `rank` and watches the next member until leave(). The segment outlives that.
  /// `on_poison` is called once on the life thread when the generation is poisoned, unless it is left before;
  /// it is short and does not block. errors: stale (the rank was joined before), exhausted (more than 60
  /// generations at once).
  result<void> join(const Segment& segment, std::uint32_t rank, std::function<void()> on_poison = {});
  /// Orderly: peers do not take it for death, but those that wait for this rank are told. Returns when the
  /// segment is not used any more.
  void leave(const Segment& segment, std::uint32_t rank) noexcept;

private:
  struct Membership {
    const Segment* segment;
    std::uint32_t rank;
    std::function<void()> on_poison; ///< empty once called
    std::uint32_t deaths;            ///< of the members next to it, that were dealt with
  };
  struct Order {
    enum { join, leave, stop } what;
    Membership membership;
    Error* error;
    bool done;
  };
  void run();
  void obey(Order& order);
  void give(Order& order) noexcept;

  std::vector<Membership> memberships_; ///< life thread only
  std::mutex mutex_;
  std::condition_variable answered_;
  Order* order_ = nullptr; ///< at most one at a time
  bool stop_ = false;      ///< life thread only
  futex::Word bell_{0};    ///< rung for each order
  std::thread thread_;
};

/// State of a life word.
enum class Life : std::uint8_t { absent, alive, left, dead };
Life life_of(const Segment& segment, std::uint32_t rank) noexcept;

/// From now on SIGSEGV, SIGBUS, SIGABRT, SIGFPE and SIGILL poison every generation this process has joined
/// before the previous action goes on: a core dump of gigabytes does not delay the peers. Process-wide; call
/// once.
void install_crash_handler();

/// Stack for the crash handler of the calling thread, so that a stack overflow is reported too. Same thread.
class CrashStack {
public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

private:
  std::unique_ptr<std::byte[]> memory_;
};

} // namespace troupe

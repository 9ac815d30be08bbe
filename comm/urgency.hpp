// Threads that must run at once when a member dies, also while others compute on every processor: real-time where
// the process has the right to it, else the shortest slice of the fair scheduler. Each runs for microseconds. Both
// may be refused; then a death is seen somewhat later on a busy machine, and nothing else changes. Any thread.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace troupe {

/// For the rest of the calling thread's life.
void be_urgent();

/// Thread `thread` of this process runs before ordinary ones until relax(). Not nested.
class Urgency {
public:
  /// Leaves a thread alone that has a real-time policy of its own.
  void raise(pid_t thread);
  void relax();

private:
  pid_t raised_ = 0;
  int policy_ = SCHED_OTHER;
};

} // namespace troupe

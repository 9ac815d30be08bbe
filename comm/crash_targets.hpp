// The generations a crash of this process must poison, where a signal handler can find them: a fixed table of
// atomics, filled by the life-line. Like the flight recorder an exception to "no singletons", since a handler
// gets no argument. Any thread.
#pragma once

#include "comm/segment.hpp"

namespace troupe::crash_targets {

/// Beyond 16 at once a crash is seen by the life-lock alone.
void add(const Segment* segment, std::uint32_t rank) noexcept;
void remove(const Segment* segment, std::uint32_t rank) noexcept;

} // namespace troupe::crash_targets

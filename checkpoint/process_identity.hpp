// Identity of a process in one word: pid and start time, so that a reused pid is not taken for the old process. For
// pins and temporary files, whose owner may die without a word. Any thread, also in a forked child.
#pragma once

#include <cstdint>

namespace troupe::checkpoint {

/// Never 0 for a running process; 0 for one that does not run or is a zombie.
std::uint64_t process_identity(std::int64_t pid);
std::uint64_t own_identity();
bool process_alive(std::uint64_t identity);

} // namespace troupe::checkpoint

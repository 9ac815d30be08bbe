// The futex calls that comm/ needs, on words that several processes share unless named private. Thin: no
// policy, no loops. A wait may end for no reason; callers look again. Any thread; wake_all is
// async-signal-safe.
#pragma once

#include "base/clock.hpp"

#include <atomic>
#include <cstdint>
#include <span>

namespace troupe::futex {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free);

/// Sleeps while `word` is `expected`, until woken or, unless it is Time::max(), until `deadline`.
/// False when the deadline passed.
bool wait(const Word& word, std::uint32_t expected, Time deadline = Time::max()) noexcept;
void wake_all(const Word& word) noexcept;
void wake_private(const Word& word) noexcept;

struct Watched {
  const Word* word;
  std::uint32_t expected;
  bool is_private;
};
constexpr std::size_t max_watched = 128;
/// Sleeps until any of at most max_watched words is woken or differs from what is expected. Kernels before
/// 5.16 and some sandboxes have no such call: then only the first shared word wakes at once, the others
/// within 1 ms.
void wait_any(std::span<const Watched> words) noexcept;

} // namespace troupe::futex

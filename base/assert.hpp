// Assertions for bugs, on in every build. A failed one prints where and what, dumps the flight recorder and
// aborts the process; its supervisor answers. Never for errors a caller can react to (base/errors.hpp).
#pragma once

namespace troupe {
[[noreturn]] void assertion_failed(const char* expression, const char* message, const char* file, int line);
} // namespace troupe

#define TROUPE_ASSERT(expr, message)                                                                          \
  (static_cast<bool>(expr) ? static_cast<void>(0)                                                             \
                           : ::troupe::assertion_failed(#expr, message, __FILE__, __LINE__))
#define TROUPE_UNREACHABLE(message) ::troupe::assertion_failed("unreachable", message, __FILE__, __LINE__)

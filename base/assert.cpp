#include "base/assert.hpp"

#include "base/flight_recorder.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe {

void assertion_failed(const char* expression, const char* message, const char* file, int line) {
  std::fprintf(stderr, "troupe: bug at %s:%d: %s (%s)\n", file, line, message, expression);
  flight_recorder().dump(2);
  std::abort();
}

} // namespace troupe

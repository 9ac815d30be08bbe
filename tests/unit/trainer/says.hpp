// What an exception says, for tests that look for a part of it.
#pragma once

#include <cstring>
#include <exception>

namespace troupe {

inline bool says(const std::exception& error, const char* part) {
  return std::strstr(error.what(), part) != nullptr;
}

} // namespace troupe

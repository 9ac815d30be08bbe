// The seed of a random test: printed with every failure, taken back from TROUPE_SEED. TROUPE_SEEDS is how many seeds
// a property is tried with. Used inside one Boost.Test case, on its thread.
#pragma once

#include "troupe/random.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace troupe::test {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : fallback;
}

/// Calls body(seed) for each seed; a failure inside names the seed to set.
template <class Body>
void for_each_seed(std::uint64_t fallback_count, Body&& body) {
  const auto first = number_from_environment("TROUPE_SEED", 1);
  const bool given = std::getenv("TROUPE_SEED") != nullptr;
  const auto count = given ? 1 : number_from_environment("TROUPE_SEEDS", fallback_count);
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    BOOST_TEST_CONTEXT("TROUPE_SEED=" + std::to_string(seed))
      body(seed);
}

} // namespace troupe::test

// Random jobs under random faults: whatever happens, what must hold holds, and the job ends. TROUPE_SEEDS says how many
// seeds, TROUPE_SEED plays one again and prints its trace.
#include "sim/world.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <iostream>

namespace troupe::sim {
namespace {

BOOST_AUTO_TEST_SUITE(seeds)

std::uint64_t number(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

BOOST_AUTO_TEST_CASE(every_random_job_ends_as_it_must) {
  if (const std::uint64_t seed = number("TROUPE_SEED", 0); seed != 0) {
    const Outcome outcome = run_twice(draw(seed));
    std::cout << to_text(draw(seed)) << "\n" << outcome.trace;
    BOOST_TEST(outcome.violation == "");
    BOOST_TEST(outcome.failed == "");
    return;
  }
  const std::uint64_t seeds = number("TROUPE_SEEDS", 300);
  std::uint64_t generations = 0;
  std::uint64_t redone = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = run_twice(draw(seed));
    generations += outcome.generations;
    redone += outcome.redone;
    const std::string again = "TROUPE_SEED=" + std::to_string(seed) + " sim_seeds_test";
    BOOST_TEST(outcome.violation == "", again << ": " << outcome.violation);
    BOOST_TEST((outcome.failed.empty() || outcome.hopeless), again << ": the job failed: " << outcome.failed);
    BOOST_TEST((outcome.finished || !outcome.violation.empty() || !outcome.failed.empty()), again << ": not finished");
  }
  BOOST_TEST_MESSAGE(seeds << " jobs, " << generations << " generations, " << redone << " steps redone");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::sim

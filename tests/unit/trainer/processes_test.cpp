// Forked workers over a real segment: the result does not depend on how many there are, nor on who dies
// where.
#include "actors/worker/check.hpp"
#include "actors/worker/check_run.hpp"
#include "tests/unit/seed.hpp"
#include "tests/unit/trainer/small_trainers.hpp"

namespace troupe {
namespace {

template <class T>
CheckRun::MakeTrainer make() {
  return [] { return result<std::unique_ptr<Trainer>>(std::make_unique<T>()); };
}

template <class T>
void compare_all(const CheckScript& script, std::uint64_t steps = 12) {
  const auto job = testing::small_job(steps);
  const auto data = testing::small_data();
  CheckRun runs(job, data, make<T>());
  const auto probe = runs.probe();
  BOOST_REQUIRE(probe.has_value());
  const auto one = runs.run({}, *probe);
  BOOST_REQUIRE_EQUAL(one.cause, "");
  const auto other = runs.run(script, *probe);
  BOOST_REQUIRE_EQUAL(other.cause, "");
  for (std::uint32_t s = 0; s < script.workers; ++s) {
    BOOST_TEST(other.slot(s).model_digest == one.slot(0).model_digest);
    BOOST_TEST(other.slot(s).evaluation == one.slot(0).evaluation);
    BOOST_TEST(other.slot(s).counts == one.slot(0).counts, boost::test_tools::per_element());
    BOOST_TEST(other.slot(s).strays == 0U);
  }
  BOOST_TEST(one.slot(0).counts[1] == 53 * (steps * 15 / 53));
}

BOOST_AUTO_TEST_SUITE(processes)

BOOST_AUTO_TEST_CASE(one_to_five_workers_reach_the_same_bits) {
  for (std::uint32_t n = 1; n <= 5; ++n) {
    compare_all<testing::Linear>({.workers = n, .killed = {}});
    compare_all<testing::TwoPhases>({.workers = n, .killed = {}});
    compare_all<testing::WithStatistic>({.workers = n, .killed = {}});
  }
}

BOOST_AUTO_TEST_CASE(a_death_in_any_phase_changes_nothing) {
  for (auto where : {FaultPoint::gradient, FaultPoint::reduce, FaultPoint::update, FaultPoint::snapshot})
    for (std::uint32_t victim : {0U, 2U}) {
      BOOST_TEST_CONTEXT(to_string(where) << " of worker " << victim) {
        compare_all<testing::Linear>({.workers = 3, .killed = {victim}, .kill_at = 5, .where = where});
        compare_all<testing::TwoPhases>({.workers = 3, .killed = {victim}, .kill_at = 5, .where = where});
      }
    }
}

BOOST_AUTO_TEST_CASE(deaths_of_several_and_of_all_at_random_steps_change_nothing) {
  test::for_each_seed(6, [](std::uint64_t seed) {
    Random random(seed, "deaths");
    CheckScript script;
    script.workers = static_cast<std::uint32_t>(1 + random.below(5));
    for (std::uint32_t s = 0; s < script.workers; ++s)
      if (random.below(2) == 0 || script.workers == 1)
        script.killed.push_back(s);
    script.kill_at = random.below(12);
    script.where = random.below(2) == 0 ? FaultPoint::gradient : FaultPoint::update;
    compare_all<testing::Linear>(script);
    compare_all<testing::TwoPhases>(script);
  });
}

BOOST_AUTO_TEST_CASE(survivors_lose_no_step_and_the_replacement_resumes_where_they_are) {
  const auto job = testing::small_job();
  const auto data = testing::small_data();
  CheckRun runs(job, data, make<testing::Linear>());
  const auto probe = runs.probe();
  BOOST_REQUIRE(probe.has_value());
  const auto run =
    runs.run({.workers = 2, .killed = {1}, .kill_at = 7, .where = FaultPoint::gradient}, *probe);
  BOOST_TEST(run.cause == "");
  BOOST_TEST(run.slot(0).resumed_step == 7U);
  BOOST_TEST(run.slot(0).steps_lost <= 1U);
}

class Counter : public testing::Linear {
public:
  void update(Model& model, const Gradients& mean, const StepInfo& info) override {
    Linear::update(model, mean, info);
    if (++updates_ > 6)
      weights_.f32()[4] += 1;
  }

private:
  int updates_ = 0;
};

BOOST_AUTO_TEST_CASE(state_outside_the_model_is_seen_where_it_first_matters) {
  const auto job = testing::small_job(8);
  const auto data = testing::small_data();
  CheckRun runs(job, data, make<Counter>());
  const auto probe = runs.probe();
  BOOST_REQUIRE(probe.has_value());
  const auto one = runs.run({}, *probe);
  const auto other = runs.run({.workers = 1, .killed = {0}, .kill_at = 3}, *probe);
  const auto weights = static_cast<std::size_t>(
    std::find(probe->pieces.begin(), probe->pieces.end(), "weights") - probe->pieces.begin());
  BOOST_TEST(one.checksum(0, 6, weights) == other.checksum(0, 6, weights));
  BOOST_TEST(one.checksum(0, 7, weights) != other.checksum(0, 7, weights));
}

class FailsToBuild : public testing::Linear {
public:
  void build(Model&, const Config&) override { throw ConfigError("hidden must be positive"); }
};

BOOST_AUTO_TEST_CASE(a_trainer_that_cannot_be_built_is_said_so_by_the_probe) {
  const auto job = testing::small_job();
  const auto data = testing::small_data();
  CheckRun runs(job, data, make<FailsToBuild>());
  const auto probe = runs.probe();
  BOOST_REQUIRE(!probe.has_value());
  BOOST_TEST(probe.error().context == "build: hidden must be positive");
}

BOOST_AUTO_TEST_CASE(a_missing_module_is_wrong_usage) {
  auto job = testing::small_job();
  job.job.module = "/nowhere/libnone.so";
  const auto data = testing::small_data();
  const auto report = check_trainer(job, data);
  BOOST_REQUIRE(!report.has_value());
  BOOST_TEST((report.error().code == Errc::invalid));
  BOOST_TEST(report.error().context.find("/nowhere/libnone.so") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

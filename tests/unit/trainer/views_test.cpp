#include "actors/trainer/job_trainer_config.hpp"
#include "actors/trainer/metric_sums.hpp"
#include "actors/trainer/module_registry.hpp"
#include "actors/trainer/step_views.hpp"
#include "actors/worker/mean.hpp"
#include "tests/unit/seed.hpp"
#include "says.hpp"

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(views)

BOOST_AUTO_TEST_CASE(the_norm_is_the_tree_over_blocks_whatever_its_length) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Random random(seed, "norm");
    std::vector<float> x(random.below(60'000));
    for (auto& v : x)
      v = static_cast<float>(random.normal() * std::exp(random.normal() * 10));
    // The same tree, written plainly.
    std::vector<double> blocks;
    for (std::size_t b = 0; b < x.size(); b += 4096) {
      double lane[8] = {};
      for (std::size_t i = b; i < std::min(x.size(), b + 4096); ++i)
        lane[(i - b) % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      blocks.push_back(tree_sum(lane));
    }
    BOOST_TEST(sum_of_squares(x) == tree_sum(blocks));
  });
}

BOOST_AUTO_TEST_CASE(the_tree_passes_a_missing_child_through) {
  double minus_zero[] = {-0.0, -0.0, -0.0};
  BOOST_TEST(std::signbit(tree_sum(minus_zero)));
  double five[] = {1, 2, 3, 4, 5};
  BOOST_TEST(tree_sum(five) == 15);
}

BOOST_AUTO_TEST_CASE(a_mean_is_true_division_and_one_bad_value_is_noticed) {
  const std::vector<float> sums{1, 2, 10};
  std::vector<float> mean(3);
  BOOST_TEST(divide_all(sums, 3, mean.data()));
  BOOST_TEST(mean[0] == 1.0F / 3.0F);
  BOOST_TEST(mean[2] == 10.0F / 3.0F);
  for (float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> with(1000, 1);
    with[777] = bad;
    std::vector<float> out(1000);
    BOOST_TEST(!divide_all(with, 2, out.data()));
    BOOST_TEST(!all_finite(with));
  }
  BOOST_TEST(!divide_all(sums, 0, mean.data()));
}

BOOST_AUTO_TEST_CASE(metrics_do_not_depend_on_the_order_of_names_or_on_empty_blocks) {
  MetricTable tables[4];
  const MetricTable* all[] = {&tables[0], &tables[1], &tables[2], &tables[3]};
  MetricWriter(tables[0]).add("a", 0.1, 1);
  MetricWriter one(tables[1]);
  one.add("b", 5, 2);
  one.add("a", 0.2, 1);
  MetricWriter two(tables[2]); // nothing
  MetricWriter three(tables[3]);
  three.add("a", 0.25, 1);
  three.add("a", 0.05, 1);
  const MetricResult result(all);
  BOOST_TEST(result.value("a") == ((0.1 + 0.2) + (0.25 + 0.05)) / 4);
  BOOST_TEST(result.value("b") == 2.5);
  BOOST_CHECK_EXCEPTION(result.value("c"), std::out_of_range, [](const auto& e) { return says(e, "'c'"); });
  BOOST_CHECK_THROW(MetricResult(all).add("a", 1, 1), std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_seventeenth_metric_and_a_long_name_are_refused) {
  MetricTable table;
  MetricWriter writer(table);
  for (int i = 0; i < 16; ++i)
    writer.add("m" + std::to_string(i), 1, 1);
  writer.add("m3", 1, 1);
  BOOST_CHECK_THROW(writer.add("m16", 1, 1), std::invalid_argument);
  MetricTable fresh;
  MetricWriter other(fresh);
  other.add(std::string(40, 'x'), 1, 1);
  BOOST_TEST(other.value(std::string(40, 'x')) == 1);
  BOOST_CHECK_THROW(other.add(std::string(41, 'x'), 1, 1), std::invalid_argument);
  BOOST_CHECK_THROW(other.add("", 1, 1), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(gradients_are_reached_by_name_and_virtual_state_only_in_gradient) {
  ModelState model(1, 2);
  model.parameter("w", {2}, zeros(), DType::f32, Place::host);
  model.statistic("s", {1});
  model.virtual_state("h", {1}, zeros(), DType::f32, Place::host);
  model.close();
  std::vector<float> leaf(model.leaf_floats());
  std::vector<std::byte> next(model.virtual_bytes());
  StepGradients gradients(model);
  gradients.point(leaf.data(), next.data());
  gradients["w"].f32()[1] = 5;
  gradients.stat("s").f32()[0] = 7;
  gradients.virtual_state("h").f32()[0] = 9;
  gradients.ready("w");
  BOOST_TEST(leaf[1] == 5);
  BOOST_TEST(leaf[16] == 7);
  BOOST_CHECK_EXCEPTION(gradients["v"], std::out_of_range, [](const auto& e) {
    return says(e, "there are 'w'") || says(e, "did you mean 'w'");
  });
  BOOST_CHECK_THROW(gradients.ready("v"), std::out_of_range);
  gradients.point(leaf.data(), nullptr);
  BOOST_CHECK_THROW(gradients.virtual_state("h"), std::logic_error);
}

TrainerValue value(const char* key, TrainerValueKind kind, const char* text) {
  TrainerValue v;
  v.key = key;
  v.kind = kind;
  v.value = text;
  v.where = "job.toml:19";
  v.line = 19;
  return v;
}

BOOST_AUTO_TEST_CASE(a_value_of_the_wrong_type_names_file_line_and_key) {
  JobConfig job;
  job.trainer = {value("hidden", TrainerValueKind::text, "many"),
                 value("rate", TrainerValueKind::integer, "2"),
                 value("rate", TrainerValueKind::number, "0.5")};
  JobTrainerConfig config(job);
  BOOST_CHECK_EXCEPTION(config.integer("hidden", 1), ConfigError, [](const auto& e) {
    return says(e, "job.toml:19: [trainer] hidden must be an integer");
  });
  BOOST_TEST(config.number("rate", 1) == 0.5); // the last one wins
  BOOST_TEST(config.boolean("flag", true));
  BOOST_TEST(config.numbers("rates", {1, 2}).size() == 2U);
  BOOST_TEST(config.where("rate") == "job.toml:19");
}

BOOST_AUTO_TEST_CASE(a_key_that_build_never_read_suggests_the_nearest) {
  JobConfig job;
  job.trainer = {value("hiden", TrainerValueKind::integer, "3")};
  JobTrainerConfig config(job);
  config.integer("hidden", 1);
  BOOST_CHECK_EXCEPTION(config.check_all_read(), ConfigError, [](const auto& e) {
    return says(e, "job.toml:19: unknown key 'hiden'") && says(e, "did you mean 'hidden'?");
  });
}

class Nothing final : public ModuleActor {
public:
  void on_message(ActorContext&, const ModuleMessage&) override {}
};

BOOST_AUTO_TEST_CASE(actors_of_a_module_have_names_of_their_own) {
  ModuleRegistry registry;
  const auto make = [] { return std::make_unique<Nothing>(); };
  registry.actor({"one", ActorPlace::worker, ActorRestart::permanent, make});
  BOOST_CHECK_THROW(registry.actor({"one", ActorPlace::master, ActorRestart::permanent, make}),
                    std::invalid_argument);
  BOOST_CHECK_THROW(registry.actor({"", ActorPlace::worker, ActorRestart::permanent, make}),
                    std::invalid_argument);
  BOOST_CHECK_THROW(registry.actor({"two", ActorPlace::worker, ActorRestart::permanent, {}}),
                    std::invalid_argument);
  BOOST_TEST(registry.specs().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

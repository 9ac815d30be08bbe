#include "data/batch_plan.hpp"
#include "data/sample_order.hpp"
#include "tests/unit/seed.hpp"

#include <vector>

using namespace troupe;
using namespace troupe::data;

BOOST_AUTO_TEST_SUITE(batch_plan)

BOOST_AUTO_TEST_CASE(virtual_workers_take_the_positions_in_turn_and_none_twice) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Random random(seed, "test");
    const BatchPlan plan(1 + random.below(500), static_cast<std::uint32_t>(1 + random.below(16)), 1 + random.below(20));
    std::uint64_t next = 0;
    for (std::uint64_t step = 0; step < 50; ++step) {
      BOOST_REQUIRE_EQUAL(plan.position(Step{step}), next);
      for (std::uint32_t v = 0; v < plan.virtual_workers(); ++v) {
        const auto range = plan.positions(Step{step}, VirtualWorker{v});
        BOOST_REQUIRE_EQUAL(range.begin, next);
        next = range.end();
      }
    }
    BOOST_REQUIRE_EQUAL(next, 50 * plan.global_batch());
  });
}

BOOST_AUTO_TEST_CASE(every_epoch_covers_every_row_exactly_once_also_when_the_batch_does_not_divide_it) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Random random(seed, "test");
    const auto rows = 1 + random.below(300);
    const BatchPlan plan(rows, static_cast<std::uint32_t>(1 + random.below(8)), 1 + random.below(90));
    const SampleOrder order(OrderKind::permuted, rows, seed);
    const std::uint64_t epochs = 1 + random.below(5);
    std::vector<std::vector<int>> seen(epochs, std::vector<int>(rows));
    std::vector<SampleId> ids(plan.micro_batch());
    for (std::uint64_t step = 0; step < plan.steps_for_epochs(epochs); ++step) {
      for (std::uint32_t v = 0; v < plan.virtual_workers(); ++v) {
        const auto range = plan.positions(Step{step}, VirtualWorker{v});
        order.fill(range.begin, ids);
        for (std::uint64_t i = 0; i < range.count; ++i)
          if (const auto epoch = plan.epoch_at(range.begin + i); epoch < epochs)
            ++seen[epoch][ids[i]];
      }
    }
    for (const auto& epoch : seen)
      for (const auto count : epoch)
        BOOST_REQUIRE_EQUAL(count, 1);
  });
}

BOOST_AUTO_TEST_CASE(the_last_step_runs_into_the_next_epoch_when_the_batch_does_not_divide) {
  const BatchPlan exact(1440, 8, 9);
  BOOST_TEST(exact.steps_for_epochs(3) == 60u);
  const BatchPlan uneven(1440, 8, 8);
  BOOST_TEST(uneven.steps_for_epochs(1) == 23u);
  BOOST_TEST(uneven.steps_for_epochs(2) == 45u);
  BOOST_TEST(uneven.finished_epochs(Step{45}) == 2u);
  BOOST_TEST(uneven.epoch(Step{22}) == 0u);
}

BOOST_AUTO_TEST_CASE(the_smaller_of_steps_and_epochs_ends_the_job) {
  const BatchPlan plan(100, 2, 5);
  BOOST_TEST(plan.total_steps(7, 0) == 7u);
  BOOST_TEST(plan.total_steps(0, 2) == 20u);
  BOOST_TEST(plan.total_steps(7, 2) == 7u);
  BOOST_TEST(plan.total_steps(70, 2) == 20u);
}

BOOST_AUTO_TEST_CASE(a_batch_larger_than_the_data_set_takes_several_epochs) {
  const BatchPlan plan(10, 4, 8);
  BOOST_TEST(plan.steps_for_epochs(3) == 1u);
  BOOST_TEST(plan.epochs_in_flight() == 5u);
}

BOOST_AUTO_TEST_CASE(evaluation_blocks_cover_all_rows_in_order_and_differ_by_at_most_one_row) {
  for (std::uint64_t rows = 0; rows < 40; ++rows) {
    for (std::uint32_t blocks = 1; blocks <= 17; ++blocks) {
      std::uint64_t next = 0;
      for (std::uint32_t v = 0; v < blocks; ++v) {
        const auto range = block(rows, blocks, v);
        BOOST_REQUIRE_EQUAL(range.begin, next);
        BOOST_REQUIRE(range.count == rows / blocks || range.count == rows / blocks + 1);
        next = range.end();
      }
      BOOST_REQUIRE_EQUAL(next, rows);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

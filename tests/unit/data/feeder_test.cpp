#include "base/clock.hpp"
#include "data/feeder.hpp"
#include "tests/unit/seed.hpp"

#include <cstring>

using namespace troupe;
using namespace troupe::data;

BOOST_AUTO_TEST_SUITE(feeder)

namespace {

// Row r has the features r, r + 0.5, … and the label r.
Dataset numbered(std::uint64_t rows, std::int64_t columns) {
  const auto values = rows * static_cast<std::size_t>(columns);
  Field features{"features", DType::f32, {columns}, std::vector<std::byte>(values * 4)};
  Field label{"label", DType::i32, {}, std::vector<std::byte>(rows * 4)};
  auto* f = reinterpret_cast<float*>(features.bytes.data());
  auto* l = reinterpret_cast<std::int32_t*>(label.bytes.data());
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::int64_t c = 0; c < columns; ++c)
      *f++ = static_cast<float>(row) + 0.5F * static_cast<float>(c);
    *l++ = static_cast<std::int32_t>(row);
  }
  return Dataset(rows, {features, label});
}

std::int32_t label(const BatchBuffer& batch, std::size_t i) {
  std::int32_t value = 0;
  std::memcpy(&value, batch.field(1).data() + i * 4, 4);
  return value;
}

float feature(const BatchBuffer& batch, std::size_t i, std::size_t columns, std::size_t c) {
  float value = 0;
  std::memcpy(&value, batch.field(0).data() + (i * columns + c) * 4, 4);
  return value;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_batch_holds_the_rows_of_its_positions_also_across_an_epoch_border) {
  const auto set = numbered(50, 3);
  const BatchPlan plan(50, 4, 7);
  const SampleOrder order(OrderKind::permuted, 50, 5);
  const Feeder feeder(set, order, plan);
  BatchBuffer batch(set, 7);
  for (std::uint64_t step = 0; step < 10; ++step) {
    for (std::uint32_t v = 0; v < 4; ++v) {
      feeder.gather(Step{step}, VirtualWorker{v}, batch);
      BOOST_REQUIRE_EQUAL(batch.size(), 7u);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto row = order.at(batch.first_position() + i);
        BOOST_REQUIRE_EQUAL(batch.ids()[i], row);
        BOOST_REQUIRE_EQUAL(label(batch, i), static_cast<std::int32_t>(row));
        BOOST_REQUIRE_EQUAL(feature(batch, i, 3, 2), static_cast<float>(row) + 1);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(evaluation_blocks_hold_their_rows_and_may_be_empty) {
  const auto set = numbered(5, 2);
  BatchBuffer batch(set, 5);
  std::uint64_t next = 0;
  for (std::uint32_t v = 0; v < 8; ++v) {
    gather_block(set, block(5, 8, v), batch);
    for (std::size_t i = 0; i < batch.size(); ++i)
      BOOST_TEST(label(batch, i) == static_cast<std::int32_t>(next++));
  }
  BOOST_TEST(next == 5u);
  BOOST_TEST(batch.size() == 0u);
}

BOOST_AUTO_TEST_CASE(gathering_a_small_batch_takes_microseconds) {
  const auto set = numbered(1440, 64);
  const Feeder feeder(set, SampleOrder(OrderKind::permuted, 1440, 1), BatchPlan(1440, 8, 8));
  BatchBuffer batch(set, 8);
  auto best = Duration::max();
  for (std::uint64_t step = 0; step < 2000; ++step) {
    const auto start = monotonic_now();
    feeder.gather(Step{step}, VirtualWorker{static_cast<std::uint32_t>(step % 8)}, batch);
    best = std::min(best, monotonic_now() - start);
  }
  BOOST_TEST_MESSAGE("8 x 64 floats: " << best.count() << " ns");
  BOOST_TEST(best < std::chrono::microseconds(20));
}

BOOST_AUTO_TEST_SUITE_END()

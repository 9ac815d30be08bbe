#include "actors/trainer/model_state.hpp"
#include "says.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <stdexcept>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(model_state)

BOOST_AUTO_TEST_CASE(a_name_is_registered_once_and_is_not_the_runtimes) {
  ModelState model(1, 4);
  model.parameter("w", {2, 3}, zeros(), DType::f32, Place::host);
  BOOST_CHECK_THROW(model.buffer("w", {1}, zeros(), DType::f32, Place::host), std::invalid_argument);
  BOOST_CHECK_THROW(model.statistic("w", {1}), std::invalid_argument);
  BOOST_CHECK_THROW(model.buffer("", {1}, zeros(), DType::f32, Place::host), std::invalid_argument);
  BOOST_CHECK_THROW(model.buffer("troupe/x", {1}, zeros(), DType::f32, Place::host), std::invalid_argument);
  BOOST_CHECK_THROW(model.buffer("n", {3, -1}, zeros(), DType::f32, Place::host), std::invalid_argument);
  BOOST_CHECK_THROW(model.buffer("huge", {1LL << 40, 1LL << 40}, zeros(), DType::f32, Place::host),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_is_not_there_yet_says_so) {
  ModelState model(1, 4);
  BOOST_CHECK_EXCEPTION(model.sharded("s", {8}, zeros(), DType::f32, Place::host), NotYet,
                        [](const auto& e) { return says(e, "not there yet"); });
  BOOST_CHECK_THROW(model.parameter("d", {8}, zeros(), DType::f32, Place::device), NotYet);
  BOOST_CHECK_THROW(model.buffer("h", {8}, zeros(), DType::bf16, Place::host), NotYet);
  BOOST_CHECK_THROW(model.parameter("i", {8}, zeros(), DType::i32, Place::host), NotYet);
}

BOOST_AUTO_TEST_CASE(registration_ends_with_build) {
  ModelState model(1, 4);
  BOOST_CHECK_THROW(model.close(), std::invalid_argument); // nothing to train
  model.parameter("w", {1}, zeros(), DType::f32, Place::host);
  model.close();
  BOOST_CHECK_THROW(model.buffer("late", {1}, zeros(), DType::f32, Place::host), std::logic_error);
}

BOOST_AUTO_TEST_CASE(an_initial_value_depends_on_seed_and_name_only) {
  const auto first = [](std::uint64_t seed, bool other_before) {
    ModelState model(seed, 4);
    if (other_before)
      model.parameter("a", {5}, normal(1), DType::f32, Place::host);
    return model.parameter("w", {3}, normal(1), DType::f32, Place::host).f32()[2];
  };
  BOOST_TEST(first(1, false) == first(1, true));
  BOOST_TEST(first(1, false) != first(2, false));
}

BOOST_AUTO_TEST_CASE(an_unknown_tensor_names_the_nearest) {
  ModelState model(1, 4);
  model.parameter("layer1/weights", {1}, zeros(), DType::f32, Place::host);
  BOOST_CHECK_EXCEPTION(model.tensor("layer1/weigths"), std::out_of_range,
                        [](const auto& e) { return says(e, "did you mean 'layer1/weights'"); });
}

BOOST_AUTO_TEST_CASE(parts_of_a_leaf_start_on_cache_lines_and_do_not_overlap) {
  ModelState model(1, 4);
  model.parameter("b", {3}, zeros(), DType::f32, Place::host);
  model.parameter("a", {17}, zeros(), DType::f32, Place::host);
  model.statistic("s", {2});
  model.close();
  BOOST_TEST(model.gradients()[0].offset == 0U);
  BOOST_TEST(model.gradients()[1].offset == 16U);
  BOOST_TEST(model.gradient_floats() == 48U);
  BOOST_TEST(model.statistics()[0].offset == 48U);
  BOOST_TEST(model.leaf_floats() == 64U);
}

BOOST_AUTO_TEST_CASE(virtual_state_has_one_tensor_per_virtual_worker) {
  ModelState model(1, 3);
  model.parameter("w", {1}, zeros(), DType::f32, Place::host);
  model.virtual_state("h", {2}, normal(1), DType::f32, Place::host);
  model.close();
  BOOST_TEST(model.tensor("h").size() == 6U);
  BOOST_TEST(model.virtual_state_of("h", 0).f32()[0] != model.virtual_state_of("h", 2).f32()[0]);
  BOOST_TEST(model.virtual_state_of("h", 2).f32()[1] == model.tensor("h").f32()[5]);
  BOOST_CHECK_THROW(model.virtual_state_of("h", 3), std::out_of_range);
  BOOST_CHECK_THROW(model.virtual_state_of("w", 0), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_layout_hash_sees_names_shapes_types_and_virtual_workers) {
  const auto hash = [](std::uint32_t v, const char* name, Shape shape, DType dtype) {
    ModelState model(1, v);
    model.parameter("w", {1}, zeros(), DType::f32, Place::host);
    model.buffer(name, std::move(shape), zeros(), dtype, Place::host);
    model.close();
    return model.layout_hash();
  };
  const auto base = hash(2, "b", {2, 3}, DType::f32);
  BOOST_TEST(base == hash(2, "b", {2, 3}, DType::f32));
  BOOST_TEST(base != hash(3, "b", {2, 3}, DType::f32));
  BOOST_TEST(base != hash(2, "c", {2, 3}, DType::f32));
  BOOST_TEST(base != hash(2, "b", {3, 2}, DType::f32));
  BOOST_TEST(base != hash(2, "b", {2, 3}, DType::i32));
}

BOOST_AUTO_TEST_CASE(a_tensor_is_read_as_what_it_is) {
  ModelState model(1, 1);
  auto t = model.buffer("t", {4}, constant(3), DType::i64, Place::host);
  BOOST_TEST(t.i64()[3] == 3);
  BOOST_CHECK_EXCEPTION(t.f32(), std::invalid_argument,
                        [](const auto& e) { return says(e, "'t' holds i64, asked for f32"); });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

#include "data/sample_order.hpp"
#include "tests/unit/seed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

using namespace troupe;
using namespace troupe::data;

BOOST_AUTO_TEST_SUITE(sample_order)

namespace {

std::vector<SampleId> epoch_of(const SampleOrder& order, std::uint64_t epoch) {
  std::vector<SampleId> rows(order.rows());
  order.fill(epoch * order.rows(), rows);
  return rows;
}

bool is_permutation_of_all(std::vector<SampleId> rows) {
  std::sort(rows.begin(), rows.end());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] != i)
      return false;
  return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_epoch_is_a_permutation_of_all_rows_for_every_small_number_of_rows) {
  for (std::uint64_t rows = 1; rows <= 600; ++rows)
    for (std::uint64_t epoch : {0, 1, 7})
      BOOST_REQUIRE_MESSAGE(is_permutation_of_all(epoch_of({OrderKind::permuted, rows, 3}, epoch)),
                            "rows " << rows << " epoch " << epoch);
}

BOOST_AUTO_TEST_CASE(each_epoch_is_a_permutation_of_all_rows_for_random_sizes_and_seeds) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Random random(seed, "test");
    const auto rows = 1 + random.below(100'000);
    const SampleOrder order(OrderKind::permuted, rows, random.next_u64());
    BOOST_TEST(is_permutation_of_all(epoch_of(order, random.below(1'000'000))));
  });
}

BOOST_AUTO_TEST_CASE(large_data_sets_need_no_memory_and_stay_in_range) {
  const std::uint64_t rows = (std::uint64_t{1} << 40) + 12345;
  const SampleOrder order(OrderKind::permuted, rows, 9);
  for (std::uint64_t i = 0; i < 1000; ++i)
    BOOST_TEST(order.row(5, rows - 1 - i * 1'000'003) < rows);
}

BOOST_AUTO_TEST_CASE(one_position_gives_the_same_row_however_it_is_asked_for) {
  test::for_each_seed(10, [](std::uint64_t seed) {
    Random random(seed, "test");
    const SampleOrder order(OrderKind::permuted, 1 + random.below(300), seed);
    std::vector<SampleId> all(1000);
    const auto first = random.below(1'000'000);
    order.fill(first, all);
    for (std::size_t i = 0; i < all.size(); ++i)
      BOOST_REQUIRE_EQUAL(all[i], order.at(first + i));
    // In any cuts, as any number of workers would take them.
    for (std::size_t at = 0; at < all.size();) {
      std::vector<SampleId> part(std::min(all.size() - at, 1 + random.below(70)));
      order.fill(first + at, part);
      BOOST_REQUIRE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(at)));
      at += part.size();
    }
  });
}

BOOST_AUTO_TEST_CASE(the_order_is_part_of_the_contract_and_never_changes) {
  const SampleOrder order(OrderKind::permuted, 1440, 1);
  const std::vector<SampleId> first{order.at(0), order.at(1), order.at(2), order.at(1439), order.at(1440)};
  const std::vector<SampleId> expected{1029, 698, 742, 921, 341};
  BOOST_TEST(first == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(epochs_and_seeds_give_different_orders) {
  const SampleOrder a(OrderKind::permuted, 1440, 1);
  const SampleOrder b(OrderKind::permuted, 1440, 2);
  BOOST_TEST(epoch_of(a, 0) != epoch_of(a, 1));
  BOOST_TEST(epoch_of(a, 0) != epoch_of(b, 0));
}

BOOST_AUTO_TEST_CASE(positions_and_rows_are_uncorrelated) {
  for (const std::uint64_t rows : {1000, 1440, 65'536, 65'537}) {
    const auto order = epoch_of({OrderKind::permuted, rows, 1}, 0);
    const double mean = static_cast<double>(rows - 1) / 2;
    double product = 0;
    double square = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double x = static_cast<double>(i) - mean;
      product += x * (static_cast<double>(order[i]) - mean);
      square += x * x;
    }
    // The correlation of a random permutation has standard deviation 1 / sqrt(rows - 1).
    BOOST_TEST(std::abs(product / square) < 4 / std::sqrt(static_cast<double>(rows - 1)));
  }
}

BOOST_AUTO_TEST_CASE(over_many_epochs_each_row_comes_first_about_equally_often) {
  constexpr std::uint64_t rows = 10;
  constexpr std::uint64_t epochs = 20'000;
  const SampleOrder order(OrderKind::permuted, rows, 1);
  std::vector<double> count(rows);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    ++count[order.row(epoch, 0)];
  double chi_square = 0;
  for (const auto n : count)
    chi_square += (n - epochs / rows) * (n - epochs / rows) / (epochs / rows);
  BOOST_TEST(chi_square < 33.7); // 9 degrees of freedom, p = 0.0001
}

BOOST_AUTO_TEST_CASE(sequential_order_is_the_identity) {
  const SampleOrder order(OrderKind::sequential, 10, 1);
  for (std::uint64_t p = 0; p < 30; ++p)
    BOOST_TEST(order.at(p) == p % 10);
}

BOOST_AUTO_TEST_CASE(orders_that_are_not_there_yet_say_so_and_unknown_ones_are_refused) {
  BOOST_TEST((parse_order("permuted").value() == OrderKind::permuted));
  BOOST_TEST((parse_order("sequential").value() == OrderKind::sequential));
  BOOST_TEST((parse_order("blocks").error().code == Errc::unsupported));
  BOOST_TEST((parse_order("leased").error().code == Errc::unsupported));
  BOOST_TEST((parse_order("shuffled").error().code == Errc::invalid));
}

BOOST_AUTO_TEST_SUITE_END()

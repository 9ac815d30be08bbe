#include "data/batch_plan.hpp"
#include "data/ledger.hpp"
#include "data/sample_order.hpp"
#include "tests/unit/seed.hpp"

#include <deque>
#include <vector>

using namespace troupe;
using namespace troupe::data;

BOOST_AUTO_TEST_SUITE(ledger)

namespace {

struct Image {
  std::vector<std::uint64_t> words;
  explicit Image(std::uint64_t rows, std::uint64_t window) : words(Ledger::image_bytes(rows, window) / 8, ~0ULL) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)); }
};

void commit(Ledger& ledger, const BatchPlan& plan, const SampleOrder& order, std::uint64_t step) {
  std::vector<SampleId> ids(plan.micro_batch());
  for (std::uint32_t v = 0; v < plan.virtual_workers(); ++v) {
    const auto range = plan.positions(Step{step}, VirtualWorker{v});
    order.fill(range.begin, ids);
    ledger.add_run(range.begin, ids);
  }
  ledger.advance(plan.position(Step{step + 1}));
}

} // namespace

BOOST_AUTO_TEST_CASE(undisturbed_training_counts_every_sample_of_every_epoch_once) {
  const BatchPlan plan(1440, 8, 7);
  const SampleOrder order(OrderKind::permuted, 1440, 1);
  Image image(1440, plan.epochs_in_flight());
  auto ledger = Ledger::format(image.bytes(), 1440, plan.epochs_in_flight());
  for (std::uint64_t step = 0; step < plan.steps_for_epochs(6); ++step)
    commit(ledger, plan, order, step);
  BOOST_TEST(ledger.finished_epochs() == 6u);
  const std::array<std::uint64_t, Ledger::max_count> expected{0, 6 * 1440};
  BOOST_TEST(ledger.histogram() == expected, boost::test_tools::per_element());
  BOOST_TEST(ledger.strays() == 0u);
}

BOOST_AUTO_TEST_CASE(rolling_back_to_any_of_the_last_versions_and_going_on_changes_no_byte) {
  test::for_each_seed(30, [](std::uint64_t seed) {
    Random random(seed, "test");
    const auto rows = 1 + random.below(200);
    const BatchPlan plan(rows, static_cast<std::uint32_t>(1 + random.below(8)), 1 + random.below(40));
    const SampleOrder order(OrderKind::permuted, rows, seed);
    const auto window = plan.epochs_in_flight();
    Image straight(rows, window);
    Image failing(rows, window);
    auto a = Ledger::format(straight.bytes(), rows, window);
    Ledger::format(failing.bytes(), rows, window);
    constexpr std::uint64_t steps = 60;
    for (std::uint64_t step = 0; step < steps; ++step)
      commit(a, plan, order, step);
    // Versions are copies of the image; a failure goes back to one of the last three and binds it anew.
    std::deque<std::pair<std::uint64_t, Image>> versions{{0, failing}};
    std::uint64_t step = 0;
    for (int budget = 1000; step < steps && budget > 0; --budget) {
      if (random.below(5) == 0) {
        const auto& [at, image] = versions[random.below(versions.size())];
        step = at;
        failing = image;
        std::erase_if(versions, [&](const auto& v) { return v.first > step; });
      } else {
        auto b = Ledger::bind(failing.bytes(), rows, window).value();
        commit(b, plan, order, step++);
        versions.emplace_back(step, failing);
        if (versions.size() > 3)
          versions.pop_front();
      }
    }
    BOOST_REQUIRE_EQUAL(step, steps);
    BOOST_TEST((straight.words == failing.words));
    const auto histogram = a.histogram();
    BOOST_TEST(histogram[1] == a.finished_epochs() * rows);
    BOOST_TEST(a.finished_epochs() == steps * plan.global_batch() / rows);
  });
}

BOOST_AUTO_TEST_CASE(a_sample_trained_twice_or_never_shows_in_the_histogram) {
  Image image(4, 2);
  auto ledger = Ledger::format(image.bytes(), 4, 2);
  for (const SampleId id : {0, 1, 1, 1, 2, 2})
    ledger.add(0, id);
  BOOST_TEST(ledger.count(0, 1) == 3u);
  BOOST_TEST(ledger.count(0, 3) == 0u);
  ledger.add(1, 3);
  ledger.advance(4);
  const std::array<std::uint64_t, Ledger::max_count> expected{1, 1, 1, 1};
  BOOST_TEST(ledger.histogram() == expected, boost::test_tools::per_element());
  BOOST_TEST(ledger.count(1, 3) == 1u);
  BOOST_TEST(ledger.added() == 7u);
}

BOOST_AUTO_TEST_CASE(the_order_in_which_repeats_are_told_apart_does_not_matter_after_the_epoch) {
  Image image(4, 2);
  auto ledger = Ledger::format(image.bytes(), 4, 2);
  ledger.add(1, 2);
  ledger.add(1, 2);
  for (const SampleId id : {0, 0, 1, 2, 3})
    ledger.add(0, id);
  ledger.advance(4);
  BOOST_TEST(ledger.count(1, 2) == 2u);
  BOOST_TEST(ledger.histogram()[2] == 1u);
}

BOOST_AUTO_TEST_CASE(ids_and_epochs_out_of_range_are_counted_as_strays_and_harm_nothing) {
  Image image(4, 2);
  auto ledger = Ledger::format(image.bytes(), 4, 2);
  ledger.add(0, 4);
  ledger.add(2, 0);
  ledger.advance(4);
  ledger.add(0, 1);
  BOOST_TEST(ledger.strays() == 3u);
  BOOST_TEST(ledger.histogram()[0] == 4u);
}

BOOST_AUTO_TEST_CASE(more_repeats_than_the_table_holds_are_counted_as_strays) {
  const std::uint64_t rows = Ledger::max_repeats + 10;
  Image image(rows, 2);
  auto ledger = Ledger::format(image.bytes(), rows, 2);
  for (int round = 0; round < 2; ++round)
    for (SampleId id = 0; id < rows; ++id)
      ledger.add(0, id);
  BOOST_TEST(ledger.strays() == 10u);
}

BOOST_AUTO_TEST_CASE(an_image_of_another_data_set_is_refused) {
  Image image(100, 2);
  BOOST_TEST((Ledger::bind(image.bytes(), 100, 2).error().code == Errc::corrupt));
  Ledger::format(image.bytes(), 100, 2);
  BOOST_TEST(Ledger::bind(image.bytes(), 100, 2).has_value());
  BOOST_TEST(!Ledger::bind(image.bytes(), 101, 2).has_value());
  BOOST_TEST(!Ledger::bind(image.bytes(), 100, 3).has_value());
}

BOOST_AUTO_TEST_CASE(an_image_tells_its_own_rows_and_a_foreign_one_is_refused_however_it_is_damaged) {
  Image image(100, 2);
  BOOST_TEST(!Ledger::open(image.bytes()).has_value());
  BOOST_TEST(!Ledger::open(image.bytes().first(8)).has_value());
  Ledger::format(image.bytes(), 100, 2);
  BOOST_TEST(Ledger::open(image.bytes())->rows() == 100u);
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{101}, std::uint64_t{1} << 33, ~std::uint64_t{0}}) {
    auto rows = image;
    rows.words[1] = wrong;
    BOOST_TEST((!Ledger::open(rows.bytes()) || wrong == 101));
    auto window = image;
    window.words[2] = wrong;
    BOOST_TEST(!Ledger::open(window.bytes()).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()

#include "cli/values.hpp"

#include "cli/diagnostic.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(values)

BOOST_AUTO_TEST_CASE(durations_are_read_exactly_and_written_back_short) {
  const std::pair<const char*, Duration> cases[] = {{"30s", 30s},  {"1.5m", 90s},    {"100ms", 100ms},
                                                    {"10 s", 10s}, {"250us", 250us}, {"0.25s", 250ms},
                                                    {"2h", 2h},    {"0", 0s},        {"7ns", 7ns}};
  for (const auto& [text, wanted] : cases) {
    const auto got = parse_duration(text);
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST((*got == wanted), text);
    BOOST_TEST((*parse_duration(format_duration(wanted)) == wanted));
  }
  BOOST_TEST(format_duration(90s) == "90s");
  BOOST_TEST(format_duration(120s) == "2m");
  BOOST_TEST(format_duration(1500ms) == "1500ms");
  BOOST_TEST(format_duration(0s) == "0s");
}

BOOST_AUTO_TEST_CASE(a_duration_without_unit_sign_or_sense_is_refused) {
  for (const char* text : {"", "30", "-1s", "s", "1 d", "1..5s", "1.s", "0.5ns", "99999999999h", "1e3s"})
    BOOST_TEST(!parse_duration(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(sizes_know_binary_and_decimal_units) {
  BOOST_TEST((*parse_size("64MiB") == 64u << 20));
  BOOST_TEST((*parse_size("1.5KiB") == 1536u));
  BOOST_TEST((*parse_size("2 MB") == 2'000'000u));
  BOOST_TEST((*parse_size("17") == 17u));
  BOOST_TEST(format_size(64u << 20) == "64MiB");
  BOOST_TEST(format_size(1000) == "1000B");
  BOOST_TEST(!parse_size("5 parsecs").has_value());
}

BOOST_AUTO_TEST_CASE(cadences_round_trip) {
  for (const char* text : {"auto", "never", "50 steps", "1 step", "2 epochs", "30s"})
    BOOST_TEST(format_cadence(*parse_cadence(text)) == text);
  for (const char* text : {"", "0 steps", "sometimes", "50", "0s", "50 stepz"})
    BOOST_TEST(!parse_cadence(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(budgets_round_trip) {
  BOOST_TEST(format_budget(*parse_budget("3 per 60s")) == "3 per 1m");
  BOOST_TEST((parse_budget("3 per 60s")->restarts == 3u));
  for (const char* text : {"3", "3 per", "per 60s", "3 per 10ms", "-1 per 60s"})
    BOOST_TEST(!parse_budget(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(numbers_are_grouped_by_thousands) {
  BOOST_TEST(with_commas(0) == "0");
  BOOST_TEST(with_commas(999) == "999");
  BOOST_TEST(with_commas(1184) == "1,184");
  BOOST_TEST(with_commas(144000000) == "144,000,000");
}

BOOST_AUTO_TEST_CASE(the_nearest_word_forgives_typing_but_does_not_guess) {
  const std::vector<std::string> words = {"virtual", "start", "min", "max", "micro_batch"};
  BOOST_TEST(nearest("virtal", words) == "virtual");
  BOOST_TEST(nearest("strat", words) == "start");
  BOOST_TEST(nearest("Max", words) == "max");
  BOOST_TEST(nearest("batch", words) == "micro_batch");
  BOOST_TEST(nearest("elephant", words) == "");
}

BOOST_AUTO_TEST_CASE(carets_stand_under_the_culprit_behind_tabs_and_wide_characters) {
  Diagnostic d{"f", 3, "\tgröße = 1", 1, 7, "no", "hint"};
  BOOST_TEST(render(d) == "f:3: no\n   3 | \tgröße = 1\n     | \t^^^^^ hint");
}

BOOST_AUTO_TEST_SUITE_END()

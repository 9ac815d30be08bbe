#include "cli/report.hpp"
#include "cli/settings.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(pages)

BOOST_AUTO_TEST_CASE(the_configuration_reference_is_the_one_the_table_gives) {
  const auto page = read_file(TROUPE_DOCS "/configuration.md", 1 << 20);
  BOOST_REQUIRE(page.has_value());
  BOOST_TEST((*page == configuration_page()), "run: troupe docs configuration > docs/configuration.md");
}

BOOST_AUTO_TEST_CASE(every_key_of_the_report_is_described) {
  const auto page = read_file(TROUPE_DOCS "/report.md", 1 << 20);
  BOOST_REQUIRE(page.has_value());
  const auto described = [&](std::string_view name) {
    const auto key = name == "failure_class" ? std::string("`class`") : "`" + std::string(name) + "`";
    BOOST_TEST((page->find(key) != std::string::npos), key << " is missing in docs/report.md");
  };
  RunReport report;
  for_each_field(report, [&](std::string_view name, auto&) { described(name); });
  FailureRow failure;
  for_each_field(failure, [&](std::string_view name, auto&) { described(name); });
  for_each_field(failure.ms, [&](std::string_view name, auto&) { described(name); });
  CheckpointRow checkpoint;
  for_each_field(checkpoint, [&](std::string_view name, auto&) { described(name); });
}

BOOST_AUTO_TEST_SUITE_END()

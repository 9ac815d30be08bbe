// metrics.jsonl over the deaths of its writer: each step once, and only whole lines.
#include "actors/master/metrics_file.hpp"
#include "tests/unit/folder.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(metrics_file)

ProgressRow row(std::uint64_t step, std::uint64_t generation = 1) {
  ProgressRow r;
  r.step = Step{step};
  r.generation = Generation{generation};
  r.loss_sum = 1;
  r.loss_weight = 1;
  r.members = 4;
  return r;
}

std::string line(std::uint64_t step, std::uint64_t generation = 1) {
  return metrics_line(row(step, generation)) + '\n';
}

BOOST_AUTO_TEST_CASE(rows_are_written_in_order_of_steps_once_they_are_final) {
  const Folder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsFile file(path);
  for (const auto step : {2, 0, 1})
    file.add(row(static_cast<std::uint64_t>(step)));
  BOOST_TEST(contents(path).empty());
  file.write_before(Step{2});
  BOOST_TEST(contents(path) == line(0) + line(1));
}

BOOST_AUTO_TEST_CASE(a_void_generations_rows_give_way_to_those_of_the_next) {
  const Folder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsFile file(path);
  for (const std::uint64_t step : {0, 1, 2})
    file.add(row(step));
  file.forget(Generation{2}, Step{1});
  file.add(row(1, 2));
  file.write_before(Step{3});
  BOOST_TEST(contents(path) == line(0) + line(1, 2));
}

BOOST_AUTO_TEST_CASE(the_next_term_appends_only_steps_that_the_file_lacks) {
  const Folder folder;
  const auto path = folder / "metrics.jsonl";
  overwrite(path, line(0) + line(1));
  MetricsFile file(path);
  for (const std::uint64_t step : {0, 1, 2})
    file.add(row(step, 2));
  file.write_before(Step{3});
  BOOST_TEST(contents(path) == line(0) + line(1) + line(2, 2));
}

BOOST_AUTO_TEST_CASE(half_a_line_of_a_killed_master_is_cut_and_its_step_written_again) {
  for (std::size_t left = 0; left < line(1).size(); ++left) {
    const Folder folder;
    const auto path = folder / "metrics.jsonl";
    overwrite(path, line(0) + line(1).substr(0, left));
    MetricsFile file(path);
    for (const std::uint64_t step : {0, 1})
      file.add(row(step));
    file.write_before(Step{2});
    BOOST_TEST_CONTEXT(left << " bytes of the line were written")
      BOOST_TEST(contents(path) == line(0) + line(1));
  }
}

BOOST_AUTO_TEST_CASE(a_file_of_half_a_line_alone_is_begun_anew) {
  const Folder folder;
  const auto path = folder / "metrics.jsonl";
  overwrite(path, line(7).substr(0, 20));
  MetricsFile file(path);
  file.add(row(0));
  file.write_before(Step{1});
  BOOST_TEST(contents(path) == line(0));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

#include "cli/report.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <unistd.h>

using namespace troupe;
using Json = nlohmann::ordered_json;

namespace {

RunReport some_report() {
  RunReport r;
  r.job = "digits";
  r.result = "done";
  r.samples_by_count = {{1, 10}, {2, 1}, {10, 3}};
  r.metrics = {{"test_accuracy", 0.97}, {"loss", NAN}};
  FailureRow f;
  f.failure_class = "signal";
  f.ms.total = 37.25;
  r.failures.push_back(f);
  r.faults.push_back({"kill worker 2 at step 50", true, true, false});
  r.checkpoints.emplace_back().path = "x";
  r.config["job"]["name"] = "digits";
  r.host.name = "here";
  return r;
}

bool has_all(const Json& object, std::initializer_list<const char*> keys) {
  bool all = true;
  for (const char* key : keys) {
    BOOST_TEST(object.contains(key), key);
    all = all && object.contains(key);
  }
  return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(the_report_has_every_key_that_programs_count_on) {
  const auto json = Json::parse(report_json(some_report()));
  BOOST_TEST(
    has_all(json, {"job",    "result",           "cause",        "seed",    "steps",       "samples",
                   "epochs", "metrics",          "model_digest", "workers", "generations", "failures",
                   "faults", "samples_by_count", "skipped",      "goodput", "checkpoints", "modes",
                   "wall_s", "version",          "config",       "host"}));
  BOOST_TEST(has_all(json["workers"], {"start", "end"}));
  BOOST_TEST(has_all(json["failures"][0], {"id", "kind", "class", "node", "worker", "incarnation", "step",
                                           "resumed_step", "restore_source", "ms"}));
  BOOST_TEST(has_all(json["failures"][0]["ms"],
                     {"detect", "abort", "drain", "plan", "connect", "restore", "first_step", "total"}));
  BOOST_TEST(has_all(json["faults"][0], {"spec", "armed", "fired"}));
  BOOST_TEST(has_all(json["goodput"], {"useful", "startup", "evaluation", "recompute", "checkpoint", "detect",
                                       "reconfigure", "reload", "straggler_wait", "redundancy", "rebalance",
                                       "spare_idle", "repair", "notice_drain", "pause", "queue", "total"}));
  BOOST_TEST(json["samples_by_count"].dump() == R"({"1":10,"2":1,"10":3})");
  BOOST_TEST(json["metrics"]["loss"].is_null());
}

BOOST_AUTO_TEST_CASE(a_report_is_read_back_as_it_was_written) {
  auto r = some_report();
  r.metrics.erase("loss");
  const auto back = parse_report(report_json(r));
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST((*back == r));
  BOOST_TEST(!parse_report("{").has_value());
  BOOST_TEST(!parse_report("{\"steps\": \"many\"}").has_value());
  BOOST_TEST(parse_report("{\"later\": 1}").has_value());
}

BOOST_AUTO_TEST_CASE(the_exit_status_follows_from_the_report) {
  auto r = some_report();
  BOOST_TEST(exit_status(r) == 0);
  r.faults[0].fired = false;
  BOOST_TEST(exit_status(r) == 3);
  r.faults[0].exempt = true;
  BOOST_TEST(exit_status(r) == 0);
  r.result = "failed";
  BOOST_TEST(exit_status(r) == 1);
  r.result = "interrupted";
  BOOST_TEST(exit_status(r) == 130);
  r.result = "stopped";
  BOOST_TEST(exit_status(r) == 0);
}

BOOST_AUTO_TEST_CASE(a_report_replaces_the_old_one_whole_and_leaves_no_temporary_file) {
  namespace fs = std::filesystem;
  const auto dir = fs::temp_directory_path() / ("troupe-report-" + std::to_string(::getpid()));
  fs::create_directories(dir);
  const auto path = (dir / "r.json").string();
  BOOST_REQUIRE(write_report(path, some_report()).has_value());
  auto second = some_report();
  second.job = "other";
  BOOST_REQUIRE(write_report(path, second).has_value());
  const auto back = read_report(path);
  BOOST_REQUIRE(back.has_value());
  BOOST_TEST(back->job == "other");
  BOOST_TEST(std::distance(fs::directory_iterator(dir), fs::directory_iterator()) == 1);
  const auto done = write_report((dir / "missing" / "r.json").string(), second);
  BOOST_REQUIRE(!done.has_value());
  BOOST_TEST(done.error().context.find("No such file or directory") != std::string::npos);
  fs::remove_all(dir);
}

BOOST_AUTO_TEST_SUITE_END()

#include "cli/options.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

ParsedOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "troupe");
  return parse_options(static_cast<int>(words.size()), words.data());
}

} // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(run_takes_its_options_in_any_order_and_repeats_set_and_chaos) {
  const auto parsed = parse({"run", "--set", "a.b=1", "job.toml", "--workers", "4", "--set", "c.d=2",
                             "--chaos", "kill worker 2 at step 50", "--chaos", "nan worker 0 at step 3",
                             "--report", "r.json", "--resume"});
  BOOST_REQUIRE_MESSAGE(parsed.options.has_value(), parsed.text);
  const auto& run = parsed.options->run;
  BOOST_TEST((parsed.options->command == Command::run));
  BOOST_TEST(run.job_file == "job.toml");
  BOOST_TEST(*run.workers == 4u);
  BOOST_TEST((run.set == std::vector<std::string>{"a.b=1", "c.d=2"}));
  BOOST_TEST(run.chaos.size() == 2u);
  BOOST_TEST(run.report == "r.json");
  BOOST_TEST(run.resume);
}

BOOST_AUTO_TEST_CASE(the_steering_commands_share_their_options) {
  for (const char* name : {"status", "pause", "unpause", "save", "stop"}) {
    const auto parsed = parse({name, "--dir", "d", "--json"});
    BOOST_REQUIRE_MESSAGE(parsed.options.has_value(), parsed.text);
    BOOST_TEST((parsed.options->command == Command::control));
    BOOST_TEST(parsed.options->control.command == name);
    BOOST_TEST(parsed.options->control.dir == "d");
    BOOST_TEST(parsed.options->control.json);
  }
  const auto scale = parse({"scale", "6", "--dir", "d"});
  BOOST_REQUIRE_MESSAGE(scale.options.has_value(), scale.text);
  BOOST_TEST(scale.options->control.arguments.front() == "6");
  const auto kill = parse({"kill", "worker", "1"});
  BOOST_REQUIRE_MESSAGE(kill.options.has_value(), kill.text);
  BOOST_TEST((kill.options->control.arguments == std::vector<std::string>{"worker", "1"}));
}

BOOST_AUTO_TEST_CASE(every_command_has_help_with_exit_status_zero) {
  BOOST_TEST(parse({"--help"}).text.find("Exit status") != std::string::npos);
  BOOST_TEST(parse({"--version"}).text.starts_with("troupe "));
  for (const char* name : {"run", "master", "node", "status", "scale", "pause", "unpause", "save", "stop",
                           "kill", "check", "replay", "bench"}) {
    const auto parsed = parse({name, "--help"});
    BOOST_TEST(!parsed.options.has_value());
    BOOST_TEST(parsed.status == 0, name);
    BOOST_TEST(parsed.text.find(name) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(wrong_usage_is_exit_status_two_and_says_what_is_wrong) {
  const auto typo = parse({"rnu", "job.toml"});
  BOOST_TEST(typo.status == 2);
  BOOST_TEST(typo.text.find("did you mean 'run'?") != std::string::npos);
  BOOST_TEST(parse({}).status == 2);
  for (auto words : {std::vector<const char*>{"run"},
                     {"run", "j.toml", "--wrokers", "3"},
                     {"run", "j.toml", "--workers", "0"},
                     {"scale"},
                     {"scale", "x"},
                     {"bench", "speed"},
                     {"run", "j.toml", "--resume", "--fresh"},
                     {"run", "j.toml", "--nodes", "2"}}) {
    const auto parsed = parse(words);
    BOOST_TEST(!parsed.options.has_value());
    BOOST_TEST(parsed.status == 2);
    BOOST_TEST(parsed.text.find("--help says more") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

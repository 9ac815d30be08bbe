#include "cli/job_file.hpp"

#include "cli/settings.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

namespace {

using namespace troupe;

const std::string minimal =
  "[job]\nmodule = \"libx.so\"\nsteps = 10\n[workers]\nvirtual = 8\n[data]\npath = \"d.csv\"\n";

JobFileOptions loose(std::vector<std::string> overrides = {}) {
  JobFileOptions options;
  options.overrides = std::move(overrides);
  options.working_dir = "/here";
  options.check_files = false;
  return options;
}

JobFile good(const std::string& text, std::vector<std::string> overrides = {}) {
  auto job = parse_job(text, "/jobs/digits.toml", loose(std::move(overrides)));
  BOOST_REQUIRE_MESSAGE(job.has_value(), (job ? "" : render(job.error())));
  return *job;
}

std::string refusal(const std::string& text, std::vector<std::string> overrides = {}) {
  auto job = parse_job(text, "digits.toml", loose(std::move(overrides)));
  BOOST_REQUIRE_MESSAGE(!job.has_value(), "was accepted: " << text);
  return render(job.error());
}

std::string with(const std::string& section, const std::string& line) {
  auto text = minimal;
  if (const auto at = text.find("[" + section + "]\n"); at != std::string::npos)
    return text.insert(at + section.size() + 3, line + "\n");
  return text + "[" + section + "]\n" + line + "\n";
}

} // namespace

BOOST_AUTO_TEST_SUITE(job_file)

BOOST_AUTO_TEST_CASE(a_minimal_file_gets_every_other_value_by_default) {
  const auto c = good(minimal).config;
  BOOST_TEST(c.job.name == "digits");
  BOOST_TEST(c.job.dir == "/here/digits.troupe-run");
  BOOST_TEST(c.checkpoint.dir == "/here/digits.troupe-run/checkpoints");
  BOOST_TEST(c.data.path == "/jobs/d.csv");
  BOOST_TEST(c.workers.max == 8u);
  BOOST_TEST(c.workers.start == 1u);
  BOOST_TEST((c.recovery == RecoverySettings{}));
  BOOST_TEST((c.limits == LimitsSettings{}));
  BOOST_TEST(c.hash != 0u);
}

BOOST_AUTO_TEST_CASE(every_default_lies_in_its_own_range_and_survives_being_written_and_read) {
  const auto before = good(minimal).config;
  for (const auto& s : settings()) {
    auto config = before;
    const auto text = value_text(s, config);
    if (text.empty() || s.required)
      continue;
    const auto done = assign(s, config, {RawValue::Type::untyped, text});
    BOOST_TEST(done.has_value(),
               s.section << "." << s.key << " = " << text << ": " << (done ? "" : done.error().context));
    BOOST_TEST(value_text(s, config) == text);
  }
}

BOOST_AUTO_TEST_CASE(every_setting_has_a_section_a_sentence_and_a_reason) {
  for (const auto& s : settings()) {
    BOOST_TEST(!s.doc.empty());
    BOOST_TEST(!s.reason.empty());
    BOOST_TEST((s.doc.ends_with(".")), s.section << "." << s.key);
    bool there = false;
    for (const auto& section : sections())
      there = there || section.name == s.section;
    BOOST_TEST(there);
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_shown_with_line_caret_and_the_nearest_one) {
  BOOST_TEST(refusal("[job]\nmodule = \"x\"\nsteps = 1\n\n[workers]\n# V\nvirtal = 8\n") ==
             "digits.toml:7: unknown key 'virtal' in [workers]\n"
             "   7 | virtal = 8\n"
             "     | ^^^^^^ did you mean 'virtual'?");
}

BOOST_AUTO_TEST_CASE(a_key_in_the_wrong_section_is_sent_to_the_right_one) {
  BOOST_TEST(refusal(with("job", "  hold = \"1s\"")) == "digits.toml:2: unknown key 'hold' in [job]\n"
                                                        "   2 |   hold = \"1s\"\n"
                                                        "     |   ^^^^ did you mean [recovery] hold?");
  BOOST_TEST(refusal("steps = 3\n" + minimal) ==
             "digits.toml:1: key 'steps' stands outside of every section\n"
             "   1 | steps = 3\n"
             "     | ^^^^^ it belongs under [job]");
}

BOOST_AUTO_TEST_CASE(an_unknown_section_is_shown_with_the_nearest_one) {
  BOOST_TEST(refusal(minimal + "[limts]\nhang = \"1s\"\n") == "digits.toml:8: unknown section [limts]\n"
                                                              "   8 | [limts]\n"
                                                              "     |  ^^^^^ did you mean 'limits'?");
  BOOST_TEST(refusal(minimal + "[limts]\n").starts_with("digits.toml:8: unknown section [limts]"));
}

BOOST_AUTO_TEST_CASE(a_section_without_keys_is_fine) {
  good(minimal + "[trainer]\n[limits]\n[checkpoint]\n");
}

BOOST_AUTO_TEST_CASE(a_value_of_the_wrong_type_says_what_is_wanted) {
  BOOST_TEST(refusal(with("workers", "start = \"4\"")) ==
             "digits.toml:5: [workers] start must be a whole number, got the string \"4\"\n"
             "   5 | start = \"4\"\n"
             "     |         ^^^");
  BOOST_TEST(refusal(with("limits", "hang = 30"))
               .find("must be a duration with its unit in quotes, such as \"30s\"") != std::string::npos);
  BOOST_TEST(refusal(with("checkpoint", "every = 50")).find("must say of what, in quotes: \"50 steps\"") !=
             std::string::npos);
  BOOST_TEST(refusal(with("job", "deterministic = 1")).find("must be true or false, got the integer 1") !=
             std::string::npos);
  BOOST_TEST(refusal(with("recovery", "budget_signal = 3")).find("such as \"3 per 60s\"") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_value_out_of_range_says_the_range) {
  BOOST_TEST(refusal(with("workers", "start = 0")) ==
             "digits.toml:5: [workers] start must be between 1 and 4096, got 0\n"
             "   5 | start = 0\n"
             "     |         ^");
  BOOST_TEST(refusal(with("workers", "min = -1")).find("must be between 1 and 4096, got -1") !=
             std::string::npos);
  BOOST_TEST(refusal(with("limits", "heartbeat = \"1ms\"")).find("must be between 10ms and 10s, got 1ms") !=
             std::string::npos);
  BOOST_TEST(refusal(with("job", "seed = 99999999999999999999")).find("must be a whole number") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(keys_that_contradict_each_other_are_refused_at_the_one_that_was_written) {
  BOOST_TEST(refusal(with("workers", "min = 4\nmax = 2")) ==
             "digits.toml:5: [workers] min = 4 is more than max = 2\n"
             "   5 | min = 4\n"
             "     |       ^");
  BOOST_TEST(refusal(with("workers", "max = 9"))
               .starts_with("digits.toml:5: [workers] max = 9 is more than virtual = 8"));
  BOOST_TEST(refusal(with("workers", "start = 3\nmax = 2"))
               .starts_with("digits.toml:5: [workers] start = 3 must lie"));
  BOOST_TEST(refusal(with("limits", "lost_after = \"200ms\"")).find("four times heartbeat = 100ms") !=
             std::string::npos);
  BOOST_TEST(refusal(with("evaluation", "metric = \"a\"")).find("without evaluation data") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_job_without_an_end_or_without_a_required_key_is_refused) {
  BOOST_TEST(refusal("[job]\nsteps = 1\n") == "digits.toml: [job] module is missing\n"
                                              "  add under [job]:  module = \"libmine.so\"");
  auto text = minimal;
  text.replace(text.find("steps = 10"), 10, "steps = 0");
  BOOST_TEST(refusal(text).starts_with("digits.toml:3: the job would never end"));
}

BOOST_AUTO_TEST_CASE(what_is_not_there_yet_says_so) {
  BOOST_TEST(
    refusal(with("data", "order = \"leased\"")).find("\"leased\" is not in this version; use \"permuted\"") !=
    std::string::npos);
  BOOST_TEST(refusal(with("comm", "backend = \"nccl\"")).find("\"nccl\" is not in this version") !=
             std::string::npos);
  BOOST_TEST(refusal(with("parameters", "mode = \"server\"")).find("not in this version") !=
             std::string::npos);
  BOOST_TEST(refusal(with("checkpoint", "peer_copies = 1")).find("not in this version") != std::string::npos);
  BOOST_TEST(refusal(with("job", "deterministic = false")).find("not in this version") != std::string::npos);
  BOOST_TEST(refusal(with("console", "listen = \"127.0.0.1:80\"")).find("not in this version") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_mistyped_choice_suggests_the_nearest) {
  BOOST_TEST(refusal(with("recovery", "strategy = \"respwan\"")) ==
             "digits.toml:9: [recovery] strategy must be \"respawn\" or \"restart-all\", got \"respwan\"; "
             "did you mean "
             "'respawn'?\n"
             "   9 | strategy = \"respwan\"\n"
             "     |            ^^^^^^^^^");
}

BOOST_AUTO_TEST_CASE(bad_toml_is_shown_with_line_and_caret) {
  BOOST_TEST(refusal("[job]\nname \"x\"\n") ==
             "digits.toml:2: not valid TOML: missing key-value separator `=`\n"
             "   2 | name \"x\"\n"
             "     |     ^ should be `=`");
  BOOST_TEST(refusal("[job]\nsteps = 1\nsteps = 2\n").starts_with("digits.toml:3: not valid TOML: value"));
  BOOST_TEST(refusal("[job\n").starts_with("digits.toml:1: not valid TOML: "));
}

BOOST_AUTO_TEST_CASE(overrides_win_and_relative_paths_in_them_start_at_the_working_directory) {
  const auto c = good(with("workers", "start = 2"),
                      {"workers.start=4", "data.path=other.csv", "limits.hang=5s", "recovery.hold=0",
                       "job.name=1234", "workers.start = 3", "recovery.budget_signal=1000 per 60s"})
                   .config;
  BOOST_TEST(c.workers.start == 3u);
  BOOST_TEST(c.data.path == "/here/other.csv");
  BOOST_TEST((c.limits.hang == std::chrono::seconds(5)));
  BOOST_TEST((c.recovery.hold == Duration{0}));
  BOOST_TEST(c.job.name == "1234");
  BOOST_TEST(c.recovery.budget_signal.restarts == 1000u);
}

BOOST_AUTO_TEST_CASE(a_bad_override_is_shown_with_a_caret) {
  BOOST_TEST(refusal(minimal, {"workers.virtal=8"}) == "--set: unknown key 'virtal' in [workers]\n"
                                                       "     | workers.virtal=8\n"
                                                       "     |         ^^^^^^ did you mean 'virtual'?");
  BOOST_TEST(refusal(minimal, {"workers.start=x"}) == "--set: [workers] start must be a whole number, got x\n"
                                                      "     | workers.start=x\n"
                                                      "     |               ^");
  BOOST_TEST(refusal(minimal, {"start=3"}).starts_with("--set: must be section.key=value"));
  BOOST_TEST(refusal(minimal, {"wrkers.start=3"}).find("did you mean 'workers'?") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_trainer_table_is_kept_with_types_lines_and_order) {
  const auto c =
    good(minimal + "[trainer]\nhidden = 64\nrate = 1e-3\nname = \"a b\"\nfast = true\nlayers = [64, 32]\n"
                   "decay = [1, 0.5]\ntags = [\"x\"]\n[trainer.adam]\nbeta = 0.9\n",
         {"trainer.hidden=-4", "trainer.extra=word", "trainer.list=[1,2]"})
      .config;
  const auto find = [&](std::string_view key) {
    for (const auto& v : c.trainer)
      if (v.key == key)
        return v;
    return TrainerValue{};
  };
  using Kind = TrainerValueKind;
  BOOST_TEST(c.trainer.size() == 10u);
  BOOST_TEST(find("hidden").value == "-4");
  BOOST_TEST((find("hidden").kind == Kind::integer));
  BOOST_TEST(find("hidden").where == "--set trainer.hidden");
  BOOST_TEST((find("rate").kind == Kind::number));
  BOOST_TEST(find("rate").value == "0.001");
  BOOST_TEST(find("rate").where == "/jobs/digits.toml:10");
  BOOST_TEST(find("rate").line == 10u);
  BOOST_TEST(find("name").value == "a b");
  BOOST_TEST((find("fast").kind == Kind::boolean));
  BOOST_TEST((find("layers").kind == Kind::integers));
  BOOST_TEST((find("layers").list == std::vector<std::string>{"64", "32"}));
  BOOST_TEST((find("decay").kind == Kind::numbers));
  BOOST_TEST((find("tags").kind == Kind::texts));
  BOOST_TEST(find("adam.beta").value == "0.9");
  BOOST_TEST(find("extra").value == "word");
  BOOST_TEST((find("list").kind == Kind::integers));
  BOOST_TEST(refusal(minimal + "[trainer]\nd = 2020-01-01\n").find("write a date as a string") !=
             std::string::npos);
  BOOST_TEST(refusal(minimal + "[trainer]\nl = [1, \"a\"]\n").find("list of numbers or a list of strings") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_hash_follows_what_may_not_change_on_resume_and_nothing_else) {
  const auto base = good(minimal).config.hash;
  BOOST_TEST(good(minimal, {"limits.hang=60s"}).config.hash == base);
  BOOST_TEST(good(minimal, {"job.steps=20"}).config.hash == base);
  BOOST_TEST(good(minimal, {"job.seed=2"}).config.hash != base);
  BOOST_TEST(good(minimal, {"trainer.x=2"}).config.hash != base);
  BOOST_TEST(good(minimal, {"workers.micro_batch=2"}).config.hash != base);
}

BOOST_AUTO_TEST_CASE(an_error_found_later_still_points_at_its_line) {
  const auto job = good(minimal);
  BOOST_TEST(render(job.error_at("job.module", "does not load")) == "/jobs/digits.toml:2: does not load\n"
                                                                    "   2 | module = \"libx.so\"\n"
                                                                    "     |          ^^^^^^^^^");
  BOOST_TEST(job.where("job.steps") == "/jobs/digits.toml:3");
  BOOST_TEST(render(job.error_at("job.seed", "is odd")) == "/jobs/digits.toml: is odd");
}

BOOST_AUTO_TEST_CASE(missing_files_are_refused_where_they_are_named) {
  namespace fs = std::filesystem;
  const auto dir = fs::temp_directory_path() / ("troupe-job-file-" + std::to_string(::getpid()));
  fs::create_directories(dir / "modules");
  const auto path = (dir / "job.toml").string();
  std::ofstream(path) << minimal;
  JobFileOptions options;
  options.module_dirs = {(dir / "modules").string()};
  auto job = load_job(path, options);
  BOOST_REQUIRE(!job);
  BOOST_TEST(job.error().message == "there is no module 'libx.so'");
  BOOST_TEST(job.error().line == 2u);
  BOOST_TEST(job.error().hint.find((dir / "modules").string()) != std::string::npos);
  std::ofstream(dir / "modules" / "libx.so") << "";
  job = load_job(path, options);
  BOOST_REQUIRE(!job);
  BOOST_TEST(job.error().message == "there is no file '" + (dir / "d.csv").string() + "'");
  std::ofstream(dir / "d.csv") << "";
  job = load_job(path, options);
  BOOST_REQUIRE(job);
  BOOST_TEST(job->config.job.module == (dir / "modules" / "libx.so").string());

  job = load_job((dir / "jbo.toml").string(), options);
  BOOST_REQUIRE(!job);
  BOOST_TEST(job.error().message == "No such file or directory");
  BOOST_TEST(job.error().hint == "did you mean '" + path + "'?");
  job = load_job(dir.string(), options);
  BOOST_REQUIRE(!job);
  BOOST_TEST(job.error().message == "is a directory, not a job file");
  fs::remove_all(dir);
}

BOOST_AUTO_TEST_SUITE_END()

#include "cli/screen.hpp"
#include "cli/table.hpp"
#include "cli/terminal.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

RunView digits_view() {
  RunView v;
  v.job = "digits";
  v.step = 1184;
  v.total_steps = 2250;
  v.steps_per_s = 612.4;
  v.has_loss = true;
  v.loss = 0.08412;
  v.workers = v.target = 4;
  v.generation = 5;
  v.failures = 3;
  return v;
}

FailureRow killed() {
  FailureRow f;
  f.id = 1;
  f.failure_class = "signal";
  f.worker = 2;
  f.incarnation = 1;
  f.pid = 41210;
  f.signal = 9;
  f.during = "reduce";
  f.step = 604;
  f.recovered = true;
  f.generation = 3;
  f.resumed_step = 604;
  f.restore_source = "worker 0";
  f.ms = {0.2, 0.6, 0.4, 0.3, 21.7, 3.1, 10.6, 36.9};
  return f;
}

RunReport digits_report() {
  RunReport r;
  r.job = "digits";
  r.result = "done";
  r.steps = r.total_steps = 2250;
  r.samples = 144000;
  r.epochs = 100;
  r.metrics = {{"test_accuracy", 0.972}};
  r.model_digest = "9f3ac1d07be4428e";
  r.samples_by_count = {{1, 144000}};
  r.steps_redone = 1;
  r.wall_s = 4.1;
  r.goodput.useful = 93.9;
  r.goodput.startup = 3.2;
  r.goodput.reload = 2.4;
  r.goodput.checkpoint = 0.5;
  r.goodput.total = 100;
  auto second = killed();
  second.worker = 0;
  second.during = "restore";
  second.restore_source = "worker 1";
  second.ms = {0.2, 0.7, 0.5, 0.3, 24.0, 3.2, 12.1, 41.0};
  auto first = killed();
  first.during.clear();
  r.failures = {first, second};
  r.checkpoints.resize(3);
  r.checkpoints[0].step = 750;
  r.checkpoints[1].step = 2200;
  r.checkpoints[1].verified = true;
  r.checkpoints[2].step = 1500;
  return r;
}

} // namespace

BOOST_AUTO_TEST_SUITE(screens)

BOOST_AUTO_TEST_CASE(the_progress_line_shows_step_speed_loss_members_failures_and_the_end) {
  BOOST_TEST(progress_line(digits_view(), {}) == "digits  step 1,184/2,250 ▕██████████▌         ▏ 52%  612 "
                                                 "steps/s  loss 0.08412  4 workers · gen 5 · 3 failures, "
                                                 "0 steps lost  eta 2 s");
  BOOST_TEST(progress_line(digits_view(), {.utf8 = false}) ==
             "digits  step 1,184/2,250 [##########          ] 52%  612 steps/s  loss 0.08412  4 workers, gen "
             "5, 3 failures, "
             "0 steps lost  eta 2 s");
}

BOOST_AUTO_TEST_CASE(the_progress_line_never_exceeds_the_width_and_leaves_out_the_least_important) {
  for (std::size_t width = 8; width < 140; ++width)
    BOOST_TEST(display_width(progress_line(digits_view(), {.colour = true, .width = width})) <= width);
  BOOST_TEST(progress_line(digits_view(), {.width = 80}) ==
             "digits  step 1,184/2,250 52%  612 steps/s  4 workers · gen 5  eta 2 s");
  BOOST_TEST(progress_line(digits_view(), {.width = 30}) == "digits  step 1,184/2,250 52%");
}

BOOST_AUTO_TEST_CASE(a_job_that_does_not_run_says_why) {
  auto v = digits_view();
  v.state = "waiting";
  v.note = "1 of at least 2 workers";
  v.workers = 1;
  BOOST_TEST(progress_line(v, {}).find("waiting: 1 of at least 2 workers") != std::string::npos);
  BOOST_TEST(progress_line(v, {}).find("1 of 4 workers") != std::string::npos);
  BOOST_TEST(progress_line(v, {}).find("steps/s") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(events_say_who_died_of_what_and_how_the_next_generation_came_to_be) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  BOOST_TEST(event_line(1'764'597'727'412'000'000, death_text(killed()), {}) ==
             "14:02:07.412  worker 2 (node 0, pid 41210, life 1) killed by signal 9 in reduce of step 604");
  const auto f = killed();
  BOOST_TEST(formed_text(3, 4, 604, "worker 0", &f.ms) ==
             "generation 3: 4 workers, resumed at step 604 from worker 0 · 37 ms (detect 0.2  abort 0.6  "
             "drain 0.4  plan 0.3  "
             "connect 21.7  restore 3.1  first step 10.6)");
  BOOST_TEST(formed_text(1, 1, 0, "", nullptr) == "generation 1: 1 worker, begins at step 0");
}

BOOST_AUTO_TEST_CASE(the_last_screen_tells_the_whole_run) {
  BOOST_TEST(
    summary_screen(digits_report(), "9f3ac1d07be4428e", {}) ==
    "digits finished: 2,250 steps, 100 epochs, 144,000 samples, each exactly once per epoch\n"
    "  test accuracy     97.2 %          model digest  9f3ac1d07be4428e  (undisturbed run: the same)\n"
    "  wall time         4.1 s           useful 93.9 %  start 3.2 %  recover 2.4 %  checkpoint 0.5 %\n"
    "  failures          2 of 2 recovered, 1 step redone\n"
    "    what                                   at step  resumed  state from  total  detect  abort  drain  "
    "plan  connect  "
    "restore  first step\n"
    "    worker 2 killed (signal 9)                 604      604  worker 0    37 ms     0.2    0.6    0.4   "
    "0.3     21.7  "
    "    3.1        10.6\n"
    "    worker 0 killed (signal 9) in restore      604      604  worker 1    41 ms     0.2    0.7    0.5   "
    "0.3     24.0  "
    "    3.2        12.1\n"
    "  checkpoints       3 written, newest step 2,200, verified\n");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_in_a_finished_run_stands_out) {
  auto r = digits_report();
  r.samples_by_count = {{0, 2}, {1, 143996}, {2, 2}};
  r.faults = {{"kill worker 1 at step 9000", true, false, false},
              {"kill worker every 1s", true, false, true}};
  r.skipped = 1;
  const auto text = summary_screen(r, "0000000000000000", {});
  BOOST_TEST(text.find("NOT each once per epoch: 2 never 143,996 once 2 2 times") != std::string::npos);
  BOOST_TEST(text.find("ANOTHER MODEL") != std::string::npos);
  BOOST_TEST(text.find("never happened    kill worker 1 at step 9000\n") != std::string::npos);
  BOOST_TEST(text.find("every 1s") == std::string::npos);
  BOOST_TEST(text.find("1 step with values that were not finite") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(many_failures_are_summed_up) {
  auto r = digits_report();
  r.failures.assign(300, killed());
  const auto text = summary_screen(r, "", {});
  BOOST_TEST(text.find("300 of 300 recovered") != std::string::npos);
  BOOST_TEST(text.find("recovery time p50 36.9 ms, p99 36.9 ms, longest 36.9 ms") != std::string::npos);
  BOOST_TEST(text.find("and 288 more") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failed_run_shows_the_first_cause_first_and_what_to_do) {
  RunReport r;
  r.job = "digits";
  r.result = "failed";
  r.cause = "the trainer threw in build() on every worker";
  r.details = {"first: worker 3, std::runtime_error: hidden must be a positive number, got -4   "
               "(examples/digits/digits.cpp:41)",
               "start-up errors are not retried. Fix [trainer] hidden in digits.toml:19."};
  BOOST_TEST(failure_screen(r, {}) ==
             "troupe: digits failed at step 0: the trainer threw in build() on every worker\n"
             "  first: worker 3, std::runtime_error: hidden must be a positive number, got -4   "
             "(examples/digits/digits.cpp:41)\n"
             "  start-up errors are not retried. Fix [trainer] hidden in digits.toml:19.\n");
}

BOOST_AUTO_TEST_CASE(status_shows_the_job_and_its_nodes) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  StatusView s;
  s.job = "digits";
  s.state = "running";
  s.term = 2;
  s.generation = 5;
  s.since_ns = 1'764'597'727'000'000'000;
  s.step = 1184;
  s.steps_per_s = 612;
  s.master_up_s = 6;
  s.master_restarts = 1;
  s.nodes = {{0, "127.0.0.1", 2, 2, {0, 1}, 41, ""},
             {1, "127.0.0.2", 2, 2, {2, 3}, 38, "1 restart in the last 60 s (limit 3)"}};
  BOOST_TEST(status_screen(s, {}) ==
             "digits · running · term 2 · generation 5 since 14:02:07 · step 1,184 · 612 steps/s · master up "
             "6.0 s (restarted "
             "once)\n"
             "node  host       slots  workers         heartbeat  notes\n"
             "0     127.0.0.1  2/2    rank 0, rank 1      41 ms\n"
             "1     127.0.0.2  2/2    rank 2, rank 3      38 ms  1 restart in the last 60 s (limit 3)\n");
}

BOOST_AUTO_TEST_CASE(piped_output_has_no_escapes_and_a_progress_line_every_ten_seconds) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  {
    Screen screen(ends[1], terminal_facts(ends[1]));
    const Time start{};
    screen.progress(digits_view(), start + 1s);
    screen.event("something happened");
    for (int i = 2; i < 25; ++i)
      screen.progress(digits_view(), start + i * 1s);
    screen.final("done\n");
  }
  ::close(ends[1]);
  std::string text(1 << 16, '\0');
  text.resize(static_cast<std::size_t>(::read(ends[0], text.data(), text.size())));
  ::close(ends[0]);
  const auto line = progress_line(digits_view(), {}) + "\n";
  BOOST_TEST(text == "something happened\n" + line + line + "done\n");
}

BOOST_AUTO_TEST_CASE(piped_output_tells_a_pause_at_once_but_not_each_short_recovery) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  auto recovering = digits_view(), paused = digits_view();
  recovering.state = "recovering";
  paused.state = "paused";
  {
    Screen screen(ends[1], terminal_facts(ends[1]));
    const Time start{};
    int at = 1;
    for (const auto& view : {digits_view(), recovering, digits_view(), paused, paused, digits_view()})
      screen.progress(view, start + at++ * 100ms);
  }
  ::close(ends[1]);
  std::string text(1 << 16, '\0');
  text.resize(static_cast<std::size_t>(::read(ends[0], text.data(), text.size())));
  ::close(ends[0]);
  BOOST_TEST(text == progress_line(paused, {}) + "\n" + progress_line(digits_view(), {}) + "\n");
}

BOOST_AUTO_TEST_CASE(on_a_terminal_the_line_is_redrawn_below_the_events) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  {
    Screen screen(ends[1], {.terminal = true, .style = {.width = 60}});
    const Time start{};
    screen.progress(digits_view(), start + 1s);
    screen.progress(digits_view(), start + 1s + 1ms);
    screen.event("bang");
    screen.final("done\n");
  }
  ::close(ends[1]);
  std::string text(1 << 16, '\0');
  text.resize(static_cast<std::size_t>(::read(ends[0], text.data(), text.size())));
  ::close(ends[0]);
  const auto line = progress_line(digits_view(), {.width = 60});
  BOOST_TEST(text == "\r\x1b[K" + line + "\r\x1b[Kbang\n" + line + "\r\x1b[Kdone\n");
}

BOOST_AUTO_TEST_CASE(times_are_told_in_the_unit_that_fits) {
  const std::pair<double, const char*> cases[] = {{0, "0 s"},          {0.0002, "0.2 ms"}, {0.037, "37 ms"},
                                                  {4.1, "4.1 s"},      {41, "41 s"},       {125, "2 min 5 s"},
                                                  {10920, "3 h 2 min"}};
  for (const auto& [seconds, text] : cases)
    BOOST_TEST(human_seconds(seconds) == text);
}

BOOST_AUTO_TEST_SUITE_END()

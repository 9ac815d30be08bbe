#include "cli/chaos_spec.hpp"

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

std::string refused(const std::string& sentence) {
  const auto fault = parse_fault(sentence);
  BOOST_REQUIRE_MESSAGE(!fault.has_value(), "was accepted: " << sentence);
  return render(fault.error());
}

} // namespace

BOOST_AUTO_TEST_SUITE(chaos_spec)

BOOST_AUTO_TEST_CASE(every_sentence_of_this_version_round_trips) {
  for (const char* sentence : {"kill worker 2 at step 50", "kill worker 2 at step 50 in gradient",
                               "kill worker 2 at step 50 in reduce", "kill worker 2 at step 50 in update",
                               "kill worker 2 at step 50 in snapshot", "kill worker 2 at step 50 in drain",
                               "kill worker 0 at step 0 in restore", "kill worker every 15s",
                               "stop worker 1 at step 30 for 3s", "slow worker 0 x3 from step 10 to 40",
                               "slow worker 0 x1.25 from step 0 to 0", "nan worker 2 at step 40"}) {
    const auto fault = parse_fault(sentence);
    BOOST_REQUIRE_MESSAGE(fault.has_value(), (fault ? "" : render(fault.error())));
    BOOST_TEST(format_fault(*fault) == sentence);
    BOOST_TEST(fault->text == sentence);
    BOOST_TEST((*parse_fault(format_fault(*fault)) == *fault));
  }
}

BOOST_AUTO_TEST_CASE(a_sentence_becomes_its_fields) {
  const auto kill = *parse_fault("  kill  worker 2 at step 50 in reduce ");
  BOOST_TEST(
    (kill.kind == FaultKind::kill && kill.target == FaultTarget::worker && kill.phase == FaultPhase::reduce));
  BOOST_TEST(kill.index == 2u);
  BOOST_TEST(kill.step.value == 50u);
  const auto slow = *parse_fault("slow worker 1 x2.5 from step 3 to step 9");
  BOOST_TEST(slow.percent == 250u);
  BOOST_TEST(slow.until.value == 9u);
  BOOST_TEST((parse_fault("stop worker 1 at step 3 for 250ms")->lasts == 250ms));
  BOOST_TEST((parse_fault("kill worker every 2s")->every == 2s));
  const auto master = *parse_fault("kill master at step 60");
  BOOST_TEST((master.target == FaultTarget::master));
  BOOST_TEST(master.step.value == 60u);
  BOOST_TEST(format_fault(master) == "kill master at step 60");
}

BOOST_AUTO_TEST_CASE(what_the_design_has_and_this_version_lacks_is_told_apart_from_nonsense) {
  BOOST_TEST(refused("kill agent 0 at step 60") ==
             "--chaos: 'kill agent' is not in this version\n"
             "     | kill agent 0 at step 60\n"
             "     | ^^^^^^^^^^ there are kill worker, kill master, stop worker, slow worker, nan worker");
  for (const char* sentence :
       {"kill node 1 at step 80", "kill agent 0 at step 70", "partition node 1 at step 30 for 5s",
        "flip worker 1 at step 44", "disk full at step 20 for 5s", "corrupt newest checkpoint at step 70"})
    BOOST_TEST(refused(sentence).find("is not in this version") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nonsense_is_shown_with_a_caret_and_the_nearest_form) {
  BOOST_TEST(refused("kil worker 2 at step 50") == "--chaos: no chaos begins with 'kil'\n"
                                                   "     | kil worker 2 at step 50\n"
                                                   "     | ^^^ did you mean 'kill'?");
  BOOST_TEST(refused("kill wroker 2 at step 50") == "--chaos: 'kill' has no target 'wroker'\n"
                                                    "     | kill wroker 2 at step 50\n"
                                                    "     |      ^^^^^^ did you mean 'worker'?");
  BOOST_TEST(refused("stop worker 1 at step 30") ==
             "--chaos: expected 'for' here, not the end\n"
             "     | stop worker 1 at step 30 \n"
             "     |                         ^ as in: stop worker 1 at step 30 for 3s");
  BOOST_TEST(refused("kill worker two at step 5").find("expected the number of a worker here, not 'two'") !=
             std::string::npos);
  BOOST_TEST(refused("kill worker 2 at step 5 in reduction").find("^^^^^^^^^ did you mean 'reduce'?") !=
             std::string::npos);
  BOOST_TEST(refused("kill worker 2 at step 5 please").find("complete before 'please'") != std::string::npos);
  BOOST_TEST(refused("slow worker 2 x1 from step 5 to 6").find("a factor such as x3") != std::string::npos);
  BOOST_TEST(refused("slow worker 2 x3 from step 5 to 4").find("lies before the first") != std::string::npos);
  BOOST_TEST(refused("kill worker every 0s").find("a duration such as 3s") != std::string::npos);
  BOOST_TEST(refused("").find("empty") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_file_holds_one_sentence_a_line) {
  const auto path =
    (std::filesystem::temp_directory_path() / ("troupe-chaos-" + std::to_string(getpid()))).string();
  std::ofstream(path) << "# two\nkill worker 1 at step 3\n\nnan worker 0 at step 9 # later\n";
  auto faults = read_faults({"kill worker every 1s", path});
  BOOST_REQUIRE(faults.has_value());
  BOOST_TEST(faults->size() == 3u);
  BOOST_TEST((*faults)[2].id == 2u);
  BOOST_TEST((*faults)[2].text == "nan worker 0 at step 9");
  std::ofstream(path) << "kill worker 1 at step 3\nkill worker 1 at stop 3\n";
  faults = read_faults({path});
  BOOST_REQUIRE(!faults.has_value());
  BOOST_TEST(faults.error().line == 2u);
  std::filesystem::remove(path);
}

BOOST_AUTO_TEST_SUITE_END()

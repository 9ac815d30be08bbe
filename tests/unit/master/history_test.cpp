// What is told of a run, from its records alone: also over terms, and from a journal that was cut.
#include "actors/codec.hpp"
#include "actors/kernel_schemas.hpp"
#include "actors/master/history.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {
namespace {

BOOST_AUTO_TEST_SUITE(history)

constexpr std::int64_t second = 1'000'000'000;

/// A journal as its records come in.
struct Journal {
  Journal() : story(JobConfig{}, 100) {}
  void record(RecordKind kind, std::string kernel = {}, std::vector<std::uint8_t> payload = {},
              std::vector<std::vector<std::uint8_t>> actions = {}) {
    JournalRecord r;
    r.kind = kind;
    r.term = term;
    r.sequence = ++sequence;
    r.kernel = std::move(kernel);
    r.wall_ns = wall;
    r.payload = std::move(payload);
    r.actions = std::move(actions);
    story.record(r);
  }
  void begin(std::uint64_t number, const std::vector<std::string>& chaos = {}) {
    term = Term{number};
    record(RecordKind::term);
    KernelSettings settings;
    for (const std::string& text : chaos) {
      FaultSpec fault;
      fault.id = static_cast<std::uint32_t>(settings.faults.size());
      fault.text = text;
      settings.faults.push_back(fault);
    }
    record(RecordKind::settings, {}, encode<schema::KernelSettings>(settings));
    specs = numbered(settings.faults);
  }
  template <class K>
  void event(const typename K::Event& what, const std::vector<typename K::Action>& actions = {}) {
    std::vector<std::vector<std::uint8_t>> bytes;
    for (const auto& action : actions)
      bytes.push_back(encode<typename kernel_schema<K>::Action>(action));
    record(RecordKind::event, std::string{K::name}, encode<typename kernel_schema<K>::Event>(what),
           std::move(bytes));
  }
  void fire(std::size_t index) {
    const FaultReached reached{specs.at(index).id, {}, Step{5}};
    event<FaultsKernel>(reached, {FireFault{term, reached.id, {}, true, specs.at(index).text}});
  }
  void all_stopped() { event<MembershipKernel>(Tick{}, {AllStopped{"the end"}}); }
  RunReport report() const { return story.report(wall); }

  History story;
  Term term;
  std::uint64_t sequence = 0;
  std::int64_t wall = 1000 * second;
  std::vector<FaultSpec> specs;
};

BOOST_AUTO_TEST_CASE(a_fault_that_fired_stays_so_in_a_new_term_and_lends_it_to_no_other) {
  Journal j;
  j.begin(1, {"a", "b"});
  j.fire(0);
  j.begin(2, {"c", "a"});
  const auto faults = j.report().faults;
  BOOST_REQUIRE(faults.size() == 2U);
  BOOST_TEST(faults[0].spec == "c");
  BOOST_TEST(!faults[0].fired);
  BOOST_TEST(faults[1].fired);
}

BOOST_AUTO_TEST_CASE(that_it_fired_is_known_from_a_snapshot_when_its_record_was_cut_away) {
  Journal j;
  j.begin(1, {"a", "b"});
  KernelSettings settings;
  settings.faults = j.specs;
  FaultsKernel kernel(settings);
  kernel.on(Started{Term{1}}, Time{});
  kernel.on(FaultReached{j.specs.at(1).id, {}, Step{5}}, Time{});
  j.record(RecordKind::snapshot, std::string{FaultsKernel::name},
           encode<kernel_schema<FaultsKernel>::State>(kernel.state()));
  BOOST_TEST(!j.report().faults.at(0).fired);
  BOOST_TEST(j.report().faults.at(1).fired);
}

BOOST_AUTO_TEST_CASE(a_stop_whose_checkpoint_failed_is_a_failure_and_an_interrupted_run_is_not) {
  const Persisted no_space{1, false, {}, 0, {}, false, {}, "no space left on device"};
  struct Case {
    bool save;
    bool answered; ///< else it timed out
    bool again;    ///< written after all
    const char* result;
  };
  const Case cases[] = {{true, true, false, "failed"},
                        {true, false, false, "failed"},
                        {true, true, true, "stopped"},
                        {false, true, false, "interrupted"}};
  for (const Case& c : cases) {
    Journal j;
    j.begin(1);
    j.event<CheckpointsKernel>(StopRequest{c.save, "troupe stop"});
    if (c.answered)
      j.event<CheckpointsKernel>(no_space);
    else
      j.event<CheckpointsKernel>(Tick{}, {SaveDone{0, false, {}, {}, "no answer within 15s"}});
    if (c.again)
      j.event<CheckpointsKernel>(Persisted{2, true, {Step{7}, Generation{1}}, 0, "c7", false, {}, {}});
    j.all_stopped();
    j.all_stopped(); // said again
    BOOST_TEST(j.report().result == c.result);
    BOOST_TEST(j.report().details.size() == (std::string{c.result} == "failed" ? 1U : 0U));
  }
}

BOOST_AUTO_TEST_CASE(how_a_run_ended_once_is_not_how_the_one_that_goes_on_with_it_ends) {
  for (const bool kept : {true, false}) {
    Journal j;
    j.begin(1);
    j.event<RecoveryKernel>(Tick{}, {FailJob{"too few workers", {}, {}, {}}});
    j.all_stopped();
    j.begin(2);
    j.event<MembershipKernel>(NodeReport{}, {RunFound{Term{2}, kept}});
    BOOST_TEST(j.report().result == (kept ? "failed" : ""));
    BOOST_TEST(j.story.ended() == kept);
    j.event<RendezvousKernel>(Tick{}, {JobFinished{5, Step{100}, Generation{2}, {}}});
    BOOST_TEST(j.report().result == (kept ? "failed" : "done"));
  }
}

BOOST_AUTO_TEST_CASE(the_time_between_two_terms_is_nobodys) {
  Journal j;
  j.begin(1);
  j.wall += 10 * second;
  j.event<RecoveryKernel>(Tick{});
  j.wall += 3600 * second; // until somebody resumed it
  j.begin(2);
  j.wall += 5 * second;
  j.event<RecoveryKernel>(Tick{});
  const RunReport r = j.report();
  BOOST_TEST(r.wall_s == 15.0, boost::test_tools::tolerance(1e-9));
  const Goodput& g = r.goodput;
  const double slots = r.workers.start;
  BOOST_TEST(g.total == 15.0 * slots, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(g.useful + g.startup + g.evaluation + g.recompute + g.checkpoint + g.reconfigure + g.reload + g.repair ==
               g.total,
             boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::test

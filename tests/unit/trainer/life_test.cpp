// The engine's life under a scripted port, alone in its generations: aborts, going back, sources that fail,
// saves, and the order of what it reports.
#include "actors/worker/engine.hpp"
#include "comm/local_communicator.hpp"
#include "tests/unit/seed.hpp"
#include "tests/unit/trainer/small_trainers.hpp"

#include <deque>
#include <functional>

namespace troupe {
namespace {

using testing::Linear;

std::shared_ptr<SlotBank> make_bank(const BankLayout& layout) {
  auto fd = SlotBank::create(layout, 8);
  BOOST_REQUIRE(fd.has_value());
  auto bank = SlotBank::attach(fd->get());
  BOOST_REQUIRE(bank.has_value());
  return std::make_shared<SlotBank>(std::move(*bank));
}

/// Plays the master for one worker. Each generation resumes at the newest version unless `choose` says
/// otherwise.
class ScriptedPort final : public WorkerPort {
public:
  std::function<void(const StepRow&, Communicator&)> on_commit;
  std::function<void(Plan&, std::vector<SourceBank>&)>
    choose; ///< changes the plan of generations after the first
  std::function<void(FaultPoint, Step, Communicator&)> on_point;
  std::deque<std::uint64_t> save_steps;
  std::vector<EngineReport> reports;
  std::vector<std::pair<std::uint64_t, PieceKey>> saves;
  std::vector<std::uint64_t> evaluated_steps;
  std::shared_ptr<SlotBank> bank;
  StateLayout layout;
  std::uint64_t generation = 0;
  std::uint64_t most_generations = 100;

  result<std::shared_ptr<SlotBank>> built(const StateLayout& l) override {
    layout = l;
    if (!bank)
      bank = make_bank(l.bank);
    return bank;
  }
  Order next() override {
    Order order;
    if (!reports.empty() && reports.back().phase == WorkerPhase::finished) {
      order.kind = Order::Kind::finish;
      return order;
    }
    if (++generation > most_generations)
      return order;
    order.kind = Order::Kind::form;
    order.assignment = std::make_unique<Assignment>();
    auto& a = *order.assignment;
    a.term = Term{1};
    a.plan.generation = Generation{generation};
    a.plan.previous = Generation{generation - 1};
    if (const auto newest = bank->newest())
      a.plan.resume = newest->key;
    Member me;
    me.virtual_count = layout.virtual_workers;
    a.plan.members = {me};
    if (generation > 1 && choose)
      choose(a.plan, a.sources);
    comm = std::make_shared<LocalCommunicator>(
      LocalCommunicator::Shape{Generation{generation}, layout.virtual_workers, layout.leaf_floats,
                               layout.leaf_doubles, layout.attachment_bytes});
    a.communicator = comm;
    a.bank = bank;
    return order;
  }
  void report(const EngineReport& r) override { reports.push_back(r); }
  void enter(Activity, Step, Time) override {}
  Effect at(FaultPoint point, Step step) override {
    if (on_point && comm)
      on_point(point, step, *comm);
    return {};
  }
  void committed(const StepRow& row, const Spent&) override {
    if (on_commit)
      on_commit(row, *comm);
  }
  std::uint64_t wanted_save(Step version) override {
    if (save_steps.empty() || save_steps.front() > version.value)
      return 0;
    save_steps.pop_front();
    return 77;
  }
  void saved(std::uint64_t request, PieceKey key, std::uint32_t slot, bool) override {
    saves.emplace_back(request, key);
    for (const auto& version : bank->list())
      BOOST_TEST(version.pinned == (version.key == key && version.slot == slot));
  }
  void evaluated(const EvaluationRow& row) override { evaluated_steps.push_back(row.step.value); }
  void rows_restored(std::span<const StepRow> rows) override { restored_rows = {rows.begin(), rows.end()}; }
  void digest_mismatch(Generation, Step, std::span<const std::uint64_t>) override {}
  void mode(std::string_view) override {}

  std::vector<StepRow> restored_rows;
  std::shared_ptr<LocalCommunicator> comm;
};

struct Run {
  EngineEnd end;
  std::array<std::uint64_t, data::Ledger::max_count> counts;
};

template <class T = Linear>
Run run(ScriptedPort& port, const JobConfig& job) {
  const auto data = testing::small_data();
  T trainer;
  Engine engine({job, trainer, data.train, &*data.evaluation, port});
  Run out;
  out.end = engine.run();
  out.counts = engine.ledger().histogram();
  return out;
}

template <class T = Linear>
Run undisturbed() {
  ScriptedPort port;
  return run<T>(port, testing::small_job());
}

void check_same(const Run& a, const Run& b) {
  BOOST_TEST((a.end.kind == EngineEnd::Kind::finished));
  BOOST_TEST(a.end.failure.what == "");
  BOOST_TEST(a.end.model_digest == b.end.model_digest);
  BOOST_TEST(a.counts == b.counts, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE(life)

BOOST_AUTO_TEST_CASE(aborts_at_any_point_change_nothing) {
  const auto plain = undisturbed();
  const auto phases = undisturbed<testing::TwoPhases>();
  test::for_each_seed(40, [&](std::uint64_t seed) {
    Random random(seed, "aborts");
    const auto often = 2 + random.below(20);
    const auto disturb = [&](ScriptedPort& port) {
      port.on_point = [&](FaultPoint, Step, Communicator& comm) {
        if (random.below(often) == 0)
          comm.abort("test");
      };
    };
    ScriptedPort a, b;
    disturb(a);
    disturb(b);
    a.most_generations = b.most_generations = 10'000;
    check_same(run(a, testing::small_job()), plain);
    check_same(run<testing::TwoPhases>(b, testing::small_job()), phases);
  });
}

BOOST_AUTO_TEST_CASE(a_generation_may_resume_at_an_older_version_or_as_built) {
  const auto plain = undisturbed();
  for (bool as_built : {false, true}) {
    ScriptedPort port;
    port.on_commit = [&](const StepRow& row, Communicator& comm) {
      if (row.step.value == 5 && port.generation == 1)
        comm.abort("back");
    };
    port.choose = [&](Plan& plan, std::vector<SourceBank>&) {
      if (port.generation == 2)
        plan.resume = as_built ? PieceKey{} : port.bank->list().at(1).key;
    };
    check_same(run(port, testing::small_job()), plain);
    BOOST_TEST(port.generation == 2U);
    BOOST_TEST(port.restored_rows.size() == (as_built ? 0U : 5U));
  }
}

BOOST_AUTO_TEST_CASE(what_is_newer_than_the_resume_point_is_void) {
  ScriptedPort port;
  port.on_commit = [&](const StepRow& row, Communicator& comm) {
    if (row.step.value == 5 && port.generation == 1)
      comm.abort("back");
  };
  PieceKey newest;
  port.choose = [&](Plan& plan, std::vector<SourceBank>&) {
    newest = port.bank->newest()->key;
    plan.resume = port.bank->list().at(1).key;
    port.choose = nullptr;
  };
  port.on_point = [&](FaultPoint point, Step, Communicator&) {
    if (point == FaultPoint::restore && port.generation == 2)
      BOOST_TEST(!port.bank->find(newest).has_value());
  };
  check_same(run(port, testing::small_job()), undisturbed());
  BOOST_TEST(newest.step.value == 6U);
}

BOOST_AUTO_TEST_CASE(a_fresh_process_takes_the_next_source_when_the_first_has_it_no_longer) {
  ScriptedPort first;
  first.on_commit = [&](const StepRow& row, Communicator& comm) {
    if (row.step.value == 7)
      comm.abort("leave");
  };
  first.most_generations = 1;
  BOOST_TEST((run(first, testing::small_job()).end.kind == EngineEnd::Kind::stopped));
  const auto resume = first.bank->newest()->key;

  ScriptedPort second; // another process, its own empty bank
  second.generation = 1;
  second.choose = [&](Plan& plan, std::vector<SourceBank>& sources) {
    plan.resume = resume;
    sources.resize(2);
    sources[0].bank = make_bank(second.layout.bank);
    sources[0].name = "worker 5";
    sources[1].bank = first.bank;
    sources[1].name = "worker 3";
  };
  check_same(run(second, testing::small_job()), undisturbed());
  std::string source;
  for (const auto& r : second.reports)
    if (r.phase == WorkerPhase::running)
      source = r.restore_source;
  BOOST_TEST(source == "worker 3");
  BOOST_TEST(second.restored_rows.size() == 8U);
}

BOOST_AUTO_TEST_CASE(without_any_source_the_generation_is_aborted_with_the_reasons) {
  ScriptedPort port;
  port.generation = 1;
  port.most_generations = 2;
  port.choose = [&](Plan& plan, std::vector<SourceBank>& sources) {
    plan.resume = PieceKey{Step{9}, Generation{1}};
    sources.resize(1);
    sources[0].bank = make_bank(port.layout.bank);
    sources[0].name = "worker 5";
  };
  BOOST_TEST((run(port, testing::small_job()).end.kind == EngineEnd::Kind::stopped));
  const auto& last = port.reports.back();
  BOOST_TEST((last.phase == WorkerPhase::drained));
  BOOST_TEST(last.cause.find("cannot restore step 9: worker 5") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_job_that_starts_from_a_checkpoint_has_its_own_counts) {
  ScriptedPort first;
  const auto donor = run(first, testing::small_job());
  const auto newest = *first.bank->newest();
  const auto source = make_bank(first.layout.bank);
  { // what the node does for job.init_from: the same pieces under the key of version 0
    auto writing = source->begin_write(PieceKey{});
    BOOST_REQUIRE(writing.has_value());
    const auto pieces = first.bank->view(newest);
    BOOST_REQUIRE(pieces.has_value());
    for (std::size_t i = 0; i < pieces->size(); ++i)
      writing->write(i, (*pieces)[i].bytes);
    BOOST_TEST(writing->publish().has_value());
  }
  ScriptedPort second;
  second.generation = 1;
  second.choose = [&](Plan& plan, std::vector<SourceBank>& sources) {
    plan.resume = PieceKey{};
    sources.resize(1);
    sources[0].bank = source;
    sources[0].name = "checkpoint";
  };
  const auto started = run(second, testing::small_job());
  BOOST_TEST((started.end.kind == EngineEnd::Kind::finished));
  BOOST_TEST(started.end.step.value == 12U);
  BOOST_TEST(started.end.model_digest != donor.end.model_digest);
  BOOST_TEST(started.counts == donor.counts, boost::test_tools::per_element());
  BOOST_TEST(second.restored_rows.empty());
}

BOOST_AUTO_TEST_CASE(a_save_is_of_the_first_version_at_or_after_the_one_asked_for) {
  ScriptedPort port;
  port.save_steps = {3, 9};
  auto job = testing::small_job();
  job.checkpoint.snapshot_every = {CadenceKind::never, 0, {}};
  check_same(run(port, job), undisturbed());
  BOOST_REQUIRE(port.saves.size() == 2U);
  BOOST_TEST(port.saves[0].first == 77U);
  BOOST_TEST(port.saves[0].second.step.value == 3U);
  BOOST_TEST(port.saves[1].second.step.value == 9U);
}

BOOST_AUTO_TEST_CASE(an_evaluation_that_is_repeated_decides_the_same) {
  ScriptedPort port;
  bool once = false;
  port.on_commit = [&](const StepRow& row, Communicator& comm) {
    if (row.step.value == 4 && !std::exchange(once, true)) // after the evaluation of version 4
      comm.abort("again");
  };
  port.choose = [&](Plan& plan, std::vector<SourceBank>&) { plan.resume = port.bank->list().at(1).key; };
  auto job = testing::small_job();
  job.evaluation.metric = "loss";
  job.evaluation.mode = MetricMode::max; // only the first is the best; then two without improvement
  job.evaluation.patience = 2;
  const auto disturbed = run(port, job);
  ScriptedPort calm;
  const auto plain = run(calm, job);
  check_same(disturbed, plain);
  BOOST_TEST(plain.end.step.value == 12U);
  BOOST_TEST(calm.evaluated_steps == (std::vector<std::uint64_t>{4, 8, 12}),
             boost::test_tools::per_element());
  BOOST_TEST(port.evaluated_steps == (std::vector<std::uint64_t>{4, 4, 8, 12}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(reports_come_in_the_order_of_a_life) {
  ScriptedPort port;
  bool once = false;
  port.on_commit = [&](const StepRow& row, Communicator& comm) {
    if (row.step.value == 2 && !std::exchange(once, true))
      comm.abort("test");
  };
  run(port, testing::small_job());
  std::vector<WorkerPhase> phases;
  for (const auto& r : port.reports)
    phases.push_back(r.phase);
  using P = WorkerPhase;
  const std::vector<P> expected{P::ready,   P::connecting, P::restoring,  P::running,
                                P::running, P::drained,    P::connecting, P::restoring,
                                P::running, P::running,    P::finished};
  BOOST_TEST((phases == expected));
  const auto& drained = port.reports[5];
  BOOST_TEST(drained.step.value == 3U);
  BOOST_TEST(drained.cause == "test");
  BOOST_TEST((!drained.holdings.empty() && drained.holdings[0].key == PieceKey{Step{3}, Generation{1}}));
  BOOST_TEST(
    (drained.times.detected <= drained.times.aborted && drained.times.aborted <= drained.times.drained));
  const auto& resumed = port.reports[9]; // after its first step
  BOOST_TEST((resumed.times.connected <= resumed.times.restored &&
              resumed.times.restored <= resumed.times.first_step));
  BOOST_TEST(port.reports.back().model_digest != 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

// The engine in one process: every feature of the trainer interface, without peers.
#include "actors/worker/in_process.hpp"
#include "comm/local_communicator.hpp"
#include "tests/unit/trainer/small_trainers.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

namespace troupe {
namespace {

using testing::Linear;

template <class T = Linear>
InProcessResult train(const JobConfig& job, const InProcessHooks& hooks = {}) {
  T trainer;
  return run_in_process(job, trainer, testing::small_data(), hooks);
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

BOOST_AUTO_TEST_SUITE(engine)

BOOST_AUTO_TEST_CASE(the_same_job_gives_the_same_bits_and_another_seed_others) {
  const auto a = train(testing::small_job());
  const auto b = train(testing::small_job());
  auto other = testing::small_job();
  other.job.seed = 8;
  BOOST_TEST((a.end.kind == EngineEnd::Kind::finished));
  BOOST_TEST(a.end.step.value == 12U);
  BOOST_TEST(a.end.model_digest == b.end.model_digest);
  BOOST_TEST(a.end.model_digest != train(other).end.model_digest);
}

BOOST_AUTO_TEST_CASE(each_sample_of_a_finished_epoch_is_counted_once) {
  auto job = testing::small_job(0);
  job.job.epochs = 3; // 53 samples, 15 per step: 11 steps, the last runs into the fourth epoch
  const auto r = train(job);
  BOOST_TEST(r.end.step.value == 11U);
  BOOST_TEST((r.samples_by_count == std::map<std::uint64_t, std::uint64_t>{{1, 159}}));
  BOOST_TEST(r.finished_epochs == 3U);
}

class Bad : public Linear {
public:
  static inline int times = 0;
  Loss gradient(const Model& model, const Batch& batch, Gradients& out) override {
    auto loss = Linear::gradient(model, batch, out);
    if (batch.step().value == 5 && batch.virtual_worker() == 2 && times > 0 && times--)
      out["weights"].f32()[3] = std::numeric_limits<float>::quiet_NaN();
    return loss;
  }
};

BOOST_AUTO_TEST_CASE(values_that_are_not_finite_once_are_forgotten_by_rollback) {
  Bad::times = 0;
  const auto clean = train<Bad>(testing::small_job());
  Bad::times = 1;
  const auto rolled = train<Bad>(testing::small_job());
  BOOST_TEST((rolled.end.kind == EngineEnd::Kind::finished));
  BOOST_TEST(rolled.end.model_digest == clean.end.model_digest);
  BOOST_TEST((rolled.spent.lost > Duration{}));
}

BOOST_AUTO_TEST_CASE(values_that_stay_not_finite_fail_with_the_name_of_the_tensor) {
  Bad::times = 2;
  const auto r = train<Bad>(testing::small_job());
  BOOST_TEST((r.end.kind == EngineEnd::Kind::failed));
  BOOST_TEST((r.end.failure.kind == FailureClass::corrupt_data));
  BOOST_TEST(r.end.failure.step.value == 5U);
  BOOST_TEST(has(r.end.failure.what, "'weights'"));
  auto job = testing::small_job();
  job.job.nonfinite = NonFinite::fail;
  Bad::times = 1;
  BOOST_TEST((train<Bad>(job).end.kind == EngineEnd::Kind::failed));
}

BOOST_AUTO_TEST_CASE(a_skipped_step_leaves_the_model_and_counts_its_samples) {
  auto job = testing::small_job();
  job.job.nonfinite = NonFinite::skip;
  Bad::times = 1;
  const auto r = train<Bad>(job);
  BOOST_TEST((r.end.kind == EngineEnd::Kind::finished));
  BOOST_TEST(r.skipped_steps == 1U);
  BOOST_TEST((r.samples_by_count == std::map<std::uint64_t, std::uint64_t>{{1, 159}}));
}

BOOST_AUTO_TEST_CASE(an_injected_nan_is_rolled_back_too) {
  InProcessHooks hooks;
  int fired = 0;
  hooks.at = [&](FaultPoint point, Step step) {
    Effect effect;
    effect.nan = point == FaultPoint::gradient && step.value == 4 && fired++ == 0;
    return effect;
  };
  BOOST_TEST(train(testing::small_job(), hooks).end.model_digest ==
             train(testing::small_job()).end.model_digest);
  BOOST_TEST(fired == 2);
}

class Throws : public Linear {
public:
  static inline std::string where;
  void build(Model& model, const Config& config) override {
    if (where == "build")
      throw std::runtime_error("no luck");
    Linear::build(model, config);
  }
  Loss gradient(const Model& model, const Batch& batch, Gradients& out) override {
    if (where == "gradient" && batch.step().value == 3)
      throw std::runtime_error("no luck");
    return Linear::gradient(model, batch, out);
  }
  void update(Model& model, const Gradients& mean, const StepInfo& info) override {
    if (where == "update" && info.step().value == 3)
      throw std::bad_alloc();
    Linear::update(model, mean, info);
  }
  void evaluate(const Model& model, const Batch& batch, Metrics& metrics) override {
    if (where == "evaluation")
      throw 5;
    Linear::evaluate(model, batch, metrics);
  }
};

BOOST_AUTO_TEST_CASE(an_exception_becomes_a_failure_with_class_step_and_phase) {
  const std::map<std::string, std::pair<FailureClass, std::uint64_t>> expected{
    {"build", {FailureClass::startup, 0}},
    {"gradient", {FailureClass::exception, 3}},
    {"update", {FailureClass::out_of_memory, 3}},
    {"evaluation", {FailureClass::exception, 4}},
  };
  for (const auto& [where, what] : expected) {
    Throws::where = where;
    const auto failure = train<Throws>(testing::small_job()).end.failure;
    BOOST_TEST((failure.kind == what.first), where);
    BOOST_TEST(failure.step.value == what.second, where);
    BOOST_TEST(failure.during == where);
    BOOST_TEST(!failure.what.empty());
  }
}

class Stops : public Linear {
public:
  static inline Verdict verdict = Verdict::go_on;
  static inline std::vector<std::uint64_t> seen;
  Verdict on_metrics(const Metrics& metrics, const StepInfo& info) override {
    seen.push_back(info.step().value);
    return metrics.value("loss") > 0 && info.step().value == 8 ? verdict : Verdict::go_on;
  }
};

BOOST_AUTO_TEST_CASE(evaluation_comes_at_its_cadence_and_at_the_end_and_may_stop_the_job) {
  Stops::seen.clear();
  Stops::verdict = Verdict::go_on;
  auto job = testing::small_job(14);
  const auto r = train<Stops>(job);
  BOOST_TEST(Stops::seen == (std::vector<std::uint64_t>{4, 8, 12, 14}), boost::test_tools::per_element());
  BOOST_TEST(r.metrics.at(0).first == "loss");
  Stops::verdict = Verdict::stop;
  const auto stopped = train<Stops>(job);
  BOOST_TEST((stopped.end.kind == EngineEnd::Kind::finished));
  BOOST_TEST(stopped.end.step.value == 8U);
}

BOOST_AUTO_TEST_CASE(patience_ends_the_job_and_the_best_is_marked) {
  auto job = testing::small_job(40);
  job.evaluation.metric = "loss";
  job.evaluation.mode = MetricMode::max; // the loss falls, so nothing gets better after the first
  job.evaluation.patience = 2;
  std::vector<bool> best;
  InProcessHooks hooks;
  hooks.evaluated = [&](const EvaluationRow& row) { best.push_back(row.best); };
  const auto r = train(job, hooks);
  BOOST_TEST(r.end.step.value == 12U);
  BOOST_TEST((best == std::vector<bool>{true, false, false}));
}

class Norms : public Linear {
public:
  void update(Model& model, const Gradients& mean, const StepInfo& info) override {
    Linear::update(model, mean, info);
    double sum = 0;
    for (float x : mean["weights"].f32())
      sum += static_cast<double>(x) * static_cast<double>(x);
    BOOST_TEST(info.global_norm() == std::sqrt(sum), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(info.finite());
    BOOST_TEST(info.global_batch() == 15U);
    BOOST_TEST(info.position() == info.step().value * 15);
    BOOST_TEST(info.total_steps() == 12U);
    BOOST_TEST(info.loss().weight == 15);
    (void)info.members();
  }
};

BOOST_AUTO_TEST_CASE(step_info_tells_the_truth_and_members_is_noted) {
  const auto r = train<Norms>(testing::small_job());
  BOOST_TEST(r.modes.size() == 1U);
}

class ByHand : public Linear {
public:
  void run(Session& session) override {
    while (session.begin()) {
      for (auto v : session.virtual_workers()) {
        auto& out = session.gradients(v);
        session.contribute(v, gradient(session.model(), session.batch(v), out));
      }
      if (!session.reduce())
        continue;
      session.begin_update();
      update(session.model(), session.mean(), session.info());
      session.commit();
    }
  }
};

BOOST_AUTO_TEST_CASE(a_loop_by_hand_gives_the_bits_of_the_default_one) {
  const auto by_hand = train<ByHand>(testing::small_job());
  BOOST_TEST(by_hand.end.model_digest == train(testing::small_job()).end.model_digest);
  BOOST_TEST((by_hand.samples_by_count == train(testing::small_job()).samples_by_count));
}

class Misuses : public Linear {
public:
  static inline int how = 0;
  void run(Session& session) override {
    session.begin();
    const auto v = session.virtual_workers()[0];
    const auto next = session.virtual_workers()[1];
    switch (how) {
    case 0: session.reduce(); break;       // nothing contributed
    case 1: session.gradient(next); break; // out of order
    case 2:
      session.gradient(v);
      session.gradient(v);
      break;                                            // twice
    case 3: session.mean(); break;                      // before reduce
    case 4: session.update(); break;                    // before reduce
    case 5: session.gradient(VirtualWorker{99}); break; // not ours
    default: return;                                    // leaves early
    }
  }
};

BOOST_AUTO_TEST_CASE(misuse_of_a_session_is_an_error_in_words) {
  for (Misuses::how = 0; Misuses::how <= 6; ++Misuses::how) {
    const auto end = train<Misuses>(testing::small_job()).end;
    BOOST_TEST((end.failure.kind == FailureClass::exception), Misuses::how);
    BOOST_TEST(has(end.failure.what, Misuses::how < 6 ? "Session: " : "Trainer::run returned"));
  }
}

BOOST_AUTO_TEST_CASE(a_request_to_stop_ends_the_job_at_a_step) {
  std::atomic<bool> stop{false};
  InProcessHooks hooks;
  hooks.stop = &stop;
  hooks.committed = [&](const StepRow& row) { stop = row.step.value == 5; };
  const auto r = train(testing::small_job(), hooks);
  BOOST_TEST((r.end.kind == EngineEnd::Kind::stopped));
  BOOST_TEST(r.end.step.value == 6U);
}

BOOST_AUTO_TEST_CASE(the_bare_loop_gives_the_same_bits) {
  const auto job = testing::small_job();
  const auto data = testing::small_data();
  Linear trainer;
  BareLoop bare(job, trainer, data.train);
  const auto& layout = bare.layout();
  LocalCommunicator comm({Generation{1}, layout.virtual_workers, layout.leaf_floats, layout.leaf_doubles,
                          layout.attachment_bytes});
  std::atomic<std::uint64_t> done{0};
  BOOST_TEST(bare.run(comm, 0, layout.virtual_workers, 12, done).has_value());
  BOOST_TEST(done == 12U);
  BOOST_TEST(bare.model_digest() == train(job).end.model_digest);
}

BOOST_AUTO_TEST_CASE(time_is_charged_to_exactly_one_category) {
  const auto began = monotonic_now();
  const auto s = train(testing::small_job(200)).spent;
  const auto sum = s.build + s.idle + s.connect + s.restore + s.useful + s.lost + s.wait + s.evaluation +
                   s.snapshot + s.drain;
  BOOST_TEST((sum <= monotonic_now() - began));
  BOOST_TEST((sum > (monotonic_now() - began) / 4));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe

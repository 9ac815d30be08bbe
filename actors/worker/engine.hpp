// Trains: owns the state, follows the orders of its port, and is the Session that Trainer::run drives. Lives on the
// trainer's thread, as do all calls to the trainer; another thread reaches it only by aborting the communicator.
//
// Life: build, then, while next() gives generations: connect, restore, verify, steps, and on an abort drain; at the
// end finished. Invariants:
//  - Live memory changes only in restore, between begin_update() and commit(), and nowhere else. A version torn there
//    is never published.
//  - commit() of step s follows a complete reduction of s, so no member is two steps ahead of another.
//  - After drained was reported for a generation nothing of it is contributed or applied.
//  - What is decided alike everywhere (evaluation, verdicts, non-finite values, digests) is decided from reduced bits
//    and the state alone, never from a clock or a count of this process.
// An exception of the trainer ends the engine; it becomes a Failure at the edge, in run(). A step allocates nothing,
// takes no lock and formats nothing here.
#pragma once

#include "actors/trainer/job_trainer_config.hpp"
#include "actors/trainer/step_views.hpp"
#include "actors/worker/attachment.hpp"
#include "actors/worker/engine_clock.hpp"
#include "actors/worker/engine_state.hpp"
#include "troupe/trainer.hpp"

#include <deque>
#include <optional>

namespace troupe {

/// Sees what happens inside, for `troupe check` and tests. Trainer's thread.
class EngineObserver {
public:
  virtual ~EngineObserver() = default;
  virtual void built(const ModelState&) {}
  virtual void before_gradient(const ModelState&, Step, VirtualWorker) {}
  virtual void after_gradient(const ModelState&, Step, VirtualWorker) {}
  virtual void committed(const ModelState&, Step) {}
};

struct EngineInputs {
  const JobConfig& job;
  Trainer& trainer;
  const data::Dataset& train;
  const data::Dataset* evaluation = nullptr; ///< null: never evaluates
  WorkerPort& port;
  EngineObserver* observer = nullptr;
};

inline constexpr std::uint64_t evaluation_chunk = 1024; ///< samples per call of evaluate(), whatever N is

/// How run() ended.
struct EngineEnd {
  enum class Kind : std::uint8_t { finished, stopped, failed };
  Kind kind = Kind::stopped;
  Failure failure;                ///< when failed
  std::uint64_t model_digest = 0; ///< when finished
  Step step;
  std::string cause; ///< when stopped
};

class Engine final : public Session {
public:
  explicit Engine(const EngineInputs& inputs);
  ~Engine() override;

  /// The whole life of a worker. Never throws.
  EngineEnd run();

  const EngineState& state() const { return state_; }
  /// What this engine's committed state counted.
  data::Ledger ledger() { return state_.ledger(); }
  const Spent& spent() const { return clock_.spent(); }
  std::uint64_t total_steps() const { return total_steps_; }

  // Session, called by Trainer::run
  bool begin() override;
  std::span<const VirtualWorker> virtual_workers() const override { return block_; }
  void gradient(VirtualWorker v) override;
  bool reduce() override;
  void update() override;
  const Batch& batch(VirtualWorker v) override;
  Gradients& gradients(VirtualWorker v) override;
  void contribute(VirtualWorker v, Loss loss) override;
  const Gradients& mean() const override;
  const StepInfo& info() const override { return facts_view_; }
  Model& model() override { return state_.model(); }
  void begin_update() override;
  void commit() override;

private:
  enum class Stage : std::uint8_t { outside, gradients, reduced, updating };
  enum class Boundary : std::uint8_t { go, again, finished };
  struct Failed { ///< ends the engine; not a std::exception, so that user code does not swallow it
    Failure failure;
  };

  // engine_life.cpp
  void build();
  bool obtain();
  bool enter();
  bool restore();
  bool load_as_built();
  bool load_resume_point();
  bool verify();
  void drain();
  bool finish();
  std::vector<Holding> holdings() const;
  void report(WorkerPhase phase);
  Failure describe(FailureClass kind, std::string what) const;
  [[noreturn]] void fail_with(FailureClass kind, std::string what) const;
  void drop_generation();

  // engine_boundary.cpp
  Boundary boundary();
  bool snapshot_due() const;
  bool evaluation_due(Step version) const;
  bool publish(bool must);
  void publish_last();
  void pin_for(std::uint64_t request, bool best);
  bool evaluate();
  void conclude(const MetricResult& metrics);
  void measure_snapshot(Duration cost);

  // engine_step.cpp
  void start_phase();
  void turn_to(Duration& category, Activity activity);
  std::size_t index_of(VirtualWorker v) const;
  StepBatch* take_batch();
  void give_back_batches();
  void write_attachment(VirtualWorker v);
  bool compare_digests(const Communicator::Reduced& reduced);
  bool divide(const Communicator::Reduced& reduced);
  bool not_finite();
  void keep_virtual();
  void commit_step(bool skipped);
  void slow_down(double factor, Time since);
  [[noreturn]] void misuse(std::string_view what) const;

  const JobConfig& job_;
  Trainer& trainer_;
  const data::Dataset& train_;
  const data::Dataset* evaluation_;
  WorkerPort& port_;
  EngineObserver* observer_;

  EngineClock clock_;
  Activity activity_ = Activity::building;
  data::Feeder feeder_;
  EngineState state_;
  std::shared_ptr<SlotBank> bank_;
  AttachmentLayout attachments_;
  std::uint64_t total_steps_; ///< as configured
  std::uint64_t last_step_;   ///< total_steps_, or earlier after a verdict
  std::uint32_t phases_ = 1;
  EngineEnd end_;
  bool ended_ = false;

  // the generation at hand
  std::unique_ptr<Assignment> assignment_;
  Communicator* comm_ = nullptr;
  std::vector<VirtualWorker> block_;
  EngineReport report_;
  bool first_step_due_ = false;
  std::uint64_t nonfinite_step_ = ~std::uint64_t{0}; ///< step that was redone already

  // the step at hand
  Stage stage_ = Stage::outside;
  bool boundary_done_ = false;
  std::uint32_t phase_ = 0;
  std::size_t next_contribution_ = 0; ///< index into block_
  bool leaf_ready_ = false;           ///< leaf of block_[next_contribution_] was handed out
  std::deque<StepBatch> batches_;     ///< as many as were in use at once so far
  std::vector<StepBatch*> idle_batches_;
  std::vector<StepBatch*> batch_of_; ///< by index in block_; null: not gathered, or contributed for good
  StepGradients gradients_;
  StepGradients mean_view_;
  std::unique_ptr<StateMemory> mean_;
  std::vector<std::byte> next_virtual_; ///< [V], what the phases of this step made so far
  StepFacts facts_;
  StepFactsView facts_view_;
  Communicator::Reduced reduced_{};
  std::span<float> leaf_;
  bool mode_said_ = false;
  Time step_began_{};

  // snapshots and saves
  std::optional<SlotBank::Pin> pin_;
  Time pinned_at_{};
  std::optional<StepBatch> evaluation_batch_;
  Duration snapshot_cost_{};
  Duration step_cost_{};
  std::uint64_t snapshot_interval_ = 1;
  std::uint64_t members_here_ = 1; ///< of the generation, on this worker's node
  std::uint64_t place_here_ = 0;   ///< among them
  Time last_commit_{};
};

} // namespace troupe

#include "actors/worker/in_process.hpp"

#include "comm/local_communicator.hpp"

#include <algorithm>

namespace troupe {

namespace {

class InProcessPort final : public WorkerPort {
public:
  InProcessPort(const JobConfig& job, const InProcessHooks& hooks, InProcessResult& out)
      : job_(job), hooks_(hooks), out_(out) {}

  result<std::shared_ptr<SlotBank>> built(const StateLayout& layout) override {
    layout_ = layout;
    TROUPE_ASSIGN(auto fd, SlotBank::create(layout.bank, std::max<std::uint32_t>(4, job_.checkpoint.slots)));
    TROUPE_ASSIGN(auto bank, SlotBank::attach(fd.get()));
    bank_ = std::make_shared<SlotBank>(std::move(bank));
    return bank_;
  }

  Order next() override {
    Order order;
    if (stopping()) {
      order.kind = Order::Kind::stop;
      order.cause = "interrupted";
      return order;
    }
    if (phase_ == WorkerPhase::finished) {
      order.kind = Order::Kind::finish;
      return order;
    }
    generation_ = generation_.next();
    if (generation_.value > most_generations) {
      order.kind = Order::Kind::stop;
      order.cause = "too many generations in one process: " + cause_;
      return order;
    }
    auto assignment = std::make_unique<Assignment>();
    assignment->term = Term{1};
    auto& plan = assignment->plan;
    plan.generation = generation_;
    plan.previous = Generation{generation_.value - 1};
    if (auto newest = bank_->newest())
      plan.resume = newest->key;
    Member me;
    me.virtual_count = layout_.virtual_workers;
    plan.members.push_back(me);
    comm_ = std::make_shared<LocalCommunicator>(
      LocalCommunicator::Shape{generation_, layout_.virtual_workers, layout_.leaf_floats,
                               layout_.leaf_doubles, layout_.attachment_bytes});
    assignment->communicator = comm_;
    assignment->bank = bank_;
    assignment->ordered = monotonic_now();
    order.kind = Order::Kind::form;
    order.generation = generation_;
    order.assignment = std::move(assignment);
    return order;
  }

  void report(const EngineReport& report) override {
    phase_ = report.phase;
    cause_ = report.cause;
  }
  void enter(Activity, Step, Time) override {}
  Effect at(FaultPoint point, Step step) override { return hooks_.at ? hooks_.at(point, step) : Effect{}; }

  void committed(const StepRow& row, const Spent& spent) override {
    out_.samples += row.samples;
    out_.skipped_steps += row.skipped;
    out_.last_loss = row.loss_sum / row.loss_weight;
    out_.spent = spent;
    if (hooks_.committed)
      hooks_.committed(row);
    if (stopping())
      comm_->abort("interrupted");
  }
  std::uint64_t wanted_save(Step) override { return 0; }
  void saved(std::uint64_t, PieceKey, std::uint32_t, bool) override {}
  void evaluated(const EvaluationRow& row) override {
    out_.metrics = row.metrics;
    if (hooks_.evaluated)
      hooks_.evaluated(row);
  }
  void rows_restored(std::span<const StepRow>) override {}
  void digest_mismatch(Generation, Step, std::span<const std::uint64_t>) override {}
  void mode(std::string_view what) override { out_.modes.emplace(what); }

private:
  static constexpr std::uint64_t most_generations = 8;
  bool stopping() const { return hooks_.stop && hooks_.stop->load(std::memory_order_relaxed); }

  const JobConfig& job_;
  const InProcessHooks& hooks_;
  InProcessResult& out_;
  StateLayout layout_;
  std::shared_ptr<SlotBank> bank_;
  std::shared_ptr<LocalCommunicator> comm_;
  Generation generation_;
  WorkerPhase phase_ = WorkerPhase::starting;
  std::string cause_;
};

} // namespace

InProcessResult run_in_process(const JobConfig& job, Trainer& trainer, const JobData& data,
                               const InProcessHooks& hooks) {
  InProcessResult out;
  InProcessPort port(job, hooks, out);
  Engine engine(
    {job, trainer, data.train, data.evaluation ? &*data.evaluation : nullptr, port, hooks.observer});
  out.end = engine.run();
  out.spent = engine.spent();
  auto ledger = engine.ledger();
  const auto counts = ledger.histogram();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      out.samples_by_count[i] = counts[i];
  out.finished_epochs = ledger.finished_epochs();
  return out;
}

} // namespace troupe

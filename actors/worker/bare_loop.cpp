// The loop without the runtime, for comparison (see in_process.hpp).
#include "actors/worker/in_process.hpp"

#include "actors/worker/mean.hpp"
#include "base/checksum.hpp"

#include <stdexcept>

namespace troupe {

struct BareLoop::Impl {
  Impl(const JobConfig& config, Trainer& t, const data::Dataset& train)
      : job(config), trainer(t), dataset(train),
        feeder(train, data::SampleOrder(data::OrderKind::permuted, train.rows(), config.job.seed),
               data::BatchPlan(train.rows(), config.workers.virtual_workers, config.workers.micro_batch)),
        model(config.job.seed, config.workers.virtual_workers), gradients(model), mean_view(model),
        facts(config.job.seed) {
    JobTrainerConfig trainer_config(config);
    trainer.build(model, trainer_config);
    model.close();
    if (!trainer.phases().empty() || !model.virtual_parts().empty())
      throw std::invalid_argument("the bare loop is for trainers without phases and virtual state");
    auto bank = BankLayout::make(model.pieces());
    if (!bank)
      throw std::invalid_argument(bank.error().context);
    layout.bank = std::move(*bank);
    layout.hash = layout.bank.hash();
    layout.leaf_floats = model.leaf_floats();
    layout.leaf_doubles = 2;
    layout.attachment_bytes = 64;
    layout.virtual_workers = model.virtual_workers();
    mean = std::make_unique<StateMemory>(model.leaf_floats() * sizeof(float));
    mean_view.point(reinterpret_cast<float*>(mean->data()), nullptr);
  }

  const JobConfig& job;
  Trainer& trainer;
  const data::Dataset& dataset;
  data::Feeder feeder;
  ModelState model;
  StateLayout layout;
  StepGradients gradients;
  StepGradients mean_view;
  std::unique_ptr<StateMemory> mean;
  StepFactsView facts;
};

BareLoop::BareLoop(const JobConfig& job, Trainer& trainer, const data::Dataset& train)
    : impl_(std::make_unique<Impl>(job, trainer, train)) {}

BareLoop::~BareLoop() = default;

const StateLayout& BareLoop::layout() const {
  return impl_->layout;
}

result<void> BareLoop::run(Communicator& communicator, std::uint32_t first, std::uint32_t count, std::uint64_t steps,
                           std::atomic<std::uint64_t>& done) {
  auto& s = *impl_;
  const auto& plan = s.feeder.plan();
  StepBatch batch(s.dataset, s.job.job.seed, plan.micro_batch());
  TROUPE_TRY(communicator.barrier());
  for (Step step; step.value < steps; step = step.next()) {
    for (VirtualWorker v{first}; v.value < first + count; v = v.next()) {
      s.feeder.gather(step, v, batch.buffer());
      batch.point(step, plan.epoch(step), 0, v.value, false);
      s.gradients.point(communicator.leaf(v).data(), nullptr);
      const auto loss = s.trainer.gradient(s.model, batch, s.gradients);
      auto sums = communicator.leaf_f64(v);
      sums[0] = loss.sum;
      sums[1] = loss.weight;
      communicator.contribute(v);
    }
    TROUPE_ASSIGN(const auto reduced, communicator.reduce_leaves());
    auto* mean = reinterpret_cast<float*>(s.mean->data());
    divide_all(reduced.f32, static_cast<float>(reduced.f64[1]), mean);
    StepFacts facts;
    facts.step = step;
    facts.epoch = plan.epoch(step);
    facts.position = plan.position(step);
    facts.total_steps = steps;
    facts.global_batch = plan.global_batch();
    facts.members = communicator.size();
    facts.loss = {reduced.f64[0], reduced.f64[1]};
    s.facts.point(facts, {mean, s.model.gradient_floats()});
    s.trainer.update(s.model, s.mean_view, s.facts);
    done.store(step.value + 1, std::memory_order_relaxed);
  }
  return {};
}

std::uint64_t BareLoop::model_digest() const {
  std::vector<std::uint64_t> sums(impl_->layout.bank.size());
  for (const auto& entry : impl_->model.entries())
    sums[*impl_->layout.bank.find(entry->name)] = checksum(entry->tensor.data(), entry->tensor.bytes());
  return impl_->layout.bank.digest(sums);
}

} // namespace troupe

#include "actors/master/settings_of.hpp"

#include "data/batch_plan.hpp"

namespace troupe {

namespace {

KernelBudget budget(const FailureBudget& b) {
  return {.restarts = b.restarts, .window = b.window};
}

} // namespace

KernelSettings kernel_settings_of(const JobConfig& config, std::uint64_t rows,
                                  std::vector<FaultSpec> faults) {
  const data::BatchPlan plan(rows, config.workers.virtual_workers, config.workers.micro_batch);
  KernelSettings s;
  s.seed = config.job.seed;
  s.total_steps = Step{plan.total_steps(config.job.steps, config.job.epochs)};
  s.samples_per_epoch = rows;
  s.global_batch = plan.global_batch();
  s.start = config.workers.start;
  s.min = config.workers.min;
  s.max = config.workers.max;
  s.virtual_workers = config.workers.virtual_workers;
  const auto& l = config.limits;
  s.limits.heartbeat = l.heartbeat;
  s.limits.lost_after = l.lost_after;
  s.limits.hang = l.hang;
  s.limits.build = l.build;
  s.limits.gather = l.gather;
  s.limits.drain = l.drain;
  s.limits.form = l.form;
  s.limits.retire = l.retire;
  s.limits.stop = l.stop;
  s.limits.save = l.save;
  s.limits.below_min = l.below_min;
  s.limits.master_grace = l.master_grace;
  const auto& r = config.recovery;
  s.budgets.exception = budget(r.budget_exception);
  s.budgets.out_of_memory = budget(r.budget_out_of_memory);
  s.budgets.signal = budget(r.budget_signal);
  s.budgets.hang = budget(r.budget_hang);
  s.budgets.silent = budget(r.budget_silent);
  s.budgets.node_loss = budget(r.budget_node_loss);
  s.budgets.partition = budget(r.budget_partition);
  s.budgets.notice = budget(r.budget_notice);
  s.budgets.communicator = budget(r.budget_communicator);
  s.budgets.corrupt_data = budget(r.budget_corrupt_data);
  s.backoff = r.backoff;
  s.backoff_most = r.backoff_most;
  s.strategy = r.strategy;
  s.hold = r.hold;
  const auto& every = config.checkpoint.every;
  switch (every.kind) {
  case CadenceKind::automatic: s.cadence = SaveCadence::automatic; break;
  case CadenceKind::never: s.cadence = SaveCadence::never; break;
  case CadenceKind::steps:
    s.cadence = SaveCadence::steps;
    s.save_steps = every.count;
    break;
  case CadenceKind::epochs:
    s.cadence = SaveCadence::steps;
    s.save_steps = plan.steps_for_epochs(every.count);
    break;
  case CadenceKind::time:
    s.cadence = SaveCadence::time;
    s.save_time = every.every;
    break;
  }
  s.keep = config.checkpoint.keep;
  s.save_at_end = every.kind != CadenceKind::never;
  s.faults = std::move(faults);
  return s;
}

} // namespace troupe

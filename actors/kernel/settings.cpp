#include "actors/kernel/settings.hpp"

namespace troupe {

const KernelBudget* budget_of(const KernelBudgets& budgets, FailureClass kind) {
  switch (kind) {
  case FailureClass::exception: return &budgets.exception;
  case FailureClass::out_of_memory: return &budgets.out_of_memory;
  case FailureClass::signal: return &budgets.signal;
  case FailureClass::hang: return &budgets.hang;
  case FailureClass::silent: return &budgets.silent;
  case FailureClass::node_loss: return &budgets.node_loss;
  case FailureClass::partition: return &budgets.partition;
  case FailureClass::notice: return &budgets.notice;
  case FailureClass::communicator: return &budgets.communicator;
  case FailureClass::corrupt_data: return &budgets.corrupt_data;
  case FailureClass::none:
  case FailureClass::startup: break;
  }
  return nullptr;
}

std::string check_settings(const KernelSettings& s) {
  if (s.virtual_workers == 0)
    return "workers.virtual must be at least 1";
  if (s.min == 0)
    return "workers.min must be at least 1";
  if (s.min > s.max)
    return "workers.min is larger than workers.max";
  if (s.start < s.min)
    return "workers.start is smaller than workers.min";
  if (s.start > s.max)
    return "workers.start is larger than workers.max";
  if (s.max > s.virtual_workers)
    return "workers.max is larger than workers.virtual: a worker needs at least one virtual worker";
  if (s.limits.lost_after < 4 * s.limits.heartbeat)
    return "limits.lost_after is less than four times limits.heartbeat: one late message would look like a loss";
  if (s.limits.hang < s.limits.lost_after)
    return "limits.hang is smaller than limits.lost_after";
  if (s.limits.master_grace < s.limits.lost_after)
    return "limits.master_grace is smaller than limits.lost_after";
  if (s.keep == 0)
    return "checkpoint.keep must be at least 1";
  if (s.cadence == SaveCadence::steps && s.save_steps == 0)
    return "checkpoint.every must be at least 1 step";
  if (s.cadence == SaveCadence::time && s.save_time <= Duration::zero())
    return "checkpoint.every must be longer than 0s";
  return {};
}

} // namespace troupe

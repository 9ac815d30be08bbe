// The whole interface of a trainer. A module is a shared library with one class derived from Trainer and one
// TROUPE_TRAINER line. The runtime calls everything on one thread, the trainer's, of a process that may be killed at
// any instruction; state that must survive is registered in `build` (troupe/model.hpp). An exception out of `build`
// is a start-up error and is never retried; out of any other call it costs this process, within the budgets.
#pragma once

#include "troupe/config.hpp"
#include "troupe/metrics.hpp"
#include "troupe/model.hpp"
#include "troupe/registry.hpp"
#include "troupe/session.hpp"
#include "troupe/step.hpp"
#include "troupe/version.hpp"

namespace troupe {

class Trainer {
public:
  virtual ~Trainer();

  /// Registers and initialises the state. Must do the same in every process.
  virtual void build(Model& model, const Config& config) = 0;
  /// One virtual worker's share of one step: adds the sums over the batch to `out`. Changes nothing that outlives
  /// the call, since an aborted step is computed again.
  virtual Loss gradient(const Model& model, const Batch& batch, Gradients& out) = 0;
  /// Applies the mean gradient. Deterministic: every worker must reach the same bits.
  virtual void update(Model& model, const Gradients& mean, const StepInfo& info) = 0;
  /// Adds sums over one block of evaluation samples. May be called again for the same step after a failure.
  virtual void evaluate(const Model&, const Batch&, Metrics&) {}
  /// After each evaluation, with the reduced metrics. May be called again for the same step after a failure.
  virtual Verdict on_metrics(const Metrics&, const StepInfo&) { return Verdict::go_on; }
  /// Names of several updates per step (two optimizers, a GAN); each has its own gradient, reduction and update.
  virtual std::vector<std::string> phases() const { return {}; }
  /// Names the actors of the module (troupe/registry.hpp). After build.
  virtual void actors(Registry&) {}
  virtual void run(Session& session);
};

/// What a module exports; the runtime refuses one built against another version.
struct ModuleInfo {
  std::uint32_t abi;
  const char* version;
  Trainer* (*make)();
};

} // namespace troupe

#define TROUPE_TRAINER(Class)                                                                                 \
  extern "C" __attribute__((visibility("default"))) const ::troupe::ModuleInfo* troupe_module() {             \
    static const ::troupe::ModuleInfo info{                                                                   \
      TROUPE_ABI, TROUPE_VERSION, []() -> ::troupe::Trainer* { return new Class; }};                          \
    return &info;                                                                                             \
  }

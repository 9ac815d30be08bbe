#include "actors/worker/worker_process.hpp"

#include "actors/trainer/module.hpp"
#include "actors/trainer/module_registry.hpp"
#include "actors/worker/engine.hpp"
#include "actors/worker/job_data.hpp"
#include "base/log.hpp"

namespace troupe {

namespace {

Failure startup_failure(std::string what) {
  Failure failure;
  failure.kind = FailureClass::startup;
  failure.what = std::move(what);
  failure.during = "building";
  return failure;
}

/// Asks a built trainer for its actors; what is wrong with them ends the worker as a start-up error.
class ActorsOnceBuilt final : public EngineObserver {
public:
  ActorsOnceBuilt(Trainer& trainer, const OnActors& on_actors) : trainer_(trainer), on_actors_(on_actors) {}
  void built(const ModelState&) override {
    ModuleRegistry registry;
    trainer_.actors(registry);
    if (auto started = on_actors_(registry.specs()); !started)
      throw NotYet(started.error().context);
  }

private:
  Trainer& trainer_;
  const OnActors& on_actors_;
};

} // namespace

bool run_trainer(const JobConfig& config, ProcessPort& port, const OnActors& on_actors) {
  auto give_up = [&](Failure failure) {
    log(LogLevel::error, "trainer.failed", "{}", failure.what);
    port.failed(failure);
    return false;
  };
  auto module = Module::load(config.job.module);
  if (!module)
    return give_up(startup_failure(module.error().context));
  auto data = read_job_data(config);
  if (!data)
    return give_up(startup_failure(data.error().context));
  std::unique_ptr<Trainer> trainer;
  try {
    trainer = module->make();
  } catch (const std::exception& e) {
    return give_up(startup_failure(e.what()));
  } catch (...) {
    return give_up(startup_failure("the trainer's constructor threw something that is no std::exception"));
  }
  ActorsOnceBuilt actors(*trainer, on_actors);
  Engine engine(
    {config, *trainer, data->train, data->evaluation ? &*data->evaluation : nullptr, port, &actors});
  const auto end = engine.run();
  if (end.kind == EngineEnd::Kind::failed)
    return give_up(end.failure);
  return true;
}

} // namespace troupe

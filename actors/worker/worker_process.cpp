#include "actors/worker/worker_process.hpp"

#include "actors/atoms.hpp"
#include "actors/connect.hpp"
#include "actors/system_config.hpp"
#include "actors/trainer/module.hpp"
#include "actors/trainer/module_registry.hpp"
#include "actors/worker/engine.hpp"
#include "actors/worker/job_data.hpp"
#include "actors/worker/module_actors.hpp"
#include "actors/worker/process_port.hpp"
#include "actors/worker/worker_actor.hpp"
#include "base/log.hpp"
#include "comm/life_lock.hpp"

#include <caf/actor_system.hpp>

#include <functional>
#include <sys/prctl.h>
#include <thread>

namespace troupe {

namespace {

/// Called on the trainer's thread once the trainer is built, with the actors its module brings along. An error is a
/// start-up failure.
using OnActors = std::function<result<void>(const std::vector<ActorSpec>&)>;

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

} // namespace

bool run_worker(const WorkerInputs& inputs) {
  ActorSink sink;
  ProcessPort::Settings settings;
  settings.me = inputs.me;
  settings.channel = inputs.channel;
  settings.startup = inputs.config.limits.build;
  settings.connect = inputs.config.limits.form;
  ProcessPort port(settings, sink);

  SystemConfig caf_config{1};
  caf::actor_system system{caf_config};
  auto worker = system.spawn(worker_actor, &port, inputs.me, inputs.config.limits.heartbeat);
  sink.connect(worker);
  bool done = false;
  Directory module_names;
  caf::actor module_actors;
  install_crash_handler();
  std::thread trainer([&] {
    ::prctl(PR_SET_NAME, trainer_thread_name);
    const CrashStack crash_stack; // so that a stack overflow of the trainer is seen, too
    done = run_trainer(inputs.config, port, [&](const std::vector<ActorSpec>& specs) -> result<void> {
      TROUPE_TRY(check_places(specs));
      if (!specs.empty())
        module_actors = start_module_actors(system, specs, &module_names, &port);
      return {};
    });
    caf::anon_send_exit(module_actors, caf::exit_reason::user_shutdown);
    caf::anon_send(worker, FlushAtom::value);
    caf::anon_send_exit(worker, caf::exit_reason::user_shutdown);
  });
  // Connecting goes on while the trainer builds.
  if (auto node = connect(system, "127.0.0.1", inputs.node_port, inputs.config.limits.form))
    caf::anon_send(worker, *node);
  else
    port.leave("cannot reach the node");
  trainer.join();
  sink.disconnect();
  worker = nullptr;
  module_actors = nullptr;
  module_names.clear();
  system.await_all_actors_done();
  return done;
}

} // namespace troupe

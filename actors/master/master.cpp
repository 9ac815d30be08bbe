#include "actors/master/master.hpp"

#include "actors/journal_file.hpp"
#include "actors/master/console.hpp"
#include "actors/master/journal_actor.hpp"
#include "actors/master/settings_of.hpp"
#include "actors/supervision/supervisor.hpp"
#include "actors/system_config.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>

namespace troupe {

namespace {

// `spawn` makes one life of the role; the directory knows it before the next child starts.
template <class Spawn>
ActorChild child(MasterWiring* wiring, std::string role, Spawn spawn) {
  ActorChild made;
  made.spec.id = role;
  made.spec.backoff.first = std::chrono::milliseconds(10);
  made.start = [wiring, role, spawn](caf::local_actor* parent) -> caf::actor {
    caf::actor actor = spawn(parent);
    wiring->directory.announce(role, actor);
    return actor;
  };
  return made;
}

// Start order is the order of dependence: whoever dies takes those after it along (rest_for_one). The door
// comes early, so that nodes stay connected while kernels start again.
std::vector<ActorChild> children(MasterWiring* wiring, const MasterInputs* inputs,
                                 const ConsoleOutlets* outlets, const GateSettings* gate) {
  std::vector<ActorChild> specs;
  specs.push_back(child(wiring, role::journal, [=](caf::local_actor* parent) {
    return parent->spawn<caf::detached>(journal_actor, wiring, &inputs->journal);
  }));
  specs.push_back(child(wiring, role::gate,
                        [=](caf::local_actor* parent) { return parent->spawn(gate_actor, wiring, gate); }));
  const auto& told_of_checkpoints = kernels_that_take(typeid(CheckpointsListed));
  for (const auto& name : kernel_names()) {
    const bool told = std::count(told_of_checkpoints.begin(), told_of_checkpoints.end(), name) != 0;
    specs.push_back(child(wiring, name, [=](caf::local_actor* parent) {
      caf::actor kernel = parent->spawn(kernel_shell, wiring, name);
      if (told && wiring->directory.life(name) == 0)
        caf::anon_send(kernel, Statement{CheckpointsListed{inputs->checkpoints}});
      return kernel;
    }));
  }
  specs.push_back(child(wiring, role::console, [=](caf::local_actor* parent) {
    return parent->spawn(console_actor, wiring, outlets);
  }));
  return specs;
}

} // namespace

void MasterStop::request(const std::string& reason) {
  std::lock_guard lock(mutex_);
  reason_ = reason;
  if (directory_ != nullptr)
    if (auto gate = directory_->find(role::gate))
      caf::anon_send(gate, Interrupt{reason});
}

result<RunReport> run_master(const MasterInputs& inputs, MasterStop& stop) {
  MasterWiring wiring;
  wiring.config = inputs.config;
  wiring.settings = kernel_settings_of(inputs.config, inputs.rows, inputs.faults);
  if (const auto contradiction = check_settings(wiring.settings); !contradiction.empty())
    return fail(Errc::invalid, contradiction);
  wiring.kernels = kernel_names();
  {
    TROUPE_ASSIGN(const auto journal, JournalFile::open(inputs.journal.journal));
    wiring.term = journal.last_term().next();
  }
  std::promise<RunReport> outcome;
  auto told = outcome.get_future();
  ConsoleOutlets outlets{inputs.display, wiring.settings.total_steps.value, inputs.metrics_path, &outcome};
  GateSettings gate;
  gate.published = [&](std::uint16_t port, const caf::actor& door) {
    inputs.listening(port);
    std::lock_guard lock(stop.mutex_);
    stop.directory_ = &wiring.directory;
    if (!stop.reason_.empty())
      caf::anon_send(door, Interrupt{stop.reason_});
  };

  SystemConfig caf_config{2};
  caf::actor_system system{caf_config};
  caf::scoped_actor self{system};
  SupervisorSpec spec;
  spec.name = "master";
  spec.group = RestartGroup::rest_for_one;
  spec.intensity = {.restarts = 5, .window = std::chrono::seconds(10)};
  auto root = self->spawn(supervisor, spec, children(&wiring, &inputs, &outlets, &gate));
  self->monitor(root);
  // Either the console tells how it ended, or the supervisor gave up.
  bool gave_up = false;
  std::string why;
  while (told.wait_for(std::chrono::milliseconds(0)) != std::future_status::ready && !gave_up)
    self->receive(
      [&](const caf::down_msg& down) {
        gave_up = true;
        why = caf::to_string(down.reason);
      },
      caf::after(std::chrono::milliseconds(20)) >> [] {});
  {
    std::lock_guard lock(stop.mutex_);
    stop.directory_ = nullptr;
  }
  if (!gave_up) {
    self->send_exit(root, caf::exit_reason::user_shutdown);
    self->receive([](const caf::down_msg&) {});
  }
  wiring.directory.clear();
  if (gave_up)
    return fail(Errc::exhausted, "the master gave up: " + why);
  return told.get();
}

} // namespace troupe

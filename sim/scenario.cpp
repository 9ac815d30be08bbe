#include "sim/scenario.hpp"

#include "troupe/random.hpp"

#include <algorithm>

namespace troupe::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string_view to_string(Strike strike) {
  constexpr std::string_view names[] = {"kill",           "kill_all",       "kill_in_phase", "stop",  "hang",
                                        "raise",          "node_loss",      "agent_restart", "kernel_restart",
                                        "master_restart", "scale",          "pause",         "save",  "flip"};
  return names[static_cast<unsigned>(strike)];
}

Scenario quiet(std::uint32_t workers, std::uint64_t steps) {
  Scenario s;
  KernelSettings& k = s.settings;
  k.total_steps = Step{steps};
  k.samples_per_epoch = 100;
  k.global_batch = 8;
  k.start = workers;
  k.max = k.virtual_workers = std::max(8U, workers);
  k.limits.hang = seconds(5);
  k.limits.drain = seconds(5);
  k.limits.form = seconds(10);
  k.limits.gather = seconds(10);
  k.limits.retire = seconds(5);
  k.limits.build = seconds(30);
  k.limits.save = seconds(10);
  k.limits.below_min = seconds(120);
  k.limits.master_grace = seconds(8);
  for (KernelBudget* budget : {&k.budgets.exception, &k.budgets.signal, &k.budgets.hang, &k.budgets.silent,
                               &k.budgets.node_loss, &k.budgets.communicator,
                               &k.budgets.corrupt_data})
    budget->restarts = 1000;
  s.slots = k.max;
  s.build = milliseconds(30);
  s.compute = milliseconds(10);
  s.restore = milliseconds(5);
  return s;
}

Scenario draw(std::uint64_t seed) {
  Random random(seed, "scenario");
  auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random.below(high - low + 1); };
  auto ms = [&](std::uint64_t low, std::uint64_t high) {
    return milliseconds(static_cast<std::int64_t>(between(low, high)));
  };
  Scenario s = quiet(static_cast<std::uint32_t>(between(1, 6)), between(20, 120));
  s.seed = seed;
  s.nodes = random.below(3) == 0 ? 2 : 1;
  s.slots = static_cast<std::uint32_t>(between(6, 8)) / s.nodes;
  s.build = random.below(4) == 0 ? ms(500, 3000) : ms(5, 60);
  s.compute = ms(1, 40);
  s.restore = ms(1, 200);
  s.lost_permille = random.below(3) == 0 ? static_cast<std::uint32_t>(between(1, 60)) : 0;
  s.digest_every = between(2, 20);
  KernelSettings& k = s.settings;
  k.seed = seed;
  k.start = std::min(k.start, s.slots * s.nodes);
  k.min = static_cast<std::uint32_t>(between(1, k.start));
  if (random.below(2) == 0)
    k.min = 1;
  k.hold = random.below(3) == 0 ? milliseconds(0) : ms(10, 400);
  k.strategy = random.below(4) == 0 ? "restart-all" : "respawn";
  k.cadence = random.below(2) == 0 ? SaveCadence::steps : SaveCadence::time;
  k.save_steps = between(5, 30);
  k.save_time = ms(100, 2000);
  k.keep = static_cast<std::uint32_t>(between(1, 3));
  const std::uint64_t strikes = between(0, 8);
  const std::uint64_t span = 4000;
  for (std::uint64_t i = 0; i < strikes; ++i) {
    Fault f;
    f.at = Time{ms(0, span)};
    f.index = static_cast<std::uint32_t>(random.below(16));
    // Mostly deaths; the more disturbing, the rarer. Flips, the last kind, have chosen jobs of their own.
    constexpr Strike often[] = {Strike::kill, Strike::kill, Strike::kill_in_phase, Strike::kill_in_phase};
    f.strike = random.below(2) == 0 ? often[random.below(4)]
                                    : static_cast<Strike>(random.below(enum_count(Strike{}) - 1));
    if (f.strike == Strike::node_loss && s.nodes == 1 && random.below(2) == 0)
      f.strike = Strike::kill_all;
    constexpr WorkerPhase phases[] = {WorkerPhase::starting, WorkerPhase::ready, WorkerPhase::connecting,
                                      WorkerPhase::restoring, WorkerPhase::running, WorkerPhase::drained};
    f.phase = phases[random.below(6)];
    f.lasts = random.below(3) == 0 ? ms(2000, 12000) : ms(50, 1500);
    if (f.strike == Strike::scale)
      f.index = static_cast<std::uint32_t>(between(k.min, std::min(k.max, s.slots * s.nodes)));
    s.faults.push_back(f);
    if (random.below(6) == 0) // two at once
      s.faults.push_back({f.at, Strike::kill, f.index + 1, f.phase, f.lasts});
  }
  return s;
}

} // namespace troupe::sim

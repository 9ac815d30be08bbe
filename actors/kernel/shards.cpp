#include "actors/kernel/shards.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

struct Turn {
  const KernelSettings& settings;
  ShardsKernel::State& s;
  std::vector<ShardsKernel::Action> out;

  void take(const Started&) { restate(); }
  void take(const PeerRestarted&) { restate(); }
  void restate() {
    if (s.generation.value > 0)
      out.push_back(voided());
    if (s.final_before.value > 0)
      out.push_back(RowsFinal{s.final_before, "said again"});
    if (s.epochs > 0)
      out.push_back(EpochsDone{s.epochs, s.final_before});
  }
  RowsVoid voided() const {
    return {s.generation, s.resumed,
            fmt::format("generation {} resumed version {}", s.generation.value, s.resumed.value)};
  }
  void take(const Formed& event) {
    if (event.generation <= s.generation)
      return;
    s.generation = event.generation;
    s.resumed = event.step;
    out.push_back(voided());
  }
  void take(const Persisted& event) {
    const bool counts = event.key.generation >= s.generation || event.key.step <= s.resumed;
    if (event.ok && counts)
      settle(event.key.step, "the version is durable");
  }
  void take(const JobFinished& event) { settle(event.step, "the job is finished"); }

  void settle(Step before, const char* why) {
    if (before <= s.final_before)
      return;
    s.final_before = before;
    out.push_back(RowsFinal{before, why});
    if (settings.samples_per_epoch == 0)
      return;
    const std::uint64_t epochs = before.value * settings.global_batch / settings.samples_per_epoch;
    if (epochs > s.epochs) {
      s.epochs = epochs;
      out.push_back(EpochsDone{epochs, before});
    }
  }
};

} // namespace

std::vector<ShardsKernel::Action> ShardsKernel::on(const Event& event, Time) {
  Turn turn{settings_, state_, {}};
  std::visit([&](const auto& e) { turn.take(e); }, event);
  return std::move(turn.out);
}

} // namespace troupe

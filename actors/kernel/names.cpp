// Names of enumerators, as in the schemas, in logs and in reports.
#include "actors/kernel/orders.hpp"
#include "actors/kernel/rendezvous.hpp"
#include "actors/kernel/settings.hpp"

#include <array>

namespace troupe {

namespace {

template <std::size_t N, class E>
std::string_view name_of(const std::string_view (&names)[N], E value) {
  static_assert(N == enum_count(E{}));
  auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : std::string_view{"?"};
}

} // namespace

std::string_view to_string(Tier v) {
  constexpr std::string_view names[] = {"live", "previous", "staging", "snapshot", "peer_copy", "checkpoint"};
  return name_of(names, v);
}

std::string_view to_string(FailureClass v) {
  constexpr std::string_view names[] = {"none",   "startup",   "exception", "out_of_memory", "signal",       "hang",
                                        "silent", "node_loss", "partition", "notice",        "communicator",
                                        "corrupt_data"};
  return name_of(names, v);
}

std::string_view to_string(WorkerPhase v) {
  constexpr std::string_view names[] = {"empty",   "starting", "ready",    "connecting", "restoring",
                                        "running", "drained",  "finished", "exited"};
  return name_of(names, v);
}

std::string_view to_string(GenerationCommand v) {
  constexpr std::string_view names[] = {"none", "drain", "form", "finish"};
  return name_of(names, v);
}

std::string_view to_string(FaultKind v) {
  constexpr std::string_view names[] = {"kill", "stop",      "slow",      "nan",
                                        "flip", "partition", "disk_full", "corrupt_checkpoint"};
  return name_of(names, v);
}

std::string_view to_string(FaultTarget v) {
  constexpr std::string_view names[] = {"worker", "node", "agent", "master", "job"};
  return name_of(names, v);
}

std::string_view to_string(FaultPhase v) {
  constexpr std::string_view names[] = {"any", "gradient", "reduce", "update", "snapshot", "drain", "restore"};
  return name_of(names, v);
}

std::string_view to_string(SaveCadence v) {
  constexpr std::string_view names[] = {"automatic", "never", "steps", "time"};
  return name_of(names, v);
}

std::string_view to_string(RendezvousKernel::Phase v) {
  constexpr std::string_view names[] = {"planning", "forming", "running", "draining", "finished", "ended"};
  return name_of(names, v);
}

} // namespace troupe

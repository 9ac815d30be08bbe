// One injected fault, parsed. The sentence it came from stands in `text`. Plain values.
#pragma once

#include "actors/kernel/facts.hpp"

namespace troupe {

enum class FaultKind : std::uint8_t { kill, stop, slow, nan, flip, partition, disk_full, corrupt_checkpoint };
enum class FaultTarget : std::uint8_t { worker, node, agent, master, job };
/// Where in a step it strikes. `any` is the start of `gradient`.
enum class FaultPhase : std::uint8_t { any, gradient, reduce, update, snapshot, drain, restore };

struct FaultSpec {
  std::uint32_t id = 0;       ///< position in the job's list, from 0; the kernel's own: see numbered()
  FaultKind kind = FaultKind::kill;
  FaultTarget target = FaultTarget::worker;
  std::uint32_t index = 0;    ///< rank of the generation at hand, or node
  Step step;                  ///< strikes at this step; in drain, restore, snapshot: at the next one from it on
  Step until;                 ///< slow: last step
  FaultPhase phase = FaultPhase::any;
  std::uint32_t percent = 0;  ///< slow: 300 for x3
  Duration lasts{};           ///< stop, partition, disk full
  Duration every{};           ///< > 0: Poisson with this mean, worker chosen at random, `step` not used
  std::string text;
  friend bool operator==(const FaultSpec&, const FaultSpec&) = default;
  TROUPE_FIELDS(id, kind, target, index, step, until, phase, percent, lasts, every, text)
};

std::string_view to_string(FaultKind);
std::string_view to_string(FaultTarget);
std::string_view to_string(FaultPhase);
constexpr std::size_t enum_count(FaultKind) { return 8; }
constexpr std::size_t enum_count(FaultTarget) { return 5; }
constexpr std::size_t enum_count(FaultPhase) { return 7; }

} // namespace troupe

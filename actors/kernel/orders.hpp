// What goes down: the master states what it wants, whole, every time. An order may be lost or repeated; a receiver
// drops one of a lower term or sequence. Plain values.
#pragma once

#include "actors/kernel/facts.hpp"

#include <optional>

namespace troupe {

/// Identity of one life of one worker.
struct WorkerKey {
  NodeId node;
  SlotId slot;
  Incarnation incarnation;
  friend constexpr auto operator<=>(const WorkerKey&, const WorkerKey&) = default;
  TROUPE_FIELDS(node, slot, incarnation)
};

/// Place in the mesh; only `data` is larger than one at first.
struct Coordinates {
  std::uint32_t data = 0;
  std::uint32_t pipeline = 0;
  std::uint32_t tensor = 0;
  std::uint32_t expert = 0;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
  TROUPE_FIELDS(data, pipeline, tensor, expert)
};

struct Member {
  Rank rank;
  WorkerKey worker;
  std::uint32_t first_virtual = 0; ///< block of virtual workers [first_virtual, first_virtual + virtual_count)
  std::uint32_t virtual_count = 0;
  Coordinates at;
  friend bool operator==(const Member&, const Member&) = default;
  TROUPE_FIELDS(rank, worker, first_virtual, virtual_count, at)
};

/// Who holds the resume point: memory of a slot, or a checkpoint (then `path` names its manifest).
struct Source {
  NodeId node;
  SlotId slot;
  Tier tier = Tier::snapshot;
  std::string path;
  friend bool operator==(const Source&, const Source&) = default;
  TROUPE_FIELDS(node, slot, tier, path)
};

struct Plan {
  static constexpr std::string_view tag = "plan";
  Generation generation;
  Generation previous;            ///< generation whose members drained for this one; 0 at the start
  PieceKey resume;                ///< newest version that every piece has a holder for; (0, 0): as built
  std::vector<Member> members;    ///< by rank
  std::vector<Source> sources;    ///< of the resume point, best first; empty when it is (0, 0)
  std::string reason;
  friend bool operator==(const Plan&, const Plan&) = default;
  TROUPE_FIELDS(generation, previous, resume, members, sources, reason)
};

enum class GenerationCommand : std::uint8_t {
  none,
  drain,  ///< members of generations <= `generation` stop at their boundary and promise
  form,   ///< `plan` is the next generation
  finish, ///< all members are finished: nothing more to train
};

struct GenerationOrder {
  static constexpr std::string_view tag = "generation_order";
  static constexpr bool external = true;
  Term term;
  std::uint64_t sequence = 0;
  GenerationCommand command = GenerationCommand::none;
  Generation generation;
  std::string cause;
  std::optional<Plan> plan; ///< when command is form
  friend bool operator==(const GenerationOrder&, const GenerationOrder&) = default;
  TROUPE_FIELDS(term, sequence, command, generation, cause, plan)
};

struct SlotOrder {
  SlotId slot;
  Incarnation incarnation; ///< wanted life; a larger number than the present one ends that first
  bool run = false;        ///< false: nothing should run here (an orderly stop)
  bool kill = false;       ///< the present process is to be killed at once (silent, hung, fenced)
  friend bool operator==(const SlotOrder&, const SlotOrder&) = default;
  TROUPE_FIELDS(slot, incarnation, run, kill)
};

struct SlotsOrder {
  static constexpr std::string_view tag = "slots_order";
  static constexpr bool external = true;
  Term term;
  std::uint64_t sequence = 0;
  NodeId node;
  std::vector<SlotOrder> slots;
  friend bool operator==(const SlotsOrder&, const SlotsOrder&) = default;
  TROUPE_FIELDS(term, sequence, node, slots)
};

/// A request to write a checkpoint of the first version >= `at_least`.
struct SaveOrder {
  static constexpr std::string_view tag = "save_order";
  static constexpr bool external = true;
  Term term;
  std::uint64_t request = 0; ///< counts up; 0: none
  WorkerKey from;            ///< member whose state is written
  Step at_least;
  std::string reason;
  bool best = false;
  friend bool operator==(const SaveOrder&, const SaveOrder&) = default;
  TROUPE_FIELDS(term, request, from, at_least, reason, best)
};

std::string_view to_string(GenerationCommand);
constexpr std::size_t enum_count(GenerationCommand) { return 4; }

} // namespace troupe

// The membership kernel's statement to the other kernels: every worker there is, one row per slot, whole each time.
#pragma once

#include "actors/kernel/orders.hpp"

namespace troupe {

struct RosterRow {
  WorkerKey worker;
  WorkerPhase phase = WorkerPhase::empty;
  Generation generation;
  Step step;
  std::uint64_t model_digest = 0;
  std::uint64_t layout = 0;
  std::vector<Holding> holdings;
  Failure failure;               ///< of the last life, when phase is exited; also set as soon as the master gave it up
  bool wanted = false;           ///< a process is to run here
  bool dead = false;             ///< will never speak again in this incarnation
  bool confirmed = false;        ///< dead, and its end was seen (exit, life-lock): it cannot contribute any more
  bool coming = false;           ///< a replacement is ordered or on its way
  std::int32_t dead_rank = -1;   ///< rank of `generation` that this worker found dead when it drained
  std::string cause;             ///< why it drained
  Time since{};                  ///< of the present phase, master's clock
  friend bool operator==(const RosterRow&, const RosterRow&) = default;
  TROUPE_FIELDS(worker, phase, generation, step, model_digest, layout, holdings, failure, wanted, dead, confirmed,
                coming, dead_rank, cause, since)
};

struct Roster {
  static constexpr std::string_view tag = "roster";
  std::uint64_t version = 0;
  std::uint32_t target = 0;        ///< workers wanted in all (scaling)
  std::vector<RosterRow> rows;     ///< by (node, slot)
  friend bool operator==(const Roster&, const Roster&) = default;
  TROUPE_FIELDS(version, target, rows)
};

} // namespace troupe

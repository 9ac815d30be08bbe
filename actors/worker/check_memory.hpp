// Memory that the processes of one check run share: one Slot per worker, and per worker, step and piece the
// checksum and (for states that fit) the bytes. Made by the parent before it forks; plain memory, each slot
// written by its own worker only but for `dead`, which the parent writes.
#pragma once

#include "actors/worker/check_run.hpp"

namespace troupe {

struct CheckMemory {
  CheckMemory(const BankLayout& layout, std::size_t pieces, std::uint32_t workers, std::uint64_t steps);
  ~CheckMemory();
  CheckMemory(const CheckMemory&) = delete;
  CheckMemory& operator=(const CheckMemory&) = delete;

  CheckRun::Slot& slot(std::uint32_t s) const { return slots[s]; }
  std::uint64_t& checksum(std::uint32_t s, std::uint64_t step, std::size_t piece) const {
    return checksums[(s * (steps + 1) + step) * piece_count + piece];
  }
  /// Null when bytes are not kept.
  std::byte* bytes(std::uint32_t s, std::uint64_t step, std::size_t piece) const {
    return kept ? kept + (s * (steps + 1) + step) * step_bytes + offsets[piece] : nullptr;
  }

  std::uint32_t workers;
  std::uint64_t steps;
  std::size_t piece_count;
  std::vector<std::size_t> offsets; ///< of each piece within a step
  std::vector<std::size_t> sizes;
  std::size_t step_bytes = 0;
  std::byte* base = nullptr;
  std::size_t total = 0;
  CheckRun::Slot* slots = nullptr;
  std::uint64_t* checksums = nullptr;
  std::byte* kept = nullptr;
  std::atomic<std::uint64_t>* progress = nullptr; ///< grows whenever some worker did something
};

/// What a worker process of a run is given.
struct CheckWorker {
  const JobConfig& job;
  const JobData& data;
  const CheckScript& script;
  const CheckProbe& probe;
  CheckMemory& memory;
  std::span<const UniqueFd> segments; ///< by generation, from 1
  std::span<const UniqueFd> banks;    ///< by slot
  std::uint32_t slot = 0;
  std::uint32_t life = 1; ///< 1, or 2 after it was killed
};

/// The whole life of one worker process. Never returns.
[[noreturn]] void run_check_worker(const CheckWorker& worker, Trainer& trainer);

} // namespace troupe

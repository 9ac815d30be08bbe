// Who holds which version of the state, and which versions count: the rule of the resume point. Pure functions over the
// roster, the checkpoints and the lineage; order of results is fixed by ids.
#pragma once

#include "actors/kernel/recovery.hpp"

#include <span>

namespace troupe {

/// s <= resume.step of every planned generation newer than the version's own.
bool is_valid(PieceKey key, std::span<const RecoveryKernel::Ancestor> lineage);

/// Adds a planned generation; drops entries that it implies.
void extend_lineage(std::vector<RecoveryKernel::Ancestor>& lineage, Generation generation, PieceKey resume);

struct ResumePoint {
  PieceKey key;                ///< (0, 0): as built
  std::vector<Source> sources; ///< live slots, then slots of dead workers, then checkpoints
  std::string note;            ///< why it is not the newest version there is; empty: it is
  Step conflict;               ///< oldest version whose holders were found to differ; 0: none
};

struct ResumeQuestion {
  const Roster& roster;
  std::span<const FoundCheckpoint> checkpoints;
  std::span<const RecoveryKernel::Ancestor> lineage;
  bool memory = true;          ///< false: only checkpoints count
  bool limited = false;        ///< digests of version `ceiling` differed among members
  Step ceiling;
};

/// The newest valid version that every piece has a holder for. Holders of one version that state different digests are
/// believed only when the digest was agreed; otherwise nothing after the last agreed version is used.
ResumePoint find_resume_point(const ResumeQuestion& question);

/// Sizes of the members' blocks of virtual workers, by rank: contiguous, as even as possible, and in the order that
/// needs the fewest partial sums of the reduction tree. members <= virtual_workers.
std::vector<std::uint32_t> virtual_blocks(std::uint32_t members, std::uint32_t virtual_workers);

/// Aligned subtrees that make up [first, first + count): the partial sums a worker sends.
std::uint32_t partial_sums(std::uint32_t first, std::uint32_t count, std::uint32_t virtual_workers);

} // namespace troupe

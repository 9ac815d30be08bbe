#include "actors/kernel/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace troupe {

bool is_valid(PieceKey key, std::span<const RecoveryKernel::Ancestor> lineage) {
  return std::all_of(lineage.begin(), lineage.end(), [&](const RecoveryKernel::Ancestor& a) {
    return a.generation <= key.generation || key.step <= a.resume.step;
  });
}

void extend_lineage(std::vector<RecoveryKernel::Ancestor>& lineage, Generation generation, PieceKey resume) {
  while (!lineage.empty() && lineage.back().resume.step >= resume.step)
    lineage.pop_back();
  lineage.push_back({generation, resume});
}

namespace {

struct Copy {
  PieceKey key;
  std::uint32_t pieces = 0;
  std::uint64_t digest = 0;
  bool agreed = false;
  int rank = 0; ///< of preference: 0 live slot, 1 slot of a dead worker, 2 checkpoint
  Source source;
};

std::vector<Copy> valid_copies(const ResumeQuestion& q) {
  std::vector<Copy> copies;
  if (q.memory)
    for (const RosterRow& row : q.roster.rows)
      for (const Holding& h : row.holdings)
        if (h.key.step.value > 0 && is_valid(h.key, q.lineage))
          copies.push_back({h.key, h.pieces, h.digest, h.agreed, row.dead ? 1 : 0,
                            {row.worker.node, row.worker.slot, h.tier, {}}});
  for (const FoundCheckpoint& c : q.checkpoints)
    if (c.key.step.value > 0 && is_valid(c.key, q.lineage))
      copies.push_back({c.key, 0, c.digest, false, 2, {{}, {}, Tier::checkpoint, c.path}});
  std::stable_sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return a.key != b.key ? a.key > b.key : a.rank < b.rank;
  });
  return copies;
}

/// Digests that holders state for one piece set at one version. 0 says nothing.
struct Digests {
  std::uint64_t agreed = 0;
  std::uint64_t any = 0;
  bool differ = false;

  void add(const Copy& copy) {
    if (copy.digest == 0)
      return;
    if (copy.agreed)
      agreed = copy.digest;
    if (any != 0 && any != copy.digest)
      differ = true;
    any = copy.digest;
  }
  bool trusts(const Copy& copy) const { return agreed == 0 || copy.digest == 0 || copy.digest == agreed; }
  bool conflict() const { return differ && agreed == 0; }
};

} // namespace

ResumePoint find_resume_point(const ResumeQuestion& q) {
  const std::vector<Copy> copies = valid_copies(q);
  std::vector<std::uint32_t> needed;
  for (const Copy& c : copies)
    if (c.rank < 2 && std::find(needed.begin(), needed.end(), c.pieces) == needed.end())
      needed.push_back(c.pieces);
  ResumePoint point;
  bool limited = q.limited;
  Step bound = q.ceiling;
  if (limited) {
    Step agreed;
    for (const Copy& c : copies)
      if (c.agreed && c.key.step < q.ceiling)
        agreed = std::max(agreed, c.key.step);
    bound = agreed;
    point.note = fmt::format("digests of version {} differed; versions after {}, the last agreed one, are void",
                             q.ceiling.value, agreed.value);
  }
  for (std::size_t i = 0; i < copies.size();) {
    std::size_t end = i;
    while (end < copies.size() && copies[end].key == copies[i].key)
      ++end;
    const PieceKey key = copies[i].key;
    std::span<const Copy> same(copies.data() + i, end - i);
    i = end;
    if (limited && key.step > bound)
      continue;
    bool whole = true;
    bool conflict = false;
    std::vector<Source> sources;
    const bool checkpoint = same.back().rank == 2;
    for (std::uint32_t pieces : needed) {
      Digests digests;
      for (const Copy& c : same)
        if (c.pieces == pieces || c.rank == 2)
          digests.add(c);
      conflict = conflict || digests.conflict();
      bool held = checkpoint;
      for (const Copy& c : same)
        if (c.pieces == pieces && c.rank < 2 && digests.trusts(c)) {
          held = true;
          sources.push_back(c.source);
        }
      whole = whole && held;
    }
    if (conflict) {
      ResumeQuestion again = q;
      again.limited = true;
      again.ceiling = key.step;
      ResumePoint found = find_resume_point(again);
      if (found.conflict == Step{})
        found.conflict = key.step;
      return found;
    }
    for (const Copy& c : same)
      if (c.rank == 2)
        sources.push_back(c.source);
    if (!whole || sources.empty())
      continue;
    point.key = key;
    point.sources = std::move(sources);
    return point;
  }
  return point;
}

std::uint32_t partial_sums(std::uint32_t first, std::uint32_t count, std::uint32_t virtual_workers) {
  std::uint32_t sums = 0;
  const std::uint32_t end = first + count;
  while (first < end) {
    // The largest subtree that starts here and ends within the block, or at the ragged right edge of the tree.
    std::uint32_t size = first == 0 ? std::bit_ceil(virtual_workers) : first & (~first + 1);
    while (std::min(first + size, virtual_workers) > end)
      size /= 2;
    first = std::min(first + size, virtual_workers);
    ++sums;
  }
  return sums;
}

std::vector<std::uint32_t> virtual_blocks(std::uint32_t members, std::uint32_t virtual_workers) {
  const std::uint32_t small = virtual_workers / members;
  const std::uint32_t larger = virtual_workers % members; // so many blocks have one more
  // cost[i][k]: partial sums of the last blocks from rank i on, when k of the ranks before i have the larger size.
  const std::size_t width = larger + 1;
  constexpr std::uint32_t impossible = ~0u / 2;
  std::vector<std::uint32_t> cost((members + 1) * width, impossible);
  cost[members * width + larger] = 0;
  auto start = [&](std::uint32_t i, std::uint32_t k) { return i * small + k; };
  for (std::uint32_t i = members; i-- > 0;)
    for (std::uint32_t k = 0; k <= std::min(i, larger); ++k) {
      std::uint32_t best = impossible;
      if (k < larger)
        best = cost[(i + 1) * width + k + 1] + partial_sums(start(i, k), small + 1, virtual_workers);
      best = std::min(best, cost[(i + 1) * width + k] + partial_sums(start(i, k), small, virtual_workers));
      cost[i * width + k] = std::min(best, impossible);
    }
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t i = 0, k = 0; i < members; ++i) {
    bool take_larger = k < larger && cost[i * width + k] == cost[(i + 1) * width + k + 1] +
                                                              partial_sums(start(i, k), small + 1, virtual_workers);
    blocks.push_back(small + (take_larger ? 1 : 0));
    k += take_larger ? 1 : 0;
  }
  return blocks;
}

} // namespace troupe

#include "checkpoint/bank_mapping.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "checkpoint/process_identity.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <tuple>

namespace troupe::checkpoint {

static_assert(sizeof(BankHeader) <= BankMapping::page);
static_assert(sizeof(SlotHeader) % 8 == 0);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

namespace {

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t to) {
  return (n + to - 1) / to * to;
}

} // namespace

BankGeometry::BankGeometry(const BankLayout& layout, std::uint64_t layout_bytes, std::uint32_t versions) {
  slots_at = round_up(BankMapping::page + layout_bytes, BankMapping::page);
  data_at = round_up(sizeof(SlotHeader) + layout.size() * sizeof(std::uint64_t), BankLayout::alignment);
  stride = round_up(data_at + layout.data_bytes(), BankMapping::page);
  total = slots_at + stride * versions;
}

BankMapping::BankMapping(std::byte* base, BankGeometry g, BankLayout l, std::uint32_t n, bool rw)
  : layout(std::move(l)), versions(n), geometry(g), writable(rw), written(layout.size()), base_(base) {}

BankMapping::~BankMapping() {
  ::munmap(base_, geometry.total);
}

std::uint64_t BankMapping::header_sum(std::uint32_t index) const {
  const auto& s = slot(index);
  const std::uint64_t fields[] = {s.step.load(std::memory_order_relaxed), s.generation.load(std::memory_order_relaxed),
                                  s.stamp.load(std::memory_order_relaxed), s.digest.load(std::memory_order_relaxed)};
  const auto table = checksums(index);
  return checksum(fields, sizeof fields) ^ checksum(table.data(), table.size_bytes()) * 0x9e3779b97f4a7c15ULL;
}

std::optional<VersionInfo> BankMapping::inspect(std::uint32_t index) const {
  const auto& s = slot(index);
  VersionInfo info;
  info.slot = index;
  info.word = unclaimed(s.word.load(std::memory_order_acquire));
  if (state_of(info.word) != SlotState::complete)
    return std::nullopt;
  info.key = {Step{s.step.load(std::memory_order_relaxed)}, Generation{s.generation.load(std::memory_order_relaxed)}};
  info.digest = s.digest.load(std::memory_order_relaxed);
  info.stamp = s.stamp.load(std::memory_order_relaxed);
  info.agreed = s.agreed.load(std::memory_order_relaxed) == info.word;
  const bool sound = s.sum.load(std::memory_order_relaxed) == header_sum(index);
  if (!unchanged(info) || !sound)
    return std::nullopt;
  return info;
}

std::vector<VersionInfo> BankMapping::list() const {
  std::vector<VersionInfo> found;
  found.reserve(versions);
  for (std::uint32_t i = 0; i < versions; ++i)
    if (auto info = inspect(i))
      found.push_back(*info);
  std::sort(found.begin(), found.end(), [](const VersionInfo& a, const VersionInfo& b) {
    return std::tie(a.key, a.stamp) > std::tie(b.key, b.stamp);
  });
  return found;
}

std::optional<VersionInfo> BankMapping::find(PieceKey key) const {
  std::optional<VersionInfo> best;
  for (std::uint32_t i = 0; i < versions; ++i)
    if (auto info = inspect(i); info && info->key == key && (!best || best->stamp < info->stamp))
      best = info;
  return best;
}

bool BankMapping::unchanged(const VersionInfo& version) const {
  std::atomic_thread_fence(std::memory_order_acquire);
  return unclaimed(slot(version.slot).word.load(std::memory_order_relaxed)) == version.word;
}

bool BankMapping::make_void(const VersionInfo& version) const {
  auto& word = slot(version.slot).word;
  auto seen = word.load();
  while (unclaimed(seen) == version.word)
    if (word.compare_exchange_weak(seen, make_word(sequence_of(seen) + 1, SlotState::void_)))
      return true;
  return false;
}

bool BankMapping::take_claim_back(const VersionInfo& version) const {
  auto& word = slot(version.slot).word;
  auto seen = word.load();
  while (unclaimed(seen) == version.word)
    if (word.compare_exchange_weak(seen, version.word))
      return true;
  return false;
}

result<std::pair<std::uint32_t, std::uint64_t>> BankMapping::take_slot() {
  const auto valid = list();
  // Preference: slots without a valid version first, then the oldest version. Protected ones are left out.
  std::vector<std::uint32_t> candidates;
  std::vector<std::uint8_t> is_valid(versions, 0);
  const auto last_agreed = std::find_if(valid.begin(), valid.end(), [](const auto& v) { return v.agreed; });
  for (std::size_t i = valid.size(); i-- > 0;) {
    is_valid[valid[i].slot] = 1;
    if (i >= 2 && (last_agreed == valid.end() || last_agreed->slot != valid[i].slot))
      candidates.push_back(valid[i].slot);
  }
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < versions; ++i)
    if (is_valid[i] == 0)
      free.push_back(i);
  candidates.insert(candidates.begin(), free.begin(), free.end());
  for (const auto index : candidates) {
    std::uint64_t word = 0;
    if (try_take(index, word)) {
      std::fill(written.begin(), written.end(), std::uint8_t{0});
      return std::pair{index, word};
    }
  }
  return fail(Errc::exhausted, "no free slot among " + std::to_string(versions) +
                                 ": the rest are pinned, the newest two or the last agreed version");
}

// The other half of this handshake is SlotBank::pin(): it adds its pin first and then takes back a claim. Either the
// writer sees the pin, or its last exchange fails, or the pinner sees that the version is gone.
bool BankMapping::try_take(std::uint32_t index, std::uint64_t& word) {
  auto& s = slot(index);
  if (pinned(index))
    return false;
  auto expected = s.word.load();
  if (state_of(expected) == SlotState::complete) {
    const auto claim = make_word(sequence_of(expected), SlotState::claimed);
    if (!s.word.compare_exchange_strong(expected, claim))
      return false;
    expected = claim;
    if (pinned(index)) {
      s.word.compare_exchange_strong(expected, unclaimed(claim));
      return false;
    }
  }
  word = make_word(sequence_of(expected) + 1, SlotState::writing);
  if (!s.word.compare_exchange_strong(expected, word))
    return false;
  std::atomic_thread_fence(std::memory_order_seq_cst); // the mark is visible before the first changed byte
  return true;
}

bool BankMapping::pinned(std::uint32_t index) const {
  bool held = false;
  for (auto& entry : slot(index).pins) {
    auto holder = entry.load();
    if (holder == 0)
      continue;
    if (process_alive(holder))
      held = true;
    else if (writable)
      entry.compare_exchange_strong(holder, 0);
  }
  return held;
}

std::optional<std::size_t> BankMapping::add_pin(std::uint32_t index) const {
  auto& s = slot(index);
  const auto own = own_identity();
  for (std::size_t i = 0; i < SlotHeader::max_pins; ++i) {
    auto holder = s.pins[i].load();
    if (holder != 0 && process_alive(holder))
      continue;
    if (s.pins[i].compare_exchange_strong(holder, own))
      return i;
  }
  return std::nullopt;
}

void BankMapping::remove_pin(std::uint32_t index, std::size_t entry) const {
  auto own = own_identity(); // in a forked child the pin is still the parent's
  slot(index).pins[entry].compare_exchange_strong(own, 0);
}

std::uint64_t copy_checked(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t chunk = 128 << 10; // stays in the second-level cache between copy and checksum
  if (bytes <= chunk) {
    if (bytes > 0)
      std::memcpy(to, from, bytes);
    return checksum(to, bytes);
  }
  Hasher hash;
  for (std::size_t at = 0; at < bytes; at += chunk) {
    const auto n = std::min(chunk, bytes - at);
    auto* target = static_cast<std::byte*>(to) + at;
    std::memcpy(target, static_cast<const std::byte*>(from) + at, n);
    hash.add(target, n);
  }
  return hash.digest();
}

} // namespace troupe::checkpoint

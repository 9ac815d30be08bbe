#include "data/ledger.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe::data {

namespace {

constexpr std::uint64_t magic = 0x3152474c50525454ULL; // "TTRPLGR1"

std::uint64_t words_per_epoch(std::uint64_t rows) {
  return (rows + 63) / 64;
}

} // namespace

struct Ledger::Header {
  std::uint64_t magic;
  std::uint64_t rows;
  std::uint64_t window;
  std::uint64_t first; // first epoch in flight
  std::uint64_t added;
  std::uint64_t strays;
  std::uint64_t repeats;
  std::uint64_t histogram[max_count];
  std::uint64_t reserved;
};

struct Ledger::Repeat {
  std::uint64_t epoch;
  std::uint64_t id;
  std::uint64_t count; // 2 or more
};

std::size_t Ledger::image_bytes(std::uint64_t rows, std::uint64_t window) {
  const auto bytes = sizeof(Header) + max_repeats * sizeof(Repeat) + window * words_per_epoch(rows) * 8;
  return (bytes + 63) / 64 * 64;
}

Ledger Ledger::format(std::span<std::byte> image, std::uint64_t rows, std::uint64_t window) {
  TROUPE_ASSERT(image.size() == image_bytes(rows, window), "ledger image of the wrong size");
  TROUPE_ASSERT(reinterpret_cast<std::uintptr_t>(image.data()) % alignof(Header) == 0, "ledger image is not aligned");
  std::memset(image.data(), 0, image.size());
  Ledger ledger(image.data());
  auto& h = ledger.header();
  h.magic = magic;
  h.rows = rows;
  h.window = window;
  return ledger;
}

result<Ledger> Ledger::bind(std::span<std::byte> image, std::uint64_t rows, std::uint64_t window) {
  TROUPE_ASSERT(reinterpret_cast<std::uintptr_t>(image.data()) % alignof(Header) == 0, "ledger image is not aligned");
  if (image.size() != image_bytes(rows, window))
    return fail(Errc::corrupt, "ledger image of the wrong size");
  Ledger ledger(image.data());
  const auto& h = ledger.header();
  if (h.magic != magic || h.repeats > max_repeats)
    return fail(Errc::corrupt, "not a ledger image");
  if (h.rows != rows || h.window != window)
    return fail(Errc::corrupt, "the ledger is of another data set or batch size");
  return ledger;
}

result<Ledger> Ledger::open(std::span<std::byte> image) {
  if (image.size() < sizeof(Header))
    return fail(Errc::corrupt, "ledger image of the wrong size");
  const auto& h = *reinterpret_cast<const Header*>(image.data());
  if (h.magic != magic || h.rows == 0 || h.window == 0 || h.window > image.size() || h.rows > image.size() * 8)
    return fail(Errc::corrupt, "not a ledger image");
  return bind(image, h.rows, h.window);
}

Ledger::Header& Ledger::header() const {
  return *reinterpret_cast<Header*>(image_);
}

Ledger::Repeat* Ledger::repeats() const {
  return reinterpret_cast<Repeat*>(image_ + sizeof(Header));
}

std::uint64_t* Ledger::bitmap(std::uint64_t epoch) const {
  const auto& h = header();
  auto* first = reinterpret_cast<std::uint64_t*>(image_ + sizeof(Header) + max_repeats * sizeof(Repeat));
  return first + epoch % h.window * words_per_epoch(h.rows);
}

void Ledger::add(std::uint64_t epoch, SampleId id) {
  add_all(epoch, {&id, 1});
}

// The epoch's part of the image is found once for all ids: this runs in every step.
void Ledger::add_all(std::uint64_t epoch, std::span<const SampleId> ids) {
  auto& h = header();
  h.added += ids.size();
  if (epoch < h.first || epoch - h.first >= h.window) {
    h.strays += ids.size();
    return;
  }
  auto* const words = bitmap(epoch);
  const auto n = h.rows;
  for (const auto id : ids) {
    if (id >= n) {
      ++h.strays;
      continue;
    }
    auto& word = words[id / 64];
    const auto bit = std::uint64_t{1} << id % 64;
    if ((word & bit) != 0)
      repeat(epoch, id);
    word |= bit;
  }
}

void Ledger::add_run(std::uint64_t first_position, std::span<const SampleId> ids) {
  const auto n = rows();
  auto epoch = first_position / n;
  auto left = n - first_position % n;
  while (!ids.empty()) {
    const auto now = std::min<std::uint64_t>(left, ids.size());
    add_all(epoch++, ids.first(now));
    ids = ids.subspan(now);
    left = n;
  }
}

void Ledger::repeat(std::uint64_t epoch, SampleId id) {
  auto& h = header();
  auto* table = repeats();
  for (std::uint64_t i = 0; i < h.repeats; ++i) {
    if (table[i].epoch == epoch && table[i].id == id) {
      ++table[i].count;
      return;
    }
  }
  if (h.repeats == max_repeats) {
    ++h.strays;
    return;
  }
  table[h.repeats++] = {epoch, id, 2};
}

void Ledger::advance(std::uint64_t position) {
  auto& h = header();
  while (position / h.rows > h.first)
    finish_first();
}

void Ledger::finish_first() {
  auto& h = header();
  auto* words = bitmap(h.first);
  std::uint64_t seen = 0;
  for (std::uint64_t i = 0; i < words_per_epoch(h.rows); ++i) {
    seen += static_cast<std::uint64_t>(std::popcount(words[i]));
    words[i] = 0;
  }
  h.histogram[0] += h.rows - seen;
  h.histogram[1] += seen;
  auto* table = repeats();
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < h.repeats; ++i) {
    if (table[i].epoch != h.first) {
      table[kept++] = table[i];
      continue;
    }
    --h.histogram[1];
    ++h.histogram[std::min<std::uint64_t>(table[i].count, max_count - 1)];
  }
  for (auto i = kept; i < h.repeats; ++i)
    table[i] = {}; // the same history gives the same bytes
  h.repeats = kept;
  ++h.first;
}

std::array<std::uint64_t, Ledger::max_count> Ledger::histogram() const {
  return std::to_array(header().histogram);
}

std::uint64_t Ledger::finished_epochs() const {
  return header().first;
}

std::uint64_t Ledger::added() const {
  return header().added;
}

std::uint64_t Ledger::strays() const {
  return header().strays;
}

std::uint64_t Ledger::rows() const {
  return header().rows;
}

std::uint64_t Ledger::count(std::uint64_t epoch, SampleId id) const {
  const auto& h = header();
  if (id >= h.rows || epoch < h.first || epoch - h.first >= h.window)
    return 0;
  if ((bitmap(epoch)[id / 64] >> id % 64 & 1) == 0)
    return 0;
  const auto* table = repeats();
  for (std::uint64_t i = 0; i < h.repeats; ++i)
    if (table[i].epoch == epoch && table[i].id == id)
      return table[i].count;
  return 1;
}

} // namespace troupe::data

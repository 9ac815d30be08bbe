#include "comm/segment.hpp"

#include "base/assert.hpp"
#include "comm/memory_limit.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::uint64_t magic = 0x3145'5055'4f52'5454; // "TTROUPE1"
constexpr std::uint32_t layout_version = 1;
constexpr int wanted_seals = F_SEAL_SHRINK | F_SEAL_GROW;

// Written once at creation.
struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t members;
  std::uint64_t generation;
  std::uint64_t f32_count;
  std::uint64_t f64_count;
  std::uint64_t attachment_bytes;
  std::uint64_t total;
  std::uint32_t virtual_total;
  std::uint32_t reserved;
};
constexpr std::uint64_t control_at = 128;
constexpr std::uint64_t table_at = 256; // MemberBlock[members]
static_assert(sizeof(Header) <= control_at);

struct Control {
  futex::Word gate;
  std::atomic<std::uint32_t> waiters;
  futex::Word poison; // 0, or 1 + writer * poison_sources + source
};

constexpr std::uint32_t poison_sources = 3;
constexpr std::size_t text_bytes = 168;
struct PoisonRecord {
  std::int64_t at_ns;
  std::uint32_t dead_rank;
  std::uint32_t length;
  char text[text_bytes];
};
struct MemberCell {
  alignas(64) LifeCell life;
  alignas(64) PoisonRecord records[poison_sources];
};
static_assert(sizeof(MemberCell) % 64 == 0);

constexpr std::uint64_t up(std::uint64_t n, std::uint64_t to) {
  return (n + to - 1) / to * to;
}

std::uint64_t slots_bytes(std::uint64_t members) {
  return 2 * members * slot_bytes;
}

result<void> check(const SegmentSpec& spec) {
  const auto bad = [](std::string what) { return fail(Errc::invalid, "generation segment: " + what); };
  if (spec.members.empty() || spec.members.size() > max_members)
    return bad(fmt::format("{} members, allowed are 1 to {}", spec.members.size(), max_members));
  if (spec.virtual_total == 0 || spec.virtual_total > max_virtual)
    return bad(fmt::format("{} virtual workers, allowed are 1 to {}", spec.virtual_total, max_virtual));
  if (spec.f32_count > max_segment_bytes / 4 || spec.f64_count > max_segment_bytes / 8 ||
      spec.attachment_bytes > max_segment_bytes || spec.attachment_bytes % 64 != 0)
    return bad(fmt::format("leaf of {} floats, {} doubles, {} attached bytes", spec.f32_count, spec.f64_count,
                           spec.attachment_bytes));
  std::vector<bool> seen(spec.virtual_total);
  std::uint64_t covered = 0;
  for (const auto& m : spec.members) {
    if (static_cast<std::uint64_t>(m.first_virtual) + m.virtual_count > spec.virtual_total)
      return bad(fmt::format("block {}+{} of {}", m.first_virtual, m.virtual_count, spec.virtual_total));
    for (auto v = m.first_virtual; v < m.first_virtual + m.virtual_count; ++v) {
      if (seen[v])
        return bad(fmt::format("virtual worker {} belongs to two members", v));
      seen[v] = true;
      ++covered;
    }
  }
  if (covered != spec.virtual_total)
    return bad(fmt::format("{} of {} virtual workers belong to nobody", spec.virtual_total - covered,
                           spec.virtual_total));
  return {};
}

result<SegmentSpec> read_spec(int fd, std::uint64_t size) {
  const auto bad = [](std::string what) { return fail(Errc::corrupt, "generation segment: " + what); };
  Header h{};
  if (::pread(fd, &h, sizeof h, 0) != static_cast<ssize_t>(sizeof h) || h.magic != magic)
    return bad("no header");
  if (h.version != layout_version)
    return bad(fmt::format("layout version {}, this build knows {}", h.version, layout_version));
  if (h.members == 0 || h.members > max_members || h.total != size)
    return bad(fmt::format("{} members and {} bytes in a file of {} bytes", h.members, h.total, size));
  SegmentSpec spec{Generation{h.generation}, std::vector<MemberBlock>(h.members), h.virtual_total,
                   h.f32_count, h.f64_count, h.attachment_bytes};
  const auto bytes = h.members * sizeof(MemberBlock);
  if (::pread(fd, spec.members.data(), bytes, table_at) != static_cast<ssize_t>(bytes))
    return bad("cut short");
  return spec;
}

} // namespace

result<SegmentLayout> layout_of(const SegmentSpec& spec) {
  TROUPE_TRY(check(spec));
  SegmentLayout l;
  l.shape = {spec.f32_count, spec.f64_count};
  const std::uint64_t node = l.shape.bytes();
  l.direct = node <= direct_node_bytes;
  const std::uint64_t members = spec.members.size();
  l.first_node.push_back(0);
  for (const auto& m : spec.members)
    l.first_node.push_back(l.first_node.back() +
                           own_nodes({m.first_virtual, m.virtual_count}, spec.virtual_total).size());
  l.arrived = up(table_at + members * sizeof(MemberBlock), 64);
  l.members = up(l.arrived + members * sizeof(std::uint64_t), 64);
  l.slots = up(l.members + (members + 1) * sizeof(MemberCell), 4096); // the last cell is the outsider's
  l.nodes = l.slots + slots_bytes(members);
  // Counts are bounded, so none of these products passes 2^63; the sum is checked step by step.
  const auto part = [](std::uint64_t from, std::uint64_t count, std::uint64_t bytes) -> std::uint64_t {
    return bytes != 0 && count > (max_segment_bytes - std::min(from, max_segment_bytes)) / bytes
             ? max_segment_bytes + 1
             : from + count * bytes;
  };
  l.results = part(l.nodes, l.first_node.back() * (l.direct ? 2 : 1), node);
  l.attachments = part(l.results, l.direct ? 0 : 2, node);
  l.total = part(l.attachments, 3ull * spec.virtual_total, spec.attachment_bytes);
  if (l.results > max_segment_bytes || l.attachments > max_segment_bytes || l.total > max_segment_bytes)
    return fail(Errc::invalid, fmt::format("generation segment: more than {} bytes", max_segment_bytes));
  l.total = up(l.total, 4096);
  return l;
}

result<UniqueFd> Segment::create(const SegmentSpec& spec) {
  TROUPE_ASSIGN(const auto layout, layout_of(spec));
  TROUPE_TRY(check_memory_for(layout.total, "generation segment"));
  UniqueFd fd(::memfd_create("troupe-generation", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd)
    return fail_errno(Errc::exhausted, "generation segment: memfd_create", errno);
  int rc = 0;
  do
    rc = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(layout.total));
  while (rc == EINTR);
  if (rc != 0)
    return fail_errno(Errc::exhausted,
                      fmt::format("generation segment: {} bytes of shared memory", layout.total), rc);
  const Header header{magic, layout_version, static_cast<std::uint32_t>(spec.members.size()),
                      spec.generation.value, spec.f32_count, spec.f64_count, spec.attachment_bytes, layout.total,
                      spec.virtual_total, 0};
  const auto table = spec.members.size() * sizeof(MemberBlock);
  if (::pwrite(fd.get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      ::pwrite(fd.get(), spec.members.data(), table, table_at) != static_cast<ssize_t>(table))
    return fail_errno(Errc::exhausted, "generation segment: write", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, wanted_seals | F_SEAL_SEAL) != 0)
    return fail_errno(Errc::exhausted, "generation segment: seal", errno);
  return fd;
}

result<std::unique_ptr<Segment>> Segment::attach(int fd) {
  struct stat st{};
  if (::fstat(fd, &st) != 0)
    return fail_errno(Errc::corrupt, "generation segment: fstat", errno);
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & wanted_seals) != wanted_seals)
    return fail(Errc::corrupt, "generation segment: not a sealed memfd, its size could change");
  const auto size = static_cast<std::uint64_t>(st.st_size);
  TROUPE_ASSIGN(auto spec, read_spec(fd, size));
  auto layout = layout_of(spec);
  if (!layout || layout->total != size)
    return fail(Errc::corrupt, layout ? "generation segment: size and header differ" : layout.error().context);
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED)
    return fail_errno(Errc::exhausted, fmt::format("generation segment: map {} bytes", size), errno);
  ::madvise(base, size, MADV_DONTFORK); // a child of the trainer has no part in the generation
  return std::unique_ptr<Segment>(new Segment(std::move(spec), std::move(*layout), static_cast<std::byte*>(base)));
}

Segment::Segment(SegmentSpec spec, SegmentLayout layout, std::byte* base)
  : spec_(std::move(spec)), layout_(std::move(layout)), base_(base) {}

Segment::~Segment() {
  ::munmap(base_, layout_.total);
}

namespace {
Control& control(std::byte* base) {
  return *reinterpret_cast<Control*>(base + control_at);
}
} // namespace

std::atomic<std::uint64_t>& Segment::arrived(std::uint32_t rank) const {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + layout_.arrived)[rank];
}

futex::Word& Segment::gate() const {
  return control(base_).gate;
}

std::atomic<std::uint32_t>& Segment::waiters() const {
  return control(base_).waiters;
}

futex::Word& Segment::poison_word() const noexcept {
  return control(base_).poison;
}

void Segment::open_gate() const noexcept {
  // A waiter counts itself before it reads the gate, so either it is seen here or it sees the new gate.
  gate().fetch_add(1);
  if (waiters().load() != 0)
    futex::wake_all(gate());
}

std::byte* Segment::member(std::uint32_t rank) const {
  return base_ + layout_.members + rank * sizeof(MemberCell);
}

LifeCell& Segment::life(std::uint32_t rank) const {
  return reinterpret_cast<MemberCell*>(member(rank))->life;
}

std::byte* Segment::slot(std::uint32_t parity, std::uint32_t rank) const {
  return base_ + layout_.slots + (static_cast<std::uint64_t>(parity) * size() + rank) * slot_bytes;
}

NodeBuffer Segment::node(std::uint32_t parity, std::uint64_t index) const {
  const auto number = parity * layout_.first_node.back() + index;
  return layout_.shape.at(base_ + layout_.nodes + number * layout_.shape.bytes());
}

NodeBuffer Segment::shared_result(std::uint32_t parity) const {
  return layout_.shape.at(base_ + layout_.results + parity * layout_.shape.bytes());
}

std::span<std::byte> Segment::attachment(std::uint32_t phase, std::uint32_t v) const {
  const auto number = static_cast<std::uint64_t>(phase) * spec_.virtual_total + v;
  return {base_ + layout_.attachments + number * spec_.attachment_bytes, spec_.attachment_bytes};
}

bool Segment::poison(std::uint32_t writer, PoisonSource source, std::uint32_t dead_rank,
                     std::string_view cause) const noexcept {
  if (poisoned()) {
    wake_poisoned(); // the first one may have died before it did
    return false;
  }
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  auto& record = reinterpret_cast<MemberCell*>(member(writer))->records[static_cast<std::uint32_t>(source)];
  record.at_ns = static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  record.dead_rank = dead_rank;
  record.length = static_cast<std::uint32_t>(std::min(cause.size(), text_bytes));
  std::memcpy(record.text, cause.data(), record.length);
  std::uint32_t none = 0;
  const auto word = 1 + writer * poison_sources + static_cast<std::uint32_t>(source);
  const bool first = poison_word().compare_exchange_strong(none, word);
  wake_poisoned();
  return first;
}

void Segment::wake_poisoned() const noexcept {
  gate().fetch_add(1);
  futex::wake_all(poison_word()); // the life threads first: they make those who wait at the gate run at once
  futex::wake_all(gate());
}

Segment::PoisonFacts Segment::poison_facts() const {
  const auto word = poison_word().load(std::memory_order_acquire);
  if (word == 0)
    return {};
  const auto writer = (word - 1) / poison_sources;
  if (writer > size())
    return {{}, nobody, "poison word out of range"};
  PoisonRecord record;
  std::memcpy(&record, &reinterpret_cast<MemberCell*>(member(writer))->records[(word - 1) % poison_sources],
              sizeof record);
  const auto length = std::min<std::size_t>(record.length, text_bytes);
  return {Time{Duration{record.at_ns}}, record.dead_rank < size() ? record.dead_rank : nobody,
          std::string(record.text, length)};
}

} // namespace troupe

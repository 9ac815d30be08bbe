#include "checkpoint/slot_bank.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "checkpoint/bank_mapping.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace troupe::checkpoint {

namespace {

constexpr std::uint32_t min_versions = 4;
constexpr std::uint32_t max_versions = 64;
constexpr std::uint64_t max_layout_bytes = 64 << 20;
// A writer touches all of its bank soon, so small ones are mapped at once; the rest page by page as it is used.
constexpr std::uint64_t populate_up_to = 256 << 20;
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::uint64_t static_sum(const BankHeader& h, std::span<const std::byte> layout) {
  const std::uint64_t fields[] = {h.magic, h.format, h.versions, h.layout_bytes, h.total_bytes,
                                  checksum(layout.data(), layout.size())};
  return checksum(fields, sizeof fields);
}

result<std::byte*> map(int fd, std::uint64_t bytes, int protection) {
  const bool soon = (protection & PROT_WRITE) != 0 && bytes <= populate_up_to;
  const int populate = soon ? MAP_POPULATE : 0;
  void* base = ::mmap(nullptr, bytes, protection, MAP_SHARED | populate, fd, 0);
  if (base == MAP_FAILED)
    return fail_errno(Errc::exhausted, "map a slot bank of " + std::to_string(bytes) + " bytes", errno);
  return static_cast<std::byte*>(base);
}

std::string show(PieceKey key) {
  return "version (" + std::to_string(key.step.value) + ", " + std::to_string(key.generation.value) + ')';
}

} // namespace

result<UniqueFd> SlotBank::create(const BankLayout& layout, std::uint32_t versions) {
  if (versions < min_versions || versions > max_versions)
    return fail(Errc::invalid, "a slot bank holds 4 to 64 versions, not " + std::to_string(versions));
  const auto table = layout.encode();
  if (table.size() > max_layout_bytes)
    return fail(Errc::invalid, "the names of the state's pieces take more than 64 MiB");
  const BankGeometry geometry(layout, table.size(), versions);
  UniqueFd fd(::memfd_create("troupe-bank", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd)
    return fail_errno(Errc::exhausted, "make a slot bank", errno);
  // Reserved now, so that no later store can fail; the kernel zeroes the pages here, not in the first snapshot.
  if (::fallocate(fd.get(), 0, 0, static_cast<off_t>(geometry.total)) != 0)
    return fail_errno(Errc::exhausted, "reserve " + std::to_string(geometry.total) + " bytes for a slot bank", errno);
  TROUPE_ASSIGN(auto* base, map(fd.get(), geometry.slots_at, PROT_READ | PROT_WRITE));
  auto& h = *reinterpret_cast<BankHeader*>(base);
  h.magic = BankMapping::magic;
  h.format = BankMapping::format;
  h.versions = versions;
  h.layout_bytes = table.size();
  h.total_bytes = geometry.total;
  std::memcpy(base + BankMapping::page, table.data(), table.size());
  h.sum = static_sum(h, table);
  ::munmap(base, geometry.slots_at);
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) != 0)
    return fail_errno(Errc::exhausted, "seal a slot bank", errno);
  return fd;
}

result<SlotBank> SlotBank::attach(int fd, Access access) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return fail_errno(Errc::invalid, "slot bank", errno);
  if ((::fcntl(fd, F_GET_SEALS) & seals) != seals)
    return fail(Errc::corrupt, "slot bank: not a sealed memory file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < BankMapping::page)
    return fail(Errc::corrupt, "slot bank: too short");
  const bool writable = access == Access::read_write;
  TROUPE_ASSIGN(auto* base, map(fd, size, writable ? PROT_READ | PROT_WRITE : PROT_READ));
  const auto refuse = [&](const char* why) {
    ::munmap(base, size);
    return fail(Errc::corrupt, std::string("slot bank: ") + why);
  };
  const auto& h = *reinterpret_cast<const BankHeader*>(base);
  if (h.magic != BankMapping::magic || h.format != BankMapping::format)
    return refuse("another format");
  const auto versions = h.versions;
  const auto table_bytes = h.layout_bytes;
  if (h.total_bytes != size || versions < min_versions || versions > max_versions || table_bytes > max_layout_bytes ||
      table_bytes > size - BankMapping::page)
    return refuse("sizes do not fit");
  const std::span<const std::byte> table(base + BankMapping::page, table_bytes);
  if (h.sum != static_sum(h, table))
    return refuse("wrong checksum of its header");
  auto layout = BankLayout::decode(table);
  if (!layout)
    return refuse(layout.error().context.c_str());
  const BankGeometry geometry(*layout, table_bytes, versions);
  if (geometry.total != size)
    return refuse("sizes do not fit its layout");
  return SlotBank(std::make_shared<BankMapping>(base, geometry, std::move(*layout), versions, writable));
}

const BankLayout& SlotBank::layout() const { return bank_->layout; }
std::uint32_t SlotBank::versions() const { return bank_->versions; }
std::uint64_t SlotBank::mapped_bytes() const { return bank_->geometry.total; }
BankPulse& SlotBank::pulse() const { return bank_->header().pulse; }

// --- writer ---

result<SlotBank::Writing> SlotBank::begin_write(PieceKey key) const {
  if (!bank_->writable)
    return fail(Errc::invalid, "slot bank: attached read-only");
  TROUPE_ASSIGN(const auto taken, bank_->take_slot());
  return Writing(bank_, taken.first, taken.second, key);
}

SlotBank::Writing::Writing(std::shared_ptr<BankMapping> bank, std::uint32_t slot, std::uint64_t word, PieceKey key)
  : bank_(std::move(bank)), slot_(slot), word_(word), key_(key) {}

SlotBank::Writing::~Writing() {
  if (!bank_)
    return;
  auto expected = word_;
  bank_->slot(slot_).word.compare_exchange_strong(expected, make_word(sequence_of(word_) + 1, SlotState::void_));
}

void SlotBank::Writing::write(std::size_t piece, std::span<const std::byte> bytes) {
  TROUPE_ASSERT(bank_ != nullptr && piece < bank_->layout.size(), "no such piece");
  const auto place = bank_->piece(slot_, piece);
  TROUPE_ASSERT(bytes.size() == place.size(), "piece of another size");
  bank_->checksums(slot_)[piece] = copy_checked(place.data(), bytes.data(), bytes.size());
  bank_->written[piece] = 1;
}

result<void> SlotBank::Writing::write_verified(std::size_t piece, const PieceView& source) {
  write(piece, source.bytes);
  if (bank_->checksums(slot_)[piece] != source.checksum)
    return fail(Errc::corrupt, show(key_) + ": wrong checksum of \"" + source.spec->name + '"');
  return {};
}

result<std::uint64_t> SlotBank::Writing::publish() {
  TROUPE_ASSERT(bank_ != nullptr, "published twice");
  for (const auto done : bank_->written)
    TROUPE_ASSERT(done == 1, "a piece was not written before publish");
  const auto bank = std::move(bank_);
  auto& s = bank->slot(slot_);
  const auto digest = bank->layout.digest(bank->checksums(slot_));
  s.step.store(key_.step.value, std::memory_order_relaxed);
  s.generation.store(key_.generation.value, std::memory_order_relaxed);
  s.digest.store(digest, std::memory_order_relaxed);
  s.stamp.store(bank->header().stamp.fetch_add(1) + 1, std::memory_order_relaxed);
  s.agreed.store(0, std::memory_order_relaxed);
  s.sum.store(bank->header_sum(slot_), std::memory_order_relaxed);
  auto expected = word_;
  if (!s.word.compare_exchange_strong(expected, make_word(sequence_of(word_), SlotState::complete),
                                      std::memory_order_release, std::memory_order_relaxed))
    return fail(Errc::fenced, "another writer took the slot of " + show(key_));
  for (std::uint32_t i = 0; i < bank->versions; ++i)
    if (i != slot_)
      if (const auto other = bank->inspect(i); other && other->key == key_)
        bank->make_void(*other);
  return digest;
}

// --- everybody ---

std::vector<VersionInfo> SlotBank::list() const {
  auto found = bank_->list();
  for (auto& version : found)
    version.pinned = bank_->pinned(version.slot);
  return found;
}

std::optional<VersionInfo> SlotBank::find(PieceKey key) const {
  return bank_->find(key);
}

std::optional<VersionInfo> SlotBank::newest() const {
  const auto found = bank_->list();
  return found.empty() ? std::nullopt : std::optional(found.front());
}

result<void> SlotBank::read(const VersionInfo& version, std::size_t piece, std::span<std::byte> out) const {
  TROUPE_ASSERT(piece < layout().size() && out.size() == layout().pieces()[piece].bytes(), "piece of another size");
  const auto expected = bank_->checksums(version.slot)[piece];
  const auto sum = copy_checked(out.data(), bank_->piece(version.slot, piece).data(), out.size());
  if (!bank_->unchanged(version))
    return fail(Errc::stale, show(version.key) + " was overwritten");
  if (sum != expected)
    return fail(Errc::corrupt, show(version.key) + ": wrong checksum of \"" + layout().pieces()[piece].name + '"');
  return {};
}

result<void> SlotBank::read_all(const VersionInfo& version, std::span<const std::span<std::byte>> out) const {
  TROUPE_ASSERT(out.size() == layout().size(), "one place per piece");
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].data() != nullptr)
      TROUPE_TRY(read(version, i, out[i]));
  return {};
}

result<void> SlotBank::verify(const VersionInfo& version) const {
  const auto table = bank_->checksums(version.slot);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto bytes = bank_->piece(version.slot, i);
    const bool right = checksum(bytes.data(), bytes.size()) == table[i];
    if (!bank_->unchanged(version))
      return fail(Errc::stale, show(version.key) + " was overwritten");
    if (!right)
      return fail(Errc::corrupt, show(version.key) + ": wrong checksum of \"" + layout().pieces()[i].name + '"');
  }
  const bool right = layout().digest(table) == version.digest;
  if (!bank_->unchanged(version))
    return fail(Errc::stale, show(version.key) + " was overwritten");
  return right ? result<void>{} : fail(Errc::corrupt, show(version.key) + ": wrong digest");
}

result<std::vector<PieceView>> SlotBank::view(const VersionInfo& version) const {
  std::vector<PieceView> views;
  views.reserve(layout().size());
  for (std::size_t i = 0; i < layout().size(); ++i)
    views.push_back({&layout().pieces()[i], bank_->piece(version.slot, i), bank_->checksums(version.slot)[i]});
  if (!bank_->unchanged(version))
    return fail(Errc::stale, show(version.key) + " was overwritten");
  return views;
}

bool SlotBank::set_agreed(PieceKey key) const {
  const auto version = bank_->writable ? bank_->find(key) : std::nullopt;
  if (!version)
    return false;
  bank_->slot(version->slot).agreed.store(version->word);
  return bank_->unchanged(*version);
}

std::size_t SlotBank::void_after(Step resume, Generation next) const {
  std::size_t count = 0;
  if (bank_->writable)
    for (const auto& version : bank_->list())
      if (version.key.generation < next && version.key.step > resume && bank_->make_void(version))
        ++count;
  return count;
}

bool SlotBank::void_version(PieceKey key) const {
  const auto version = bank_->writable ? bank_->find(key) : std::nullopt;
  return version && bank_->make_void(*version);
}

result<SlotBank::Pin> SlotBank::pin(PieceKey key) const {
  if (!bank_->writable)
    return fail(Errc::invalid, "slot bank: attached read-only");
  const auto version = bank_->find(key);
  if (!version)
    return fail(Errc::stale, show(key) + " is not here any more");
  const auto entry = bank_->add_pin(version->slot);
  if (!entry)
    return fail(Errc::exhausted, show(key) + " has as many pins as a slot can take");
  Pin pin(bank_, *entry, *version);
  if (!bank_->take_claim_back(*version))
    return fail(Errc::stale, show(key) + " was overwritten");
  return pin;
}

SlotBank::Pin::Pin(std::shared_ptr<BankMapping> bank, std::size_t entry, VersionInfo version)
  : bank_(std::move(bank)), entry_(entry), version_(version) {}

SlotBank::Pin::~Pin() {
  if (bank_)
    bank_->remove_pin(version_.slot, entry_);
}

result<VersionInfo> copy_version(const SlotBank& from, PieceKey key, const SlotBank& to) {
  if (from.layout().hash() != to.layout().hash())
    return fail(Errc::invalid, "the two banks hold states of different shape");
  const auto source = from.find(key);
  if (!source)
    return fail(Errc::stale, show(key) + " is not in the source any more");
  auto present = to.find(key);
  if (!present || present->digest != source->digest) {
    TROUPE_ASSIGN(auto writing, to.begin_write(key));
    TROUPE_ASSIGN(const auto views, from.view(*source));
    for (std::size_t i = 0; i < views.size(); ++i)
      TROUPE_TRY(writing.write_verified(i, views[i]));
    if (const auto now = from.find(key); !now || now->word != source->word)
      return fail(Errc::stale, show(key) + " was overwritten in the source");
    TROUPE_ASSIGN(const auto digest, writing.publish());
    if (digest != source->digest) {
      to.void_version(key);
      return fail(Errc::corrupt, show(key) + ": wrong digest");
    }
  }
  if (source->agreed)
    to.set_agreed(key);
  present = to.find(key);
  return present ? result<VersionInfo>(*present) : fail(Errc::stale, show(key) + " did not stay");
}

} // namespace troupe::checkpoint

#define BOOST_TEST_MODULE slot_bank
#include "base/clock.hpp"
#include "tests/unit/checkpoint/state.hpp"
#include "tests/unit/seed.hpp"

#include <algorithm>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::checkpoint;
using namespace troupe::test;

BOOST_AUTO_TEST_CASE(a_published_version_reads_back_through_any_mapping) {
  const auto fd = SlotBank::create(small_layout()).value();
  const auto writer = SlotBank::attach(fd.get()).value();
  const auto reader = SlotBank::attach(fd.get(), SlotBank::Access::read_only).value();
  BOOST_TEST(reader.list().empty());
  const auto digest = put(writer, key(3)).value();
  const auto found = reader.newest().value();
  BOOST_TEST((found.key == key(3)));
  BOOST_TEST(found.digest == digest);
  BOOST_TEST(!found.agreed);
  BOOST_TEST(reader.verify(found).has_value());
  BOOST_TEST(holds(reader, found));
}

BOOST_AUTO_TEST_CASE(an_unpublished_version_is_never_seen) {
  const auto bank = fresh_bank();
  {
    auto writing = bank.begin_write(key(1)).value();
    writing.write(0, content(bank.layout(), 0, key(1)));
    BOOST_TEST(bank.list().empty());
  }
  BOOST_TEST(bank.list().empty());
  BOOST_TEST(put(bank, key(1)).has_value());
}

BOOST_AUTO_TEST_CASE(the_newest_two_versions_survive_everything_a_writer_does) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Random random(seed, "test");
    const auto bank = fresh_bank(small_layout(), static_cast<std::uint32_t>(4 + random.below(4)));
    for (std::uint64_t step = 0; step < 100; ++step) {
      BOOST_REQUIRE(put(bank, key(step)).has_value());
      auto abandoned = bank.begin_write(key(step + 1)).value();
      abandoned.write(0, content(bank.layout(), 0, key(0, 99)));
      const auto steps = steps_of(bank);
      BOOST_REQUIRE_EQUAL(steps.at(0), step);
      if (step > 0)
        BOOST_REQUIRE_EQUAL(steps.at(1), step - 1);
      for (const auto& version : bank.list())
        BOOST_REQUIRE(holds(bank, version));
    }
  });
}

BOOST_AUTO_TEST_CASE(the_last_agreed_version_stays_until_a_newer_one_is_agreed) {
  const auto bank = fresh_bank();
  for (std::uint64_t step = 0; step < 50; ++step) {
    BOOST_REQUIRE(put(bank, key(step)).has_value());
    if (step % 10 == 0)
      BOOST_REQUIRE(bank.set_agreed(key(step)));
    const auto agreed = bank.find(key(step / 10 * 10));
    BOOST_REQUIRE(agreed && agreed->agreed);
    BOOST_REQUIRE(holds(bank, *agreed));
  }
  BOOST_TEST(!bank.set_agreed(key(3)));
  // The one before is free again.
  BOOST_TEST(!bank.find(key(30)).has_value());
}

BOOST_AUTO_TEST_CASE(agreement_does_not_pass_to_the_next_version_in_the_slot) {
  const auto bank = fresh_bank();
  for (std::uint64_t step = 0; step < 30; ++step) {
    BOOST_REQUIRE(put(bank, key(step)).has_value());
    bank.set_agreed(key(step));
  }
  BOOST_REQUIRE(put(bank, key(100)).has_value());
  BOOST_TEST(!bank.find(key(100))->agreed);
}

BOOST_AUTO_TEST_CASE(a_pinned_version_is_not_overwritten_and_when_nothing_is_free_the_writer_is_told) {
  const auto bank = fresh_bank(small_layout(), 5);
  for (std::uint64_t step = 0; step < 3; ++step)
    BOOST_REQUIRE(put(bank, key(step)).has_value());
  bank.set_agreed(key(0));
  {
    const auto pin = bank.pin(key(1)).value();
    BOOST_TEST(bank.find(key(1)).has_value());
    for (std::uint64_t step = 3; step < 40; ++step) {
      BOOST_REQUIRE(put(bank, key(step)).has_value());
      BOOST_REQUIRE(holds(bank, pin.version()));
    }
    // 0 agreed, 1 pinned, 38 and 39 newest: one slot is left; pin what lies there.
    const auto last = bank.pin(key(37)).value();
    const auto refused = bank.begin_write(key(40));
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == Errc::exhausted));
    BOOST_TEST(bank.list().at(0).pinned == false);
    BOOST_TEST(bank.list().back().pinned == false);
  }
  BOOST_TEST(put(bank, key(40)).has_value());
  BOOST_TEST((bank.pin(key(1000)).error().code == Errc::stale));
}

BOOST_AUTO_TEST_CASE(several_pins_of_one_version_end_one_by_one_and_are_bounded) {
  const auto bank = fresh_bank();
  BOOST_REQUIRE(put(bank, key(1)).has_value());
  std::vector<SlotBank::Pin> pins;
  for (;;) {
    auto pin = bank.pin(key(1));
    if (!pin) {
      BOOST_TEST((pin.error().code == Errc::exhausted));
      break;
    }
    pins.push_back(std::move(*pin));
    BOOST_REQUIRE(pins.size() < 100);
  }
  BOOST_TEST(pins.size() >= 8u);
  while (!pins.empty()) {
    BOOST_TEST(bank.find(key(1)).has_value());
    BOOST_TEST(bank.list().front().pinned);
    pins.pop_back();
  }
  BOOST_TEST(!bank.list().front().pinned);
}

BOOST_AUTO_TEST_CASE(a_reader_that_was_overtaken_is_told_that_its_version_is_stale) {
  const auto bank = fresh_bank();
  BOOST_REQUIRE(put(bank, key(1)).has_value());
  const auto old = bank.newest().value();
  for (std::uint64_t step = 2; step < 10; ++step)
    BOOST_REQUIRE(put(bank, key(step)).has_value());
  std::vector<std::byte> out(bank.layout().pieces()[0].bytes());
  BOOST_TEST((bank.read(old, 0, out).error().code == Errc::stale));
  BOOST_TEST((bank.verify(old).error().code == Errc::stale));
  BOOST_TEST((bank.view(old).error().code == Errc::stale));
}

BOOST_AUTO_TEST_CASE(a_resume_makes_newer_steps_of_older_generations_void_and_nothing_else) {
  const auto bank = fresh_bank(small_layout(), 8);
  for (const auto k : {key(5, 1), key(6, 1), key(7, 1), key(6, 2)})
    BOOST_REQUIRE(put(bank, k).has_value());
  BOOST_TEST(bank.void_after(Step{5}, Generation{2}) == 2u);
  BOOST_TEST(bank.void_after(Step{5}, Generation{2}) == 0u);
  BOOST_TEST(bank.find(key(5, 1)).has_value());
  BOOST_TEST(bank.find(key(6, 2)).has_value());
  BOOST_TEST(!bank.find(key(6, 1)).has_value());
  BOOST_TEST(bank.void_version(key(6, 2)));
  BOOST_TEST(!bank.void_version(key(6, 2)));
  BOOST_TEST((steps_of(bank) == std::vector<std::uint64_t>{5}));
}

BOOST_AUTO_TEST_CASE(writing_a_key_again_replaces_it) {
  const auto bank = fresh_bank();
  BOOST_REQUIRE(put(bank, key(4)).has_value());
  auto writing = bank.begin_write(key(4)).value();
  for (std::size_t n = 0; n < bank.layout().size(); ++n)
    writing.write(n, content(bank.layout(), n, key(44)));
  const auto digest = writing.publish().value();
  BOOST_TEST(bank.list().size() == 1u);
  BOOST_TEST(bank.find(key(4))->digest == digest);
}

BOOST_AUTO_TEST_CASE(staging_copies_a_version_between_banks_with_its_agreement_and_only_once) {
  const auto from = fresh_bank();
  const auto to = fresh_bank();
  BOOST_REQUIRE(put(from, key(9, 3)).has_value());
  from.set_agreed(key(9, 3));
  const auto copied = copy_version(from, key(9, 3), to).value();
  BOOST_TEST(copied.digest == from.newest()->digest);
  BOOST_TEST(copied.agreed);
  BOOST_TEST(holds(to, copied));
  const auto again = copy_version(from, key(9, 3), to).value();
  BOOST_TEST(again.word == copied.word);
  BOOST_TEST((copy_version(from, key(8, 3), to).error().code == Errc::stale));
  const auto other = fresh_bank(small_layout(400));
  BOOST_TEST((copy_version(from, key(9, 3), other).error().code == Errc::invalid));
}

namespace {

// The bank's file, mapped beside the bank, to damage it.
struct Raw {
  std::span<std::byte> bytes;
  explicit Raw(int fd) {
    struct stat status {};
    BOOST_REQUIRE_EQUAL(::fstat(fd, &status), 0);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    BOOST_REQUIRE(base != MAP_FAILED);
    bytes = {static_cast<std::byte*>(base), size};
  }
  ~Raw() { ::munmap(bytes.data(), bytes.size()); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
};

} // namespace

BOOST_AUTO_TEST_CASE(no_flipped_byte_of_a_bank_is_ever_read_as_a_right_version_of_other_content) {
  const auto fd = SlotBank::create(small_layout(), 4).value();
  const Raw raw(fd.get());
  {
    const auto bank = SlotBank::attach(fd.get()).value();
    for (std::uint64_t step = 0; step < 4; ++step)
      BOOST_REQUIRE(put(bank, key(step)).has_value());
  }
  std::size_t noticed = 0;
  for (std::size_t at = 0; at < raw.bytes.size(); ++at) {
    raw.bytes[at] ^= std::byte{0x41};
    const auto bank = SlotBank::attach(fd.get(), SlotBank::Access::read_only);
    if (!bank) {
      ++noticed;
    } else {
      const auto found = bank->list();
      bool sound = found.size() == 4;
      for (const auto& version : found) {
        const bool right = bank->verify(version).has_value();
        sound = sound && right;
        if (right)
          BOOST_REQUIRE_MESSAGE(holds(*bank, version), "byte " << at);
      }
      noticed += sound ? 0 : 1;
    }
    raw.bytes[at] ^= std::byte{0x41};
  }
  // Every byte that is not padding, a pin, the pulse or the flag of agreement.
  const auto layout = small_layout();
  BOOST_TEST(noticed >= layout.encode().size() + 4 * (layout.state_bytes() + layout.size() * 8 + 40));
}

BOOST_AUTO_TEST_CASE(a_damaged_source_is_refused_and_leaves_no_version_behind) {
  const auto layout = small_layout();
  const auto fd = SlotBank::create(layout, 4).value();
  const auto from = SlotBank::attach(fd.get()).value();
  const auto to = fresh_bank();
  BOOST_REQUIRE(put(from, key(1)).has_value());
  const auto wanted = content(layout, layout.find("layer1/weight").value(), key(1));
  const Raw raw(fd.get());
  const auto at = std::search(raw.bytes.begin(), raw.bytes.end(), wanted.begin(), wanted.end());
  BOOST_REQUIRE(at != raw.bytes.end());
  at[100] ^= std::byte{1};
  BOOST_TEST((copy_version(from, key(1), to).error().code == Errc::corrupt));
  BOOST_TEST(to.list().empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_a_bank_is_refused) {
  const UniqueFd plain(::memfd_create("x", MFD_CLOEXEC));
  BOOST_REQUIRE_EQUAL(::ftruncate(plain.get(), 1 << 20), 0);
  BOOST_TEST((SlotBank::attach(plain.get()).error().code == Errc::corrupt));
  BOOST_TEST(!SlotBank::attach(-1).has_value());
  BOOST_TEST((SlotBank::create(small_layout(), 3).error().code == Errc::invalid));
}

BOOST_AUTO_TEST_CASE(a_bank_can_neither_grow_nor_shrink_under_its_mappings) {
  const auto fd = SlotBank::create(small_layout()).value();
  BOOST_TEST(::ftruncate(fd.get(), 4096) == -1);
  BOOST_TEST(::ftruncate(fd.get(), 1 << 30) == -1);
}

BOOST_AUTO_TEST_CASE(through_a_read_only_mapping_nothing_changes) {
  const auto fd = SlotBank::create(small_layout()).value();
  const auto writer = SlotBank::attach(fd.get()).value();
  BOOST_REQUIRE(put(writer, key(1)).has_value());
  const auto reader = SlotBank::attach(fd.get(), SlotBank::Access::read_only).value();
  BOOST_TEST((reader.begin_write(key(2)).error().code == Errc::invalid));
  BOOST_TEST((reader.pin(key(1)).error().code == Errc::invalid));
  BOOST_TEST(!reader.set_agreed(key(1)));
  BOOST_TEST(reader.void_after(Step{0}, Generation{9}) == 0u);
}

BOOST_AUTO_TEST_CASE(publishing_a_small_state_takes_tens_of_microseconds) {
  const auto bank = fresh_bank(BankLayout::make({{"a", DType::f32, {64, 128}},
                                                 {"a.m", DType::f32, {64, 128}},
                                                 {"a.v", DType::f32, {64, 128}},
                                                 {"b", DType::f32, {128, 10}},
                                                 {"b.m", DType::f32, {128, 10}},
                                                 {"b.v", DType::f32, {128, 10}},
                                                 {"troupe/ledger", DType::u8, {6000}, false}})
                                 .value());
  std::vector<std::vector<std::byte>> state;
  for (std::size_t n = 0; n < bank.layout().size(); ++n)
    state.push_back(content(bank.layout(), n, key(0)));
  std::vector<Duration> times;
  for (std::uint64_t step = 0; step < 2000; ++step) {
    const auto start = monotonic_now();
    auto writing = bank.begin_write(key(step)).value();
    for (std::size_t n = 0; n < state.size(); ++n)
      writing.write(n, state[n]);
    BOOST_REQUIRE(writing.publish().has_value());
    times.push_back(monotonic_now() - start);
  }
  std::sort(times.begin(), times.end());
  BOOST_TEST_MESSAGE(bank.layout().state_bytes() << " bytes: p50 " << times[1000].count() << " ns, p99 "
                                                 << times[1980].count() << " ns");
  BOOST_TEST(times[1000] < std::chrono::milliseconds(1));
}

#define BOOST_TEST_MODULE layout
#include "base/checksum.hpp"
#include "tests/unit/checkpoint/state.hpp"
#include "tests/unit/seed.hpp"

using namespace troupe;
using namespace troupe::checkpoint;
using troupe::test::small_layout;

namespace {

std::string refusal(std::vector<PieceSpec> pieces) {
  auto layout = BankLayout::make(std::move(pieces));
  BOOST_REQUIRE(!layout);
  BOOST_TEST((layout.error().code == Errc::invalid));
  return layout.error().context;
}

} // namespace

BOOST_AUTO_TEST_CASE(pieces_are_sorted_by_name_and_lie_on_64_byte_borders) {
  const auto layout = small_layout();
  for (std::size_t i = 0; i < layout.size(); ++i) {
    BOOST_TEST(layout.offset(i) % 64 == 0u);
    BOOST_TEST(layout.find(layout.pieces()[i].name).value() == i);
    if (i > 0) {
      BOOST_TEST((layout.pieces()[i - 1].name < layout.pieces()[i].name));
      BOOST_TEST(layout.offset(i) >= layout.offset(i - 1) + layout.pieces()[i - 1].bytes());
    }
  }
  BOOST_TEST(layout.state_bytes() == 800u + 40 + 8 + 0 + 6 + 77);
  BOOST_TEST(!layout.find("layer1").has_value());
}

BOOST_AUTO_TEST_CASE(the_order_of_registration_does_not_matter) {
  const auto a = BankLayout::make({{"x", DType::f32, {2}}, {"y", DType::i64, {3}}}).value();
  const auto b = BankLayout::make({{"y", DType::i64, {3}}, {"x", DType::f32, {2}}}).value();
  BOOST_TEST(a.hash() == b.hash());
}

BOOST_AUTO_TEST_CASE(names_shapes_and_types_change_hash_and_digest) {
  const std::vector<std::uint64_t> sums{1, 2};
  const auto base = BankLayout::make({{"x", DType::f32, {2, 3}}, {"y", DType::f32, {3}}}).value();
  for (const auto& other : {BankLayout::make({{"x", DType::f32, {3, 2}}, {"y", DType::f32, {3}}}).value(),
                            BankLayout::make({{"x", DType::i32, {2, 3}}, {"y", DType::f32, {3}}}).value(),
                            BankLayout::make({{"x", DType::f32, {2, 3}}, {"z", DType::f32, {3}}}).value(),
                            BankLayout::make({{"x", DType::f32, {2, 3}}, {"y", DType::f32, {3, 1}}}).value()}) {
    BOOST_TEST(other.hash() != base.hash());
    BOOST_TEST(other.digest(sums) != base.digest(sums));
  }
}

BOOST_AUTO_TEST_CASE(pieces_that_do_not_count_leave_the_digest_alone) {
  const auto without = BankLayout::make({{"x", DType::f32, {2}}}).value();
  const auto with = BankLayout::make({{"troupe/ledger", DType::u8, {9}, false}, {"x", DType::f32, {2}}}).value();
  const std::vector<std::uint64_t> one{5};
  const std::vector<std::uint64_t> two{77, 5};
  BOOST_TEST(without.digest(one) == with.digest(two));
  BOOST_TEST(without.hash() != with.hash());
}

BOOST_AUTO_TEST_CASE(the_digest_is_part_of_the_contract_and_never_changes) {
  const auto layout = BankLayout::make({{"w", DType::f32, {2}}, {"b", DType::f32, {}}}).value();
  const float w[] = {1, 2};
  const float b = 3;
  const std::vector<std::uint64_t> sums{checksum(&b, sizeof b), checksum(w, sizeof w)};
  BOOST_TEST(hex64(layout.digest(sums)) == "ab219134c6401263");
}

BOOST_AUTO_TEST_CASE(bad_pieces_are_refused_by_name) {
  BOOST_TEST(refusal({{"x", DType::f32, {2}}, {"x", DType::f32, {2}}}) == "two pieces named \"x\"");
  BOOST_TEST(refusal({{"x", DType::f32, {-1}}}) == "piece \"x\": negative size");
  BOOST_TEST(refusal({{"", DType::f32, {1}}}) == "piece \"\": a name has 1 to 200 bytes");
  BOOST_TEST(refusal({{"a\nb", DType::f32, {1}}}) == "piece \"a\nb\": control character in the name");
  BOOST_TEST(refusal({{"x", DType::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}}}) == "piece \"x\": more than 8 dimensions");
  const std::int64_t huge = std::int64_t{1} << 40;
  BOOST_TEST(refusal({{"x", DType::f32, {huge, huge}}}) == "piece \"x\": too large");
  BOOST_TEST(refusal({{"x", DType::f32, {0, huge, huge}}}) == "piece \"x\": too large");
}

BOOST_AUTO_TEST_CASE(the_byte_form_round_trips) {
  const auto layout = small_layout();
  const auto bytes = layout.encode();
  const auto back = BankLayout::decode(bytes).value();
  BOOST_TEST((back.pieces() == layout.pieces()));
  BOOST_TEST(back.hash() == layout.hash());
}

BOOST_AUTO_TEST_CASE(cut_and_damaged_byte_forms_never_crash_and_cut_ones_are_refused) {
  const auto bytes = small_layout().encode();
  for (std::size_t n = 0; n < bytes.size(); ++n)
    BOOST_TEST(!BankLayout::decode(std::span(bytes).first(n)).has_value());
  test::for_each_seed(200, [&](std::uint64_t seed) {
    Random random(seed, "test");
    auto damaged = bytes;
    for (std::uint64_t i = 0; i <= random.below(4); ++i)
      damaged[random.below(damaged.size())] = static_cast<std::byte>(random.below(256));
    BankLayout::decode(damaged);
  });
}

#include <boost/test/unit_test.hpp>

#include "actors/codec.hpp"
#include "actors/journal_types.hpp"
#include "actors/kernel_schemas.hpp"
#include "actors/protocol_types.hpp"
#include "actors/supervision/child_spec.hpp"
#include "random_value.hpp"

#include <chrono>
#include <limits>

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(codec)

namespace {

/// Calls f.template operator()<Schema, T>() for every schema there is.
template <class F>
void for_each_schema(F&& f) {
#define TROUPE_EACH(name) f.template operator()<schema::name, ::troupe::name>();
  TROUPE_SCHEMAS(TROUPE_EACH)
#undef TROUPE_EACH
#define TROUPE_EACH(name, kernel)                                                                             \
  f.template operator()<schema::name##Event, kernel::Event>();                                                \
  f.template operator()<schema::name##Action, kernel::Action>();                                              \
  f.template operator()<schema::name##State, kernel::State>();
  TROUPE_KERNELS(TROUPE_EACH)
#undef TROUPE_EACH
}

template <class T>
bool same(const T& a, const T& b, const Bytes& bytes_a, const Bytes& bytes_b) {
  if constexpr (requires { a == b; })
    return bytes_a == bytes_b && a == b;
  else
    return bytes_a == bytes_b;
}

Roster busy_roster(std::size_t rows) {
  Roster roster;
  roster.version = 7;
  roster.target = static_cast<std::uint32_t>(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    RosterRow row;
    row.worker = {NodeId{static_cast<std::uint32_t>(i / 4)}, SlotId{static_cast<std::uint32_t>(i % 4)}, Incarnation{3}};
    row.phase = WorkerPhase::running;
    row.generation = Generation{4};
    for (std::uint64_t k = 0; k < 5; ++k)
      row.holdings.push_back({0, {Step{100 + k}, Generation{4}}, Tier::snapshot, 0x1234567890abcdef, k == 0});
    row.failure = {FailureClass::signal, 9, 0, "killed", "gradient", Step{100}, {}};
    roster.rows.push_back(row);
  }
  return roster;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_struct_and_its_schema_have_the_same_fields_and_enumerators) {
  std::size_t schemas = 0;
  for_each_schema([&]<class Schema, class T>() {
    ++schemas;
    auto differences = schema_differences(shape(detail::binding_of<Schema, T>()), schema_handle<Schema>());
    for (auto& line : differences)
      BOOST_ERROR(Schema::text << ": " << line);
    if (!differences.empty())
      BOOST_TEST_MESSAGE("A schema that fits (types without their import):\n"
                         << suggest_schema(Schema::text, shape(detail::binding_of<Schema, T>())));
  });
  BOOST_TEST(schemas > 50u);
}

BOOST_AUTO_TEST_CASE(random_values_of_every_type_come_back_the_same) {
  auto seed = test_seed();
  for_each_schema([&]<class Schema, class T>() {
    Random random(seed, Schema::text);
    for (int i = 0; i < 30; ++i) {
      auto value = random_value<Schema, T>(random);
      auto bytes = encode<Schema>(value);
      auto back = decode<Schema, T>(bytes);
      BOOST_REQUIRE_MESSAGE(back, Schema::text << " TROUPE_SEED=" << seed << " " << back.error().context);
      BOOST_REQUIRE_MESSAGE(same(value, *back, bytes, encode<Schema>(*back)), Schema::text << " TROUPE_SEED=" << seed);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_message_without_any_field_decodes_to_a_fresh_struct) {
  // What an old journal did not have yet gets the default of the struct.
  const Bytes nothing = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for_each_schema([&]<class Schema, class T>() {
    if (shape(detail::binding_of<Schema, T>()).kind == ShapeKind::choice)
      return;
    auto value = decode<Schema, T>(nothing);
    BOOST_REQUIRE_MESSAGE(value, Schema::text << " " << value.error().context);
    BOOST_CHECK_MESSAGE(same(*value, T{}, encode<Schema>(*value), encode<Schema>(T{})), Schema::text);
  });
}

BOOST_AUTO_TEST_CASE(json_has_camel_case_names_and_comes_back) {
  auto seed = test_seed();
  Failure failure{FailureClass::out_of_memory, 9, 1, "no \"memory\"\n", "reduce", Step{18446744073709551615u}, {}};
  auto json = to_json<schema::Failure>(failure);
  BOOST_TEST(json.find("\"kind\":\"outOfMemory\"") != std::string::npos, json);
  BOOST_TEST(json.find("\"step\":\"18446744073709551615\"") != std::string::npos, json);
  BOOST_TEST(to_json<schema::Roster>(Roster{}).find("\"rows\":[]") != std::string::npos);
  Random random(seed, "json");
  for (int i = 0; i < 50; ++i) {
    auto value = random_value<schema::Failure>(random);
    value.what = "plain";
    value.during = "";
    auto back = from_json<schema::Failure>(to_json<schema::Failure>(value, i % 2 == 0));
    BOOST_REQUIRE_MESSAGE(back, back.error().context);
    BOOST_TEST((*back == value));
  }
  for (auto* bad : {"", "{", "[]", "{\"kind\":\"nonsense\"}", "{\"no such\":1}", "{\"signal\":\"9e99\"}"})
    BOOST_TEST(!from_json<schema::Failure>(bad).has_value(), bad);
}

BOOST_AUTO_TEST_CASE(infinities_and_not_a_number_come_back) {
  ProgressReport report;
  report.rows.resize(1);
  for (double value : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), -0.0,
                       std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::quiet_NaN()}) {
    report.rows[0].loss_sum = value;
    auto back = decode<schema::ProgressReport>(encode<schema::ProgressReport>(report));
    BOOST_REQUIRE(back);
    BOOST_TEST(std::memcmp(&back->rows[0].loss_sum, &value, sizeof value) == 0);
  }
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named_with_its_field) {
  Roster roster = busy_roster(3);
  roster.rows[2].phase = static_cast<WorkerPhase>(200);
  auto bad = decode<schema::Roster>(encode<schema::Roster>(roster));
  BOOST_REQUIRE(!bad);
  BOOST_TEST((bad.error().code == Errc::invalid));
  BOOST_TEST(bad.error().context == "Roster.rows[2].phase: enumerator 200 of 9");

  Failure failure;
  failure.what = std::string(2000, 'x');
  auto bytes = encode<schema::Failure>(failure);
  BOOST_TEST(decode<schema::Failure>(bytes).has_value());
  auto longer = decode<schema::Failure>(bytes, {.text = 1999});
  BOOST_REQUIRE(!longer);
  BOOST_TEST(longer.error().context == "Failure.what: text of 2000 bytes, at most 1999");

  bytes = encode<schema::Roster>(busy_roster(20));
  BOOST_TEST(decode<schema::Roster>(bytes, {.list = 19}).error().context == "Roster.rows: 20 elements, at most 19");
  BOOST_TEST(decode<schema::Roster>(bytes, {.bytes = 100}).error().context.find("at most 100") != std::string::npos);
  BOOST_TEST(!decode<schema::Roster>(bytes, {.memory = 1000}).has_value());
}

BOOST_AUTO_TEST_CASE(an_unaligned_buffer_is_read_too) {
  auto bytes = encode<schema::Roster>(busy_roster(2));
  bytes.insert(bytes.begin(), 0);
  BOOST_TEST((*decode<schema::Roster>(std::span(bytes).subspan(1)) == busy_roster(2)));
}

BOOST_AUTO_TEST_CASE(garbage_is_refused_and_never_crashes) {
  auto seed = test_seed();
  Random random(seed, "garbage");
  int accepted = 0, refused = 0;
  auto probe = [&](const Bytes& bytes) {
    // A mutation may hit a value only: then it decodes to something else, and that is fine.
    bool ok = decode<schema::Roster>(bytes).has_value();
    ok = decode<schema::WorkerOrder>(bytes).has_value() || ok;
    ok = decode<schema::RecoveryEvent, RecoveryKernel::Event>(bytes).has_value() || ok;
    ++(ok ? accepted : refused);
  };
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes;
    switch (random.below(4)) {
    case 0:
      bytes = encode<schema::Roster>(busy_roster(random.below(6)));
      break;
    case 1:
      bytes = encode<schema::WorkerOrder>(random_value<schema::WorkerOrder>(random));
      break;
    case 2:
      bytes = encode<schema::RecoveryEvent>(random_value<schema::RecoveryEvent, RecoveryKernel::Event>(random));
      break;
    default:
      bytes.resize(8 * random.below(40));
      for (auto& b : bytes)
        b = static_cast<std::uint8_t>(random.below(random.below(2) == 0 ? 4 : 256));
    }
    for (auto flips = random.below(6); flips > 0 && !bytes.empty(); --flips)
      bytes[random.below(bytes.size())] ^= static_cast<std::uint8_t>(1u << random.below(8));
    if (random.below(3) == 0)
      bytes.resize(random.below(bytes.size() + 1));
    if (random.below(5) == 0)
      bytes.resize(bytes.size() / 8 * 8);
    probe(bytes);
  }
  BOOST_TEST_MESSAGE("TROUPE_SEED=" << seed << ": accepted " << accepted << ", refused " << refused);
  BOOST_TEST(accepted > 100);
  BOOST_TEST(refused > 1000);
}

namespace {

void put_word(Bytes& bytes, std::uint64_t word) {
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
}

} // namespace

BOOST_AUTO_TEST_CASE(shape_bombs_are_refused_in_bounded_time_and_memory) {
  auto began = monotonic_now();
  // A root whose first pointer is a list of 2^29 - 1 structs of no size at all: eight bytes that claim gigabytes.
  Bytes void_list;
  put_word(void_list, std::uint64_t{4} << 32);                      // one segment of four words
  put_word(void_list, std::uint64_t{2} << 32 | std::uint64_t{1} << 48); // struct: 2 data words, 1 pointer
  put_word(void_list, 0);
  put_word(void_list, 0);
  put_word(void_list, 1 | std::uint64_t{7} << 32 | (std::uint64_t{0}) << 35); // composite list of zero words …
  put_word(void_list, std::uint64_t{0x1fffffff} << 2);              // … whose tag says 2^29 - 1 elements
  void_list[4] = 5;
  auto refused = decode<schema::Roster>(void_list);
  BOOST_REQUIRE(!refused);
  BOOST_TEST_MESSAGE(refused.error().context);

  // A pointer to itself: a struct that contains itself for ever.
  Bytes circle;
  put_word(circle, std::uint64_t{1} << 32);
  put_word(circle, std::uint64_t{0xfffffffc} | std::uint64_t{1} << 48); // offset -1, one pointer: this very word
  for_each_schema([&]<class Schema, class T>() {
    T value{};
    (void) decode(detail::binding_of<Schema, T>(), &value, circle, {});
  });

  // Segment tables that lie about the number and size of segments.
  for (auto head : std::vector<std::uint64_t>{0xffffffffffffffff, 0x00000001ffffffff, 0xffffffff00000000, 0x1ff}) {
    Bytes lie;
    put_word(lie, head);
    put_word(lie, 0);
    BOOST_TEST(!decode<schema::Roster>(lie).has_value(), std::hex << head);
  }
  BOOST_TEST((monotonic_now() - began < std::chrono::seconds(5)));
}

BOOST_AUTO_TEST_CASE(a_roster_of_eight_costs_tens_of_microseconds) {
  auto roster = busy_roster(8);
  constexpr int rounds = 500;
  std::size_t sum = 0;
  auto time = [&](auto&& f) {
    f();
    auto begin = monotonic_now();
    for (int i = 0; i < rounds; ++i)
      sum += f();
    return to_ms(monotonic_now() - begin) * 1000 / rounds;
  };
  auto bytes = encode<schema::Roster>(roster);
  double encode_us = time([&] { return encode<schema::Roster>(roster).size(); });
  double decode_us = time([&] { return decode<schema::Roster>(bytes)->rows.size(); });
  double json_us = time([&] { return to_json<schema::Roster>(roster).size(); });
  BOOST_TEST_MESSAGE("roster of 8: " << bytes.size() << " bytes, encode " << encode_us << " us, decode " << decode_us
                                     << " us, json " << json_us << " us");
  BOOST_TEST(sum > 0u);
  BOOST_TEST(encode_us < 2000); // far above what it takes: only a look-up by name per field would exceed it
}

BOOST_AUTO_TEST_SUITE_END()

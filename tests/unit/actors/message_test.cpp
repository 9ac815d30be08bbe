#include <boost/test/unit_test.hpp>

#include "actors/message.hpp"
#include "actors/kernel_schemas.hpp"
#include "actors/protocol_types.hpp"
#include "actors/supervision/child_spec.hpp"
#include "random_value.hpp"

#include <caf/actor_system.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/message.hpp>

using namespace troupe;
using namespace troupe::test;

namespace {

struct WireConfig : caf::actor_system_config {
  WireConfig() { register_types(*this); }
};

struct Fixture {
  WireConfig config;
  caf::actor_system system{config};

  template <class T>
  std::vector<char> save(const T& value) {
    std::vector<char> buffer;
    caf::binary_serializer sink(system, buffer);
    auto copy = value;
    auto error = sink(copy);
    BOOST_REQUIRE_MESSAGE(!error, system.render(error));
    return buffer;
  }
  template <class T>
  caf::error load(const std::vector<char>& buffer, T& value) {
    caf::binary_deserializer source(system, buffer);
    return source(value);
  }
};

/// Calls f.template operator()<Schema, T>() for every message of the type id block.
template <class F>
void for_each_message(F&& f) {
#define TROUPE_EACH(name) f.template operator()<schema::name, ::troupe::name>();
  TROUPE_MESSAGES(TROUPE_EACH)
#undef TROUPE_EACH
}

BOOST_FIXTURE_TEST_SUITE(messages, Fixture)

BOOST_AUTO_TEST_CASE(every_type_of_the_block_comes_back_from_the_wire) {
  auto seed = test_seed();
  std::size_t types = 0;
  for_each_message([&]<class Schema, class T>() {
    ++types;
    Random random(seed, Schema::text);
    for (int i = 0; i < 10; ++i) {
      auto value = random_value<Schema, T>(random);
      // As the middleman does it: an untyped message, by name of its type.
      caf::message sent = caf::make_message(Message<Schema>::from(value));
      caf::message got;
      auto error = load(save(sent), got);
      BOOST_REQUIRE_MESSAGE(!error, Schema::text << " " << system.render(error));
      BOOST_REQUIRE_MESSAGE((got.match_elements<Message<Schema>>()), Schema::text);
      auto back = got.get_as<Message<Schema>>(0).read();
      BOOST_REQUIRE_MESSAGE(back, Schema::text << " TROUPE_SEED=" << seed << " " << back.error().context);
      BOOST_REQUIRE_MESSAGE(encode<Schema>(*back) == encode<Schema>(value), Schema::text << " TROUPE_SEED=" << seed);
    }
  });
  BOOST_TEST(types == caf::id_block::troupe::end - caf::id_block::troupe::begin);
}

BOOST_AUTO_TEST_CASE(the_block_begins_at_the_first_custom_id_and_its_order_is_frozen) {
  // Append-only: whoever changes one of these gives an id to another type.
  BOOST_TEST(caf::id_block::troupe::begin == 200);
  BOOST_TEST(caf::type_id<Message<schema::NodeReport>>::value == 200);
  BOOST_TEST(caf::type_id<Message<schema::NodeHello>>::value == 204);
  BOOST_TEST(caf::type_id<Message<schema::WorkerHello>>::value == 207);
  BOOST_TEST(caf::type_id<Message<schema::ControlReply>>::value == 213);
  BOOST_TEST(caf::type_id<Message<schema::StopAll>>::value == 224);
}

BOOST_AUTO_TEST_CASE(a_message_prints_its_name_and_size_only) {
  auto message = Message<schema::Failure>::from(Failure{});
  BOOST_TEST(caf::deep_to_string(message) == "Failure(" + std::to_string(message.bytes().size()) + " bytes)");
}

BOOST_AUTO_TEST_CASE(an_empty_message_is_invalid_and_not_a_default_one) {
  auto got = Message<schema::NodeReport>().read();
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().code == Errc::invalid));
}

BOOST_AUTO_TEST_CASE(a_length_beyond_the_limit_is_refused_before_memory_is_taken) {
  // varbyte lengths: just over the limit, and 2^63.
  for (std::vector<unsigned char> head :
       {std::vector<unsigned char>{0x81, 0x80, 0x80, 0x02}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}}) {
    std::vector<char> bytes(head.begin(), head.end());
    Message<schema::NodeReport> message;
    BOOST_TEST(static_cast<bool>(load(bytes, message)));
    BOOST_TEST(message.bytes().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_message_over_the_limit_is_refused_when_read) {
  ControlReply reply;
  reply.json.assign(max_message_bytes, 'x');
  auto got = Message<schema::ControlReply>::from(reply).read();
  BOOST_REQUIRE(!got);
  BOOST_TEST(got.error().context.find("at most 4194304") != std::string::npos, got.error().context);
}

BOOST_AUTO_TEST_CASE(mutated_bytes_on_the_wire_never_crash) {
  auto seed = test_seed();
  Random random(seed, "wire");
  int loaded = 0, read = 0;
  for (int i = 0; i < 4000; ++i) {
    auto bytes = save(Message<schema::NodeReport>::from(random_value<schema::NodeReport>(random)));
    for (auto n = random.below(4); n > 0; --n)
      bytes[random.below(bytes.size())] ^= static_cast<char>(1u << random.below(8));
    if (random.below(3) == 0)
      bytes.resize(random.below(bytes.size()));
    Message<schema::NodeReport> message;
    if (load(bytes, message))
      continue;
    ++loaded;
    if (message.read())
      ++read;
  }
  BOOST_TEST_MESSAGE("TROUPE_SEED=" << seed << ": loaded " << loaded << ", read " << read);
  BOOST_TEST(loaded > read);
  BOOST_TEST(read > 500);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

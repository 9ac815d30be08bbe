#define BOOST_TEST_MODULE manifest
#include "base/checksum.hpp"
#include "checkpoint/manifest.hpp"
#include "tests/unit/checkpoint/state.hpp"
#include "tests/unit/seed.hpp"

#include <cstring>

using namespace troupe;
using namespace troupe::checkpoint;
using namespace troupe::test;

namespace {

Manifest sample() {
  Manifest manifest;
  manifest.meta.key = key(12, 3);
  manifest.meta.digest = 0xab;
  manifest.meta.job = "digits";
  manifest.meta.best = true;
  manifest.file = "step-000000000012-gen-3.h5";
  manifest.file_bytes = 100'000;
  manifest.layout = small_layout();
  for (std::size_t i = 0; i < manifest.layout.size(); ++i)
    manifest.pieces.push_back({4096 + manifest.layout.offset(i), i * 77, manifest.layout.pieces()[i].name});
  return manifest;
}

// What a hostile writer would do: damage the body and put the right checksum on it.
std::vector<std::byte> reseal(std::vector<std::byte> bytes) {
  const auto sum = checksum(bytes.data() + 24, bytes.size() - 24);
  std::memcpy(bytes.data() + 16, &sum, sizeof sum);
  return bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_manifest_round_trips) {
  const auto manifest = sample();
  const auto back = decode_manifest(encode_manifest(manifest)).value();
  BOOST_TEST((back.meta == manifest.meta));
  BOOST_TEST((back.pieces == manifest.pieces));
  BOOST_TEST(back.layout.hash() == manifest.layout.hash());
  BOOST_TEST(back.file == manifest.file);
  BOOST_TEST(back.file_bytes == manifest.file_bytes);
}

BOOST_AUTO_TEST_CASE(the_json_twin_can_be_read_by_people) {
  const auto json = manifest_json(sample());
  BOOST_TEST(json.find("\"digest\": \"00000000000000ab\"") != std::string::npos);
  BOOST_TEST(json.find("\"name\": \"layer1/weight\"") != std::string::npos);
  BOOST_TEST(json.find("\"best\": true") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(pieces_that_overlap_or_lie_outside_the_file_are_refused) {
  auto manifest = sample();
  manifest.pieces[0].offset = manifest.pieces.back().offset;
  BOOST_TEST((decode_manifest(encode_manifest(manifest)).error().code == Errc::corrupt));
  manifest = sample();
  manifest.pieces.back().offset = manifest.file_bytes - 10;
  BOOST_TEST((decode_manifest(encode_manifest(manifest)).error().code == Errc::corrupt));
  manifest.pieces.back().offset = ~std::uint64_t{0} - 3;
  BOOST_TEST((decode_manifest(encode_manifest(manifest)).error().code == Errc::corrupt));
}

BOOST_AUTO_TEST_CASE(a_data_file_elsewhere_is_refused) {
  for (const auto* file : {"../step-000000000012-gen-3.h5", "/etc/passwd", ""}) {
    auto manifest = sample();
    manifest.file = file;
    BOOST_TEST((decode_manifest(encode_manifest(manifest)).error().code == Errc::corrupt));
  }
}

BOOST_AUTO_TEST_CASE(cut_manifests_are_refused_and_resealed_damage_never_crashes_or_gives_bad_sizes) {
  const auto right = encode_manifest(sample());
  for (std::size_t n = 0; n < right.size(); ++n)
    BOOST_TEST(!decode_manifest(std::span(right).first(n)).has_value());
  test::for_each_seed(3000, [&](std::uint64_t seed) {
    Random random(seed, "damage");
    auto wrong = right;
    for (std::uint64_t i = 0; i <= random.below(3); ++i)
      wrong[24 + random.below(wrong.size() - 24)] = static_cast<std::byte>(random.below(256));
    if (const auto manifest = decode_manifest(reseal(wrong)))
      for (std::size_t i = 0; i < manifest->pieces.size(); ++i)
        if (const auto bytes = manifest->layout.pieces()[i].bytes(); bytes > 0)
          BOOST_REQUIRE(manifest->pieces[i].offset + bytes <= manifest->file_bytes);
  });
}

BOOST_AUTO_TEST_CASE(names_of_checkpoints_sort_by_step_and_only_exact_ones_are_taken) {
  BOOST_TEST(checkpoint_name(key(42, 7)) == "step-000000000042-gen-7");
  BOOST_TEST((parse_checkpoint_name("step-000000000042-gen-7").value() == key(42, 7)));
  for (const auto* text : {"step-42-gen-7", "step-000000000042-gen-7x", "step-000000000042-gen-", "step--gen-1", "",
                           "step-000000000042-gen-07", "step-99999999999999999999999-gen-1"})
    BOOST_TEST(!parse_checkpoint_name(text).has_value());
}

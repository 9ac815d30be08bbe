#define BOOST_TEST_MODULE hdf5_file
#include "checkpoint/hdf5_file.hpp"
#include "checkpoint/store.hpp"
#include "tests/unit/checkpoint/state.hpp"
#include "tests/unit/folder.hpp"

#include <hdf5.h>

#include <cstdio>
#include <set>

using namespace troupe;
using namespace troupe::checkpoint;
using namespace troupe::test;

namespace {

struct Saved {
  Folder folder;
  SlotBank bank;
  std::string file;
  explicit Saved(const BankLayout& layout, PieceKey k = key(42, 7)) : bank(fresh_bank(layout)) {
    BOOST_REQUIRE(put(bank, k).has_value());
    CheckpointMeta meta;
    meta.key = k;
    meta.job = "digits";
    meta.version = "0.1.0";
    BOOST_REQUIRE(CheckpointStore::open(folder.path()).value().save(meta, bank).has_value());
    file = folder / (checkpoint_name(k) + ".h5");
  }
};

std::vector<std::byte> dataset_bytes(hid_t file, const std::string& path) {
  const auto dataset = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
  BOOST_REQUIRE_MESSAGE(dataset >= 0, path);
  const auto type = H5Dget_type(dataset); // as stored: no conversion
  const auto space = H5Dget_space(dataset);
  std::vector<std::byte> bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type));
  if (!bytes.empty())
    BOOST_REQUIRE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(dataset);
  return bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_hdf5_library_reads_every_piece_back_by_its_name) {
  const Saved saved(small_layout());
  const auto file = H5Fopen(saved.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  BOOST_REQUIRE(file >= 0);
  const auto& layout = saved.bank.layout();
  for (std::size_t n = 0; n < layout.size(); ++n)
    BOOST_TEST((dataset_bytes(file, layout.pieces()[n].name) == content(layout, n, key(42, 7))),
               layout.pieces()[n].name);
  std::uint64_t step = 0;
  const auto attribute = H5Aopen(file, "step", H5P_DEFAULT);
  BOOST_REQUIRE(H5Aread(attribute, H5T_NATIVE_UINT64, &step) >= 0);
  BOOST_TEST(step == 42u);
  H5Aclose(attribute);
  H5Fclose(file);
}

BOOST_AUTO_TEST_CASE(names_that_hdf5_cannot_hold_get_paths_of_their_own_and_lose_nothing) {
  const auto layout = BankLayout::make({{"a", DType::f32, {2}},
                                        {"a/b", DType::f32, {3}},
                                        {"a/b/c", DType::f32, {4}},
                                        {".", DType::f32, {1}},
                                        {"..", DType::f32, {1}},
                                        {"/x", DType::f32, {1}},
                                        {"x//y", DType::f32, {1}},
                                        {"x%2Fy", DType::f32, {1}},
                                        {"x/y", DType::i32, {1}},
                                        {"ü und ö", DType::i64, {1}}})
                        .value();
  const auto paths = dataset_paths(layout);
  BOOST_TEST(std::set<std::string>(paths.begin(), paths.end()).size() == layout.size());
  const Saved saved(layout);
  const auto file = H5Fopen(saved.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  BOOST_REQUIRE(file >= 0);
  for (std::size_t n = 0; n < layout.size(); ++n)
    BOOST_TEST((dataset_bytes(file, paths[n]) == content(layout, n, key(42, 7))), paths[n]);
  H5Fclose(file);
}

BOOST_AUTO_TEST_CASE(a_state_without_pieces_and_one_of_many_can_be_saved) {
  const Saved none(BankLayout::make({}).value());
  BOOST_TEST(verify(none.folder / "step-000000000042-gen-7.manifest").has_value());
  std::vector<PieceSpec> specs;
  for (int i = 0; i < 2000; ++i)
    specs.push_back({"layer" + std::to_string(i / 10) + "/tensor" + std::to_string(i % 10), DType::f32, {i % 7, 5}});
  const Saved many(BankLayout::make(std::move(specs)).value());
  BOOST_TEST(verify(many.folder / "step-000000000042-gen-7.manifest").has_value());
}

BOOST_AUTO_TEST_CASE(large_pieces_lie_on_page_borders_and_the_file_holds_little_else) {
  const auto layout = small_layout(1'000'000);
  const auto skeleton = make_hdf5_skeleton(layout, {}).value();
  BOOST_TEST(skeleton.offsets[layout.find("layer1/weight").value()] % 4096 == 0u);
  BOOST_TEST(skeleton.bytes < layout.state_bytes() + 64 * 1024);
}

BOOST_AUTO_TEST_CASE(the_same_version_gives_the_same_file) {
  const Saved a(small_layout());
  const Saved b(small_layout());
  BOOST_TEST((contents(a.file) == contents(b.file)));
}

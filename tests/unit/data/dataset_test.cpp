#include "data/dataset.hpp"
#include "tests/unit/folder.hpp"
#include "tests/unit/seed.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

using namespace troupe;
using namespace troupe::data;

BOOST_AUTO_TEST_SUITE(dataset)

namespace {

class Folder : public test::Folder {
public:
  std::string write(const std::string& name, const std::string& text) const {
    test::overwrite(*this / name, text);
    return *this / name;
  }
  std::string write_gz(const std::string& name, const std::string& text) const {
    auto* file = ::gzopen((*this / name).c_str(), "wb");
    const auto written = ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    BOOST_REQUIRE_EQUAL(written, static_cast<int>(text.size()));
    ::gzclose(file);
    return *this / name;
  }
};

template <class T>
std::vector<T> values(const Dataset& set, const char* field) {
  const auto* found = set.find(field);
  BOOST_REQUIRE(found != nullptr);
  std::vector<T> out(found->bytes.size() / sizeof(T));
  std::memcpy(out.data(), found->bytes.data(), found->bytes.size());
  return out;
}

std::string error_of(const std::string& text, CsvOptions options = {}) {
  Folder folder;
  auto read = read_csv(folder.write("d.csv", text), options);
  BOOST_REQUIRE_MESSAGE(!read, "accepted: " << text);
  BOOST_TEST((read.error().code == Errc::invalid || read.error().code == Errc::exhausted));
  const auto& context = read.error().context;
  const auto prefix = folder.path() + "/";
  BOOST_REQUIRE(context.find(prefix) == 0);
  return context.substr(prefix.size());
}

} // namespace

BOOST_AUTO_TEST_CASE(rows_of_numbers_become_features_and_the_last_column_the_label) {
  Folder folder;
  const auto set = read_csv(folder.write("d.csv", "1,2.5,-3e1,7\n4, 5 ,+6,8\r\n"), {}).value();
  BOOST_TEST(set.rows() == 2u);
  BOOST_TEST(values<float>(set, "features") == (std::vector<float>{1, 2.5F, -30, 4, 5, 6}));
  BOOST_TEST(values<std::int32_t>(set, "label") == (std::vector<std::int32_t>{7, 8}));
  BOOST_TEST(set.find("features")->sample_shape == std::vector<std::int64_t>{3});
  BOOST_TEST(set.find("label")->sample_shape.empty());
  BOOST_TEST(set.find("nothing") == nullptr);
  BOOST_TEST(set.sample_bytes() == 16u);
}

BOOST_AUTO_TEST_CASE(the_label_may_be_first_or_missing_and_features_may_be_scaled) {
  Folder folder;
  const auto path = folder.write("d.csv", "9,2,4\n8,6,8");
  const auto first = read_csv(path, {.label = LabelColumn::first, .scale = 0.5}).value();
  BOOST_TEST(values<float>(first, "features") == (std::vector<float>{1, 2, 3, 4}));
  BOOST_TEST(values<std::int32_t>(first, "label") == (std::vector<std::int32_t>{9, 8}));
  const auto none = read_csv(path, {.label = LabelColumn::none}).value();
  BOOST_TEST(values<float>(none, "features").size() == 6u);
  BOOST_TEST(none.find("label") == nullptr);
}

BOOST_AUTO_TEST_CASE(plain_and_compressed_files_give_the_same_data_and_hash) {
  Folder folder;
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += std::to_string(i) + ".25," + std::to_string(i % 7) + "\n";
  const auto plain = read_csv(folder.write("d.csv", text), {}).value();
  const auto packed = read_csv(folder.write_gz("d.csv.gz", text), {}).value();
  BOOST_TEST(plain.rows() == 5000u);
  BOOST_TEST(plain.hash() == packed.hash());
  text[0] = '1';
  BOOST_TEST(read_csv(folder.write("e.csv", text), {}).value().hash() != plain.hash());
}

BOOST_AUTO_TEST_CASE(one_line_of_words_at_the_top_is_a_header) {
  Folder folder;
  const auto set = read_csv(folder.write("d.csv", "pixel,digit\n1,2\n\n"), {}).value();
  BOOST_TEST(set.rows() == 1u);
}

BOOST_AUTO_TEST_CASE(errors_name_file_line_and_column) {
  BOOST_TEST(error_of("1,2\n3,x\n") == "d.csv:2:2: not a number: \"x\"");
  BOOST_TEST(error_of("1,2\n3,\n") == "d.csv:2:2: not a number: \"\"");
  BOOST_TEST(error_of("1,2,3\n1,2\n") == "d.csv:2:1: 2 columns, the first row has 3");
  BOOST_TEST(error_of("1,2.5\n") == "d.csv:1:2: the label is not a whole number of 32 bits");
  BOOST_TEST(error_of("1,99999999999\n") == "d.csv:1:2: the label is not a whole number of 32 bits");
  BOOST_TEST(error_of("1,nan\n") == "d.csv:1:2: the label is not a whole number of 32 bits");
  BOOST_TEST(error_of("1e99,1\n") == "d.csv:1:1: not a finite number in 32 bits");
  BOOST_TEST(error_of("inf,1\n") == "d.csv:1:1: not a finite number in 32 bits");
  BOOST_TEST(error_of("1,2\n\n3,4\n") == "d.csv:2:1: empty line");
  BOOST_TEST(error_of("7\n") == "d.csv:1:1: needs at least one feature beside the label");
  BOOST_TEST(error_of("") == "d.csv: no rows");
  BOOST_TEST(error_of("a,b\n") == "d.csv: no rows");
  BOOST_TEST(error_of("1,2\n3,4\n", {.max_bytes = 8}) ==
             "d.csv:2:1: the data set is larger than the limit of 8 bytes");
  BOOST_TEST(error_of("1," + std::string(5 << 20, '1') + "\n") == "d.csv:1:1: line longer than 4 MiB");
}

BOOST_AUTO_TEST_CASE(missing_files_and_folders_and_damaged_archives_are_named) {
  Folder folder;
  const auto missing = read_csv(folder / "no.csv", {});
  BOOST_TEST(missing.error().context.find("no.csv: No such file or directory") != std::string::npos);
  BOOST_TEST(!read_csv(folder.path(), {}).has_value());
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += std::to_string(i * 7919 % 10'007) + ",1\n";
  const auto path = folder.write_gz("d.csv.gz", text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto cut = read_csv(path, {});
  BOOST_TEST(cut.error().context.find("damaged or cut short") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_flipped_byte_of_a_compressed_file_is_noticed_or_changes_nothing) {
  Folder folder;
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += std::to_string(i * 31 % 17) + "," + std::to_string(i % 10) + "\n";
  const auto path = folder.write_gz("d.csv.gz", text);
  const auto right = read_csv(path, {}).value().hash();
  const auto packed = test::contents(path);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    auto damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const auto read = read_csv(folder.write("x.gz", damaged), {});
    BOOST_TEST((!read || read->hash() == right), "byte " << i);
  }
}

namespace {

Dataset labelled(const std::vector<std::int32_t>& labels) {
  Field label{"label", DType::i32, {}, std::vector<std::byte>(labels.size() * 4)};
  std::memcpy(label.bytes.data(), labels.data(), label.bytes.size());
  return Dataset(labels.size(), {label});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_split_has_exact_counts_and_every_row_in_one_part) {
  test::for_each_seed(50, [](std::uint64_t seed) {
    Random random(seed, "test");
    std::vector<std::int32_t> labels(2 + random.below(2000));
    const auto classes = 1 + random.below(12);
    for (auto& label : labels)
      label = static_cast<std::int32_t>(random.below(classes)) - 3;
    const auto set = labelled(labels);
    const auto test = random.below(labels.size());
    const auto train_rows = split_rows(set, {Part::train, test, seed}).value();
    const auto test_rows = split_rows(set, {Part::test, test, seed}).value();
    BOOST_REQUIRE_EQUAL(test_rows.size(), test);
    BOOST_REQUIRE_EQUAL(train_rows.size(), labels.size() - test);
    std::vector<SampleId> all(train_rows);
    all.insert(all.end(), test_rows.begin(), test_rows.end());
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)
      BOOST_REQUIRE_EQUAL(all[i], i);
    // Stratified: each class within one row of its exact share.
    std::map<std::int32_t, double> total;
    std::map<std::int32_t, double> chosen;
    for (const auto label : labels)
      ++total[label];
    for (const auto row : test_rows)
      ++chosen[labels[row]];
    for (const auto& [label, n] : total)
      BOOST_TEST(std::abs(chosen[label] - n * static_cast<double>(test) / static_cast<double>(labels.size())) < 1);
  });
}

BOOST_AUTO_TEST_CASE(a_split_is_the_same_each_time_and_another_seed_gives_another_one) {
  std::vector<std::int32_t> labels(1797);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>(i * i % 10);
  const auto set = labelled(labels);
  const auto a = split_rows(set, {Part::test, 357, 1}).value();
  BOOST_TEST((a == split_rows(set, {Part::test, 357, 1}).value()));
  BOOST_TEST((a != split_rows(set, {Part::test, 357, 2}).value()));
  BOOST_TEST(split(set, {Part::train, 357, 1}).value().rows() == 1440u);
  BOOST_TEST(split(set, {Part::all, 357, 1}).value().hash() == set.hash());
}

BOOST_AUTO_TEST_CASE(a_test_part_as_large_as_the_data_set_is_refused) {
  const auto refused = split_rows(labelled({1, 2, 3}), {Part::train, 3, 1});
  BOOST_TEST((refused.error().code == Errc::invalid));
}

BOOST_AUTO_TEST_CASE(selected_rows_come_in_the_order_asked_for) {
  const std::vector<SampleId> rows{2, 0};
  const auto set = labelled({10, 11, 12}).select(rows);
  BOOST_TEST(values<std::int32_t>(set, "label") == (std::vector<std::int32_t>{12, 10}));
}

BOOST_AUTO_TEST_SUITE_END()

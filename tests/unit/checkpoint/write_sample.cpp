// Writes one checkpoint with a piece of every dtype into the folder given, and prints its data file: for readers that
// are not ours.
#include "checkpoint/store.hpp"

#include <cstdio>
#include <cstring>

using namespace troupe;
using namespace troupe::checkpoint;

namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

result<std::string> write(const char* folder) {
  const auto layout = BankLayout::make({{"f32", DType::f32, {2, 3}},
                                        {"deep/er/f64", DType::f64, {}},
                                        {"f16", DType::f16, {2}},
                                        {"bf16", DType::bf16, {2}},
                                        {"i32", DType::i32, {2}},
                                        {"i64", DType::i64, {1}},
                                        {"u8", DType::u8, {3}},
                                        {"empty", DType::f32, {0, 4}}});
  TROUPE_ASSIGN(const auto fd, SlotBank::create(*layout));
  TROUPE_ASSIGN(const auto bank, SlotBank::attach(fd.get()));
  const PieceKey key{Step{42}, Generation{7}};
  TROUPE_ASSIGN(auto writing, bank.begin_write(key));
  const auto put = [&](const char* name, const std::vector<std::byte>& bytes) {
    writing.write(*layout->find(name), bytes);
  };
  put("f32", bytes_of<float>({0, 0.5F, 1, 1.5F, 2, -2.5F}));
  put("deep/er/f64", bytes_of<double>({0.1}));
  put("f16", bytes_of<std::uint16_t>({0x3c00, 0xc100}));  // 1, -2.5
  put("bf16", bytes_of<std::uint16_t>({0x3f80, 0xc020})); // 1, -2.5
  put("i32", bytes_of<std::int32_t>({-1, 7}));
  put("i64", bytes_of<std::int64_t>({std::int64_t{1} << 40}));
  put("u8", bytes_of<std::uint8_t>({1, 2, 255}));
  put("empty", {});
  TROUPE_TRY(writing.publish());
  CheckpointMeta meta;
  meta.key = key;
  meta.job = "sample";
  TROUPE_ASSIGN(const auto store, CheckpointStore::open(folder));
  TROUPE_TRY(store.save(meta, bank));
  return store.folder() + '/' + checkpoint_name(key);
}

} // namespace

int main(int argc, char** argv) {
  const auto written = argc == 2 ? write(argv[1]) : fail(Errc::invalid, "usage: write_sample FOLDER");
  std::fprintf(written ? stdout : stderr, "%s\n", written ? written->c_str() : written.error().context.c_str());
  return written ? 0 : 1;
}

// XXH3 checksums of bytes in memory: 64 bits for pieces, records, frames and the model digest. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

std::uint64_t checksum(const void* data, std::size_t bytes);

/// Running XXH3-64 over several ranges.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  void add(std::uint64_t number) { add(&number, sizeof number); }
  std::uint64_t digest() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// 16 lower-case hex digits.
std::string hex64(std::uint64_t value);

} // namespace troupe

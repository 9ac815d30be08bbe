#include "base/checksum.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace troupe {

struct Hasher::State {
  XXH3_state_t xxh;
};

std::uint64_t checksum(const void* data, std::size_t bytes) {
  return XXH3_64bits(data, bytes);
}

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh);
}

Hasher::~Hasher() = default;

void Hasher::add(const void* data, std::size_t bytes) {
  XXH3_64bits_update(&state_->xxh, data, bytes);
}

std::uint64_t Hasher::digest() const {
  return XXH3_64bits_digest(&state_->xxh);
}

std::string hex64(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

} // namespace troupe

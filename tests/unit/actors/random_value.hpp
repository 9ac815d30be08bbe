// Random values of any type that has a schema: every field is filled, every alternative and enumerator comes up. For
// property tests; the stream is the test's.
#pragma once

#include "actors/codec.hpp"
#include "actors/codec_shape.hpp"
#include "tests/unit/seed.hpp"
#include "troupe/random.hpp"

#include <cstring>

namespace troupe::test {

/// TROUPE_SEED of the environment, or one fixed seed; tests print it when they fail.
inline std::uint64_t test_seed() {
  return number_from_environment("TROUPE_SEED", 20260101);
}

inline void fill(const TypeShape& shape, void* p, Random& random, int depth = 0) {
  switch (shape.kind) {
  case ShapeKind::boolean:
    *static_cast<bool*>(p) = random.below(2) == 1;
    return;
  case ShapeKind::integer: {
    std::uint64_t bits = random.below(3) == 0 ? random.below(5) : random.next_u64();
    std::memcpy(p, &bits, shape.size);
    return;
  }
  case ShapeKind::real: {
    double value = random.below(8) == 0 ? -0.0 : random.normal() * 1e10;
    float narrow = static_cast<float>(value);
    std::memcpy(p, shape.size == 4 ? static_cast<void*>(&narrow) : &value, shape.size);
    return;
  }
  case ShapeKind::enumeration:
    *static_cast<std::uint8_t*>(p) = static_cast<std::uint8_t>(random.below(shape.enumerators));
    return;
  case ShapeKind::text: {
    auto& text = *static_cast<std::string*>(p);
    text.clear();
    for (auto n = random.below(4) == 0 ? random.below(300) : random.below(9); n > 0; --n)
      text += static_cast<char>(random.below(256));
    return;
  }
  case ShapeKind::bytes: {
    auto& bytes = *static_cast<std::vector<std::uint8_t>*>(p);
    bytes.resize(random.below(50));
    for (auto& b : bytes)
      b = static_cast<std::uint8_t>(random.below(256));
    return;
  }
  case ShapeKind::record:
    for (auto& field : shape.fields)
      fill(*field.shape, static_cast<char*>(p) + field.offset, random, depth);
    return;
  case ShapeKind::choice: {
    auto i = random.below(shape.fields.size());
    fill(*shape.fields[i].shape, shape.choose(p, i), random, depth);
    return;
  }
  case ShapeKind::list: {
    struct Context {
      const TypeShape& element;
      Random& random;
      int depth;
    } context{*shape.element, random, depth + 1};
    auto n = shape.at_most != 0 ? random.below(shape.at_most + 1) : random.below(depth > 1 ? 3 : 5);
    shape.clear(p);
    for (; n > 0; --n)
      shape.add(p, &context, [](void* c, void* element) {
        auto& [inner, stream, level] = *static_cast<Context*>(c);
        fill(inner, element, stream, level);
        return true;
      });
    return;
  }
  }
}

template <class Schema, class T = typename Schema::value_type>
T random_value(Random& random) {
  T value{};
  fill(shape(detail::binding_of<Schema, T>()), &value, random);
  return value;
}

} // namespace troupe::test

#include "troupe/model.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace troupe {

namespace {

template <class Draw>
void fill(Tensor t, const char* what, Draw draw) {
  if (t.dtype() == DType::f32) {
    for (auto& x : t.f32())
      x = static_cast<float>(draw());
  } else if (t.dtype() == DType::f64) {
    for (auto& x : t.f64())
      x = draw();
  } else {
    throw std::invalid_argument(std::string(what) + " initialises f32 and f64, but tensor '" + t.name() +
                                "' holds " + std::string(to_string(t.dtype())));
  }
}

} // namespace

Initialiser zeros() {
  return [](Tensor t, Random&) {
    if (t.bytes() > 0)
      std::memset(t.data(), 0, t.bytes());
  };
}

Initialiser constant(double value) {
  return [value](Tensor t, Random&) {
    switch (t.dtype()) {
    case DType::f32: std::ranges::fill(t.f32(), static_cast<float>(value)); return;
    case DType::f64: std::ranges::fill(t.f64(), value); return;
    case DType::i32: std::ranges::fill(t.i32(), static_cast<std::int32_t>(value)); return;
    case DType::i64: std::ranges::fill(t.i64(), static_cast<std::int64_t>(value)); return;
    case DType::u8: std::ranges::fill(t.as<std::uint8_t>(), static_cast<std::uint8_t>(value)); return;
    default: throw std::invalid_argument("constant() cannot fill " + std::string(to_string(t.dtype())));
    }
  };
}

Initialiser normal(double stddev) {
  return
    [stddev](Tensor t, Random& random) { fill(t, "normal()", [&] { return stddev * random.normal(); }); };
}

Initialiser uniform(double bound) {
  return [bound](Tensor t, Random& random) {
    fill(t, "uniform()", [&] { return bound * (2 * random.uniform() - 1); });
  };
}

} // namespace troupe

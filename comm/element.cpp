#include "comm/element.hpp"

#include "base/assert.hpp"

#include <bit>
#include <cmath>
#include <type_traits>

namespace troupe {

namespace {

template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a))
      return a;
    if (std::isnan(b))
      return b;
  }
  return b < a ? b : a;
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a))
      return a;
    if (std::isnan(b))
      return b;
  }
  return a < b ? b : a;
}

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

template <class T>
T apply(Op op, T a, T b) {
  return op == Op::sum ? plus(a, b) : op == Op::min ? smaller(a, b) : larger(a, b);
}

template <class T, class Combine>
void run(const ReductionPlan& plan, std::span<const void* const> sources, std::size_t count, void* out,
         Combine combine) {
  std::vector<T> scratch(plan.scratch_rows * reduction_chunk);
  std::vector<const T*> typed;
  for (const auto* source : sources)
    typed.push_back(static_cast<const T*>(source));
  run_reduction<T>(plan, typed, 0, count, static_cast<T*>(out), scratch.data(), combine);
}

template <class T>
void run_op(const ReductionPlan& plan, std::span<const void* const> sources, std::size_t count, void* out, Op op) {
  switch (op) {
    case Op::sum: return run<T>(plan, sources, count, out, [](T a, T b) { return plus(a, b); });
    case Op::min: return run<T>(plan, sources, count, out, [](T a, T b) { return smaller(a, b); });
    case Op::max: return run<T>(plan, sources, count, out, [](T a, T b) { return larger(a, b); });
  }
}

template <float (*From)(std::uint16_t), std::uint16_t (*To)(float)>
void run_half(const ReductionPlan& plan, std::span<const void* const> sources, std::size_t count, void* out, Op op) {
  run<std::uint16_t>(plan, sources, count, out,
                     [op](std::uint16_t a, std::uint16_t b) { return To(apply(op, From(a), From(b))); });
}

} // namespace

std::size_t size_of(Element element) {
  switch (element) {
    case Element::f16:
    case Element::bf16: return 2;
    case Element::f32:
    case Element::i32: return 4;
    case Element::f64:
    case Element::i64: return 8;
  }
  TROUPE_UNREACHABLE("element type");
}

void reduce_elements(const ReductionPlan& plan, std::span<const void* const> sources, std::size_t count, void* out,
                     Element element, Op op) {
  switch (element) {
    case Element::f32: return run_op<float>(plan, sources, count, out, op);
    case Element::f64: return run_op<double>(plan, sources, count, out, op);
    case Element::i32: return run_op<std::int32_t>(plan, sources, count, out, op);
    case Element::i64: return run_op<std::int64_t>(plan, sources, count, out, op);
    case Element::f16: return run_half<from_f16, to_f16>(plan, sources, count, out, op);
    case Element::bf16: return run_half<from_bf16, to_bf16>(plan, sources, count, out, op);
  }
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t to_bf16(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value))
    return static_cast<std::uint16_t>(x >> 16 | 0x40);
  return static_cast<std::uint16_t>((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

float from_f16(std::uint16_t bits) {
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 31;
  const auto fraction = static_cast<float>(bits & 1023);
  if (exponent == 31)
    return std::bit_cast<float>((bits & 0x8000u) << 16 | 0x7f800000u | (bits & 1023u) << 13);
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

std::uint16_t to_f16(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(x >> 16 & 0x8000);
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign | 0x7e00 | (x >> 13 & 1023));
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) // halfway between the largest f16 and what would follow
    return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < 0x1p-14f) // subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits
    return static_cast<std::uint16_t>(
      sign | (std::bit_cast<std::uint32_t>(magnitude + 0.5f) - std::bit_cast<std::uint32_t>(0.5f)));
  const auto y = x & 0x7fffffffu;
  return static_cast<std::uint16_t>(sign | ((y + 0xfff + (y >> 13 & 1) - (112u << 23)) >> 13));
}

} // namespace troupe

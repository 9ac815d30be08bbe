// Element types of tensors, data fields and stored pieces. The numbers are part of file formats: never reorder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i32, i64, u8 };
inline constexpr std::uint8_t dtype_count = 7;

constexpr std::size_t element_size(DType dtype) {
  constexpr std::size_t sizes[dtype_count] = {4, 8, 2, 2, 4, 8, 1};
  return sizes[static_cast<std::uint8_t>(dtype)];
}

constexpr std::string_view dtype_name(DType dtype) {
  constexpr std::string_view names[dtype_count] = {"f32", "f64", "f16", "bf16", "i32", "i64", "u8"};
  return names[static_cast<std::uint8_t>(dtype)];
}

} // namespace troupe

// Non-owning view of one tensor: name, dtype, shape and where its elements are. Row-major, contiguous. The address
// is stable for one incarnation of the worker. Copying a view copies no elements. The runtime owns the memory.
#pragma once

#include "troupe/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class Place : std::uint8_t { host, device };

std::size_t size_of(DType dtype);
std::string_view to_string(DType dtype);

/// Sizes of the dimensions, outermost first; {} is a scalar. All are >= 0.
using Shape = std::vector<std::int64_t>;
std::size_t element_count(const Shape& shape);

template <class T>
struct DTypeOf;
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::u8; };

/// Throws std::invalid_argument that names the tensor and both dtypes.
[[noreturn]] void throw_wrong_dtype(std::string_view tensor, DType has, DType asked);

template <class Byte> // std::byte or const std::byte
class BasicTensor {
public:
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  BasicTensor() = default;
  BasicTensor(const std::string* name, DType dtype, const Shape* shape, Byte* data)
    : name_(name), shape_(shape), data_(data), count_(element_count(*shape)), dtype_(dtype) {}
  /// A mutable view converts to a const one.
  BasicTensor(const BasicTensor<std::remove_const_t<Byte>>& other)
    requires std::is_const_v<Byte>
    : name_(other.name_), shape_(other.shape_), data_(other.data_), count_(other.count_), dtype_(other.dtype_) {}
  BasicTensor(const BasicTensor&) = default;
  BasicTensor& operator=(const BasicTensor&) = default;

  const std::string& name() const { return *name_; }
  const Shape& shape() const { return *shape_; }
  DType dtype() const { return dtype_; }
  std::size_t size() const { return count_; }            ///< elements
  std::size_t bytes() const { return count_ * size_of(dtype_); }
  Byte* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

  /// Elements as T. Throws std::invalid_argument if T is not the tensor's dtype.
  template <class T>
  std::span<Element<T>> as() const {
    if (DTypeOf<T>::value != dtype_)
      throw_wrong_dtype(*name_, dtype_, DTypeOf<T>::value);
    return {reinterpret_cast<Element<T>*>(data_), count_};
  }
  std::span<Element<float>> f32() const { return as<float>(); }
  std::span<Element<double>> f64() const { return as<double>(); }
  std::span<Element<std::int32_t>> i32() const { return as<std::int32_t>(); }
  std::span<Element<std::int64_t>> i64() const { return as<std::int64_t>(); }

private:
  template <class>
  friend class BasicTensor;
  const std::string* name_ = nullptr;
  const Shape* shape_ = nullptr;
  Byte* data_ = nullptr;
  std::size_t count_ = 0;
  DType dtype_ = DType::f32;
};

using Tensor = BasicTensor<std::byte>;
using ConstTensor = BasicTensor<const std::byte>;

} // namespace troupe

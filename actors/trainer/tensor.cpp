#include "troupe/tensor.hpp"

#include <stdexcept>

namespace troupe {

std::size_t size_of(DType dtype) {
  return element_size(dtype);
}

std::string_view to_string(DType dtype) {
  return dtype_name(dtype);
}

std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (auto size : shape)
    count *= static_cast<std::size_t>(size);
  return count;
}

void throw_wrong_dtype(std::string_view tensor, DType has, DType asked) {
  std::string text = "tensor '";
  text += tensor;
  text += "' holds ";
  text += to_string(has);
  text += ", asked for ";
  text += to_string(asked);
  throw std::invalid_argument(text);
}

} // namespace troupe

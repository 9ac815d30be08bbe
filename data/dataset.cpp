#include "data/dataset.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <cstring>

namespace troupe::data {

std::size_t Field::sample_elements() const {
  std::size_t elements = 1;
  for (const auto n : sample_shape)
    elements *= static_cast<std::size_t>(n);
  return elements;
}

Dataset::Dataset(std::uint64_t rows, std::vector<Field> fields) : rows_(rows), fields_(std::move(fields)) {
  Hasher hash;
  hash.add(rows_);
  for (const auto& field : fields_) {
    TROUPE_ASSERT(field.bytes.size() == rows_ * field.sample_bytes(), "field has another number of rows");
    TROUPE_ASSERT(find(field.name) == &field, "two fields of one name");
    hash.add(static_cast<std::uint64_t>(field.name.size()));
    hash.add(field.name);
    hash.add(static_cast<std::uint64_t>(field.dtype));
    hash.add(static_cast<std::uint64_t>(field.sample_shape.size()));
    for (const auto n : field.sample_shape)
      hash.add(static_cast<std::uint64_t>(n));
    hash.add(field.bytes.data(), field.bytes.size());
  }
  hash_ = hash.digest();
}

const Field* Dataset::find(std::string_view name) const {
  for (const auto& field : fields_)
    if (field.name == name)
      return &field;
  return nullptr;
}

std::size_t Dataset::sample_bytes() const {
  std::size_t bytes = 0;
  for (const auto& field : fields_)
    bytes += field.sample_bytes();
  return bytes;
}

Dataset Dataset::select(std::span<const SampleId> rows) const {
  std::vector<Field> fields;
  fields.reserve(fields_.size());
  for (const auto& from : fields_) {
    auto& to = fields.emplace_back(Field{from.name, from.dtype, from.sample_shape, {}});
    const auto stride = from.sample_bytes();
    to.bytes.resize(rows.size() * stride);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      TROUPE_ASSERT(rows[i] < rows_, "selected row beyond the data set");
      std::memcpy(to.bytes.data() + i * stride, from.bytes.data() + rows[i] * stride, stride);
    }
  }
  return Dataset(rows.size(), std::move(fields));
}

} // namespace troupe::data

// Plain structs <-> Cap'n Proto, by field name: `encode<schema::NodeReport>(report)` and back. The struct and the
// schema of the same name must have the same fields (snake_case here, camelCase there) and the same enumerators in the
// same order; `schema_differences` says where they do not, and a unit test asks it for every type. Ids are integers,
// Time and Duration Int64 nanoseconds, optional and containers lists, a map a list of {key, value}, a variant a struct
// with one unnamed union. Bytes are one flat message of whole 8-byte words. Decoding believes nothing: it is bounded
// in size, list lengths, text and memory, and returns Errc::invalid that names the field. Any thread.
//
// Every pair is bound once, in codec_types.cpp, so that users see no shape: a type that is not listed there does not
// link.
#pragma once

#include "base/errors.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

using Bytes = std::vector<std::uint8_t>;

/// What a decoder accepts from outside.
struct DecodeLimits {
  std::size_t bytes = 4 << 20;         ///< of the whole message
  std::size_t list = 1 << 16;          ///< elements of one list
  std::size_t text = 1 << 20;          ///< bytes of one text
  std::size_t memory = 64 << 20;       ///< of the plain structs made of it
};

/// A compiled-in schema; `nullptr` never.
struct SchemaHandle {
  const void* raw = nullptr;
};

/// Of a tag in `namespace troupe::schema` (actors/schemas.hpp).
template <class Schema>
SchemaHandle schema_handle();

class Binding;
struct TypeShape;

/// A shape bound to a schema, made once per pair. Dies (assertion) when they differ.
const Binding* make_binding(const TypeShape&, SchemaHandle);
/// One line per difference between struct and schema; empty when they agree.
std::vector<std::string> schema_differences(const TypeShape&, SchemaHandle);
/// Text of a schema that fits the shape, for a new type: what a failing test suggests.
std::string suggest_schema(std::string_view name, const TypeShape&);

/// Of the C++ type.
const TypeShape& shape(const Binding*);
Bytes encode(const Binding*, const void* object);
/// `object` is freshly made; on failure it holds whatever was read until then.
result<void> decode(const Binding*, void* object, std::span<const std::uint8_t>, const DecodeLimits&);
std::string to_json(const Binding*, const void* object, bool pretty);
result<void> from_json(const Binding*, void* object, std::string_view json, const DecodeLimits&);

namespace detail {
template <class Schema, class T>
const Binding* binding_of();
} // namespace detail

template <class Schema, class T>
Bytes encode(const T& value) {
  return encode(detail::binding_of<Schema, T>(), &value);
}

template <class Schema, class T = typename Schema::value_type>
result<T> decode(std::span<const std::uint8_t> bytes, const DecodeLimits& limits = {}) {
  T value{};
  TROUPE_TRY(decode(detail::binding_of<Schema, T>(), &value, bytes, limits));
  return value;
}

/// Cap'n Proto's JSON: camelCase names, 64-bit integers as strings.
template <class Schema, class T>
std::string to_json(const T& value, bool pretty = false) {
  return to_json(detail::binding_of<Schema, T>(), &value, pretty);
}

template <class Schema, class T = typename Schema::value_type>
result<T> from_json(std::string_view json, const DecodeLimits& limits = {}) {
  T value{};
  TROUPE_TRY(from_json(detail::binding_of<Schema, T>(), &value, json, limits));
  return value;
}

} // namespace troupe

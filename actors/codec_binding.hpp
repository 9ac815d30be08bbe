// Private to actors/codec_*.cpp: a C++ shape and a Cap'n Proto type found to be the same, field by field, so that
// walking needs no look-up by name. Made once per (shape, schema), never destroyed. Immutable; any thread.
#pragma once

#include "actors/codec.hpp"
#include "actors/codec_shape.hpp"

#include <capnp/schema.h>

#include <cstring>

namespace troupe {

class Binding {
public:
  struct Field {
    std::string_view name;
    std::size_t offset = 0;       ///< in the C++ object
    std::unique_ptr<Binding> type;
    std::uint32_t wire_at =
      0; ///< bool: bit of the data section; other scalars: byte of it; else index of the pointer
    std::uint64_t mask = 0;       ///< default of the schema, which the wire is XORed with
    std::uint16_t discriminant = 0;
    bool skip_empty = true;       ///< an empty one is not written: a fresh object has it empty as well
  };

  const TypeShape* shape = nullptr;
  capnp::Type wire;
  std::uint16_t data_words = 0;   ///< record, choice: size of the struct
  std::uint16_t pointers = 0;
  std::uint32_t discriminant_at = 0;
  std::vector<Field> fields;      ///< in the order of the shape
  std::vector<std::uint16_t> choices; ///< choice: discriminant -> alternative
  std::unique_ptr<Binding> element;

  bool is_struct() const { return shape->kind == ShapeKind::record || shape->kind == ShapeKind::choice; }
  bool is_pointer() const {
    return is_struct() || shape->kind == ShapeKind::text || shape->kind == ShapeKind::bytes
           || shape->kind == ShapeKind::list;
  }
};

/// Binds and collects every difference at `path`; the binding is usable only when none was added.
std::unique_ptr<Binding> bind_type(const TypeShape&, capnp::Type, const std::string& path,
                                   std::vector<std::string>& differences);
capnp::StructSchema struct_schema(SchemaHandle);

// Scalars are copied between the data section and the object as they lie in memory.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
template <class T>
T load(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

} // namespace troupe

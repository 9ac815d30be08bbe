// Private to actors/codec*.cpp: a C++ shape and a Cap'n Proto type found to be the same, field by field, so that
// walking needs no look-up by name. Made once per (shape, schema), never destroyed. Immutable; any thread.
#pragma once

#include "actors/codec.hpp"

#include <capnp/dynamic.h>
#include <capnp/schema.h>

namespace troupe {

class Binding {
public:
  struct Field {
    std::string_view name;
    std::size_t offset = 0;
    capnp::StructSchema::Field wire;
    std::unique_ptr<Binding> type;
    bool has_default = false;        ///< what is not written reads as something: empty ones are written too
  };

  const Shape* shape = nullptr;
  capnp::Type wire;                  ///< record, choice: struct; list; enumeration
  std::vector<Field> fields;         ///< in the order of the shape
  std::vector<std::uint16_t> choices; ///< choice: discriminant order -> alternative
  std::unique_ptr<Binding> element;
};

/// Binds and collects every difference at `path`; the binding is usable only when none was added.
std::unique_ptr<Binding> bind_type(const Shape&, capnp::Type, const std::string& path,
                                   std::vector<std::string>& differences);
capnp::StructSchema struct_schema(SchemaHandle);

} // namespace troupe

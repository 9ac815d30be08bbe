#include "actors/codec_binding.hpp"

#include "base/assert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace troupe {

namespace {

using Which = capnp::schema::Type::Which;

/// "first_cause", "first cause" or "first-cause" as Cap'n Proto spells it: "firstCause".
std::string camel_case(std::string_view name) {
  std::string out;
  bool upper = false;
  for (char c : name) {
    if (c == '_' || c == ' ' || c == '-') {
      upper = !out.empty();
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string_view view(kj::StringPtr s) { return {s.begin(), s.size()}; }

Which scalar_type(const TypeShape& shape) {
  switch (shape.kind) {
  case ShapeKind::boolean:
    return Which::BOOL;
  case ShapeKind::real:
    return shape.size == 4 ? Which::FLOAT32 : Which::FLOAT64;
  case ShapeKind::text:
    return Which::TEXT;
  case ShapeKind::bytes:
    return Which::DATA;
  case ShapeKind::enumeration:
    return Which::ENUM;
  case ShapeKind::integer:
    switch (shape.size) {
    case 1:
      return shape.is_signed ? Which::INT8 : Which::UINT8;
    case 2:
      return shape.is_signed ? Which::INT16 : Which::UINT16;
    case 4:
      return shape.is_signed ? Which::INT32 : Which::UINT32;
    default:
      return shape.is_signed ? Which::INT64 : Which::UINT64;
    }
  case ShapeKind::list:
    return Which::LIST;
  case ShapeKind::record:
  case ShapeKind::choice:
    return Which::STRUCT;
  }
  TROUPE_UNREACHABLE("kind of shape");
}

std::string_view type_name(Which which) {
  static constexpr std::string_view names[] = {"Void",   "Bool",   "Int8",    "Int16",   "Int32", "Int64", "UInt8",
                                               "UInt16", "UInt32", "UInt64",  "Float32", "Float64", "Text", "Data",
                                               "List",   "enum",   "struct",  "interface", "AnyPointer"};
  auto i = static_cast<std::size_t>(which);
  return i < std::size(names) ? names[i] : "?";
}

void compare_enumerators(const TypeShape& shape, capnp::EnumSchema schema, const std::string& path,
                         std::vector<std::string>& differences) {
  auto there = schema.getEnumerants();
  if (there.size() != shape.enumerators)
    differences.push_back(fmt::format("{}: {} enumerators here, {} in schema {}", path, shape.enumerators,
                                      there.size(), view(schema.getShortDisplayName())));
  for (std::size_t i = 0; i < std::min<std::size_t>(there.size(), shape.enumerators); ++i) {
    auto wanted = camel_case(shape.enumerator(i));
    if (view(there[i].getProto().getName()) != wanted)
      differences.push_back(fmt::format("{}: enumerator {} is {} here, {} in the schema", path, i, wanted,
                                        view(there[i].getProto().getName())));
  }
}

std::uint64_t default_bits(capnp::schema::Value::Reader value) {
  auto bits = [](auto v) {
    std::uint64_t out = 0;
    std::memcpy(&out, &v, sizeof v);
    return out;
  };
  switch (value.which()) {
  case capnp::schema::Value::BOOL:
    return value.getBool() ? 1 : 0;
  case capnp::schema::Value::INT8:
    return bits(value.getInt8());
  case capnp::schema::Value::INT16:
    return bits(value.getInt16());
  case capnp::schema::Value::INT32:
    return bits(value.getInt32());
  case capnp::schema::Value::INT64:
    return bits(value.getInt64());
  case capnp::schema::Value::UINT8:
    return bits(value.getUint8());
  case capnp::schema::Value::UINT16:
    return bits(value.getUint16());
  case capnp::schema::Value::UINT32:
    return bits(value.getUint32());
  case capnp::schema::Value::UINT64:
    return bits(value.getUint64());
  case capnp::schema::Value::FLOAT32:
    return bits(value.getFloat32());
  case capnp::schema::Value::FLOAT64:
    return bits(value.getFloat64());
  case capnp::schema::Value::ENUM:
    return bits(value.getEnum());
  default:
    return 0;
  }
}

bool is_empty_in(const TypeShape& record, const TypeShape::Field& field) {
  if (record.prototype == nullptr)
    return true;
  const void* p = static_cast<const char*>(record.prototype) + field.offset;
  switch (field.shape->kind) {
  case ShapeKind::text:
    return static_cast<const std::string*>(p)->empty();
  case ShapeKind::bytes:
    return static_cast<const Bytes*>(p)->empty();
  case ShapeKind::list:
    return field.shape->length(p) == 0;
  default:
    return true;
  }
}

void bind_field(Binding& binding, const TypeShape::Field& field, capnp::StructSchema::Field wire,
                const std::string& path, std::vector<std::string>& differences) {
  auto proto = wire.getProto();
  if (!proto.isSlot()) {
    differences.push_back(fmt::format("{}: a group in the schema", path));
    return;
  }
  Binding::Field out;
  out.name = field.name;
  out.offset = field.offset;
  out.type = bind_type(*field.shape, wire.getType(), path, differences);
  out.discriminant = proto.getDiscriminantValue();
  out.skip_empty = is_empty_in(*binding.shape, field);
  auto slot = proto.getSlot();
  out.mask = default_bits(slot.getDefaultValue());
  out.wire_at = slot.getOffset();
  if (field.shape->kind == ShapeKind::enumeration)
    out.wire_at *= 2;
  else if (!out.type->is_pointer() && field.shape->kind != ShapeKind::boolean)
    out.wire_at *= static_cast<std::uint32_t>(field.shape->size);
  if (binding.shape->kind == ShapeKind::choice && !out.type->is_struct())
    differences.push_back(fmt::format("{}: alternatives are structs", path));
  binding.fields.push_back(std::move(out));
}

void bind_fields(Binding& binding, capnp::StructSchema schema, const std::string& path,
                 std::vector<std::string>& differences) {
  const TypeShape& shape = *binding.shape;
  auto layout = schema.getProto().getStruct();
  binding.data_words = layout.getDataWordCount();
  binding.pointers = layout.getPointerCount();
  binding.discriminant_at = layout.getDiscriminantOffset() * 2;
  auto there = shape.kind == ShapeKind::choice ? schema.getUnionFields() : schema.getNonUnionFields();
  auto all = schema.getFields();
  if (all.size() != there.size())
    differences.push_back(fmt::format("{}: schema {} mixes a union with plain fields", path,
                                      view(schema.getShortDisplayName())));
  std::vector<bool> used(all.size(), false);
  for (auto& field : shape.fields) {
    auto name = camel_case(field.name);
    bool found = false;
    for (auto wire : all) {
      if (view(wire.getProto().getName()) != name)
        continue;
      found = true;
      used[wire.getIndex()] = true;
      bind_field(binding, field, wire, fmt::format("{}.{}", path, field.name), differences);
    }
    if (!found)
      differences.push_back(fmt::format("{}.{}: schema {} has no field {}", path, field.name,
                                        view(schema.getShortDisplayName()), name));
  }
  for (auto wire : all)
    if (!used[wire.getIndex()])
      differences.push_back(fmt::format("{}: field {} of schema {} is not in the struct", path,
                                        view(wire.getProto().getName()), view(schema.getShortDisplayName())));
  if (shape.kind == ShapeKind::choice && differences.empty()) {
    binding.choices.resize(all.size());
    for (std::size_t i = 0; i < binding.fields.size(); ++i)
      binding.choices[binding.fields[i].discriminant] = static_cast<std::uint16_t>(i);
  }
}

} // namespace

std::unique_ptr<Binding> bind_type(const TypeShape& shape, capnp::Type wire, const std::string& path,
                                   std::vector<std::string>& differences) {
  auto binding = std::make_unique<Binding>();
  binding->shape = &shape;
  binding->wire = wire;
  auto wanted = scalar_type(shape);
  if (wire.which() != wanted) {
    differences.push_back(
      fmt::format("{}: {} here, {} in the schema", path, type_name(wanted), type_name(wire.which())));
    return binding;
  }
  if (shape.kind == ShapeKind::enumeration)
    compare_enumerators(shape, wire.asEnum(), path, differences);
  else if (shape.kind == ShapeKind::list)
    binding->element = bind_type(*shape.element, wire.asList().getElementType(), path + "[]", differences);
  else if (shape.kind == ShapeKind::record || shape.kind == ShapeKind::choice)
    bind_fields(*binding, wire.asStruct(), path, differences);
  return binding;
}

const TypeShape& shape(const Binding* binding) {
  return *binding->shape;
}

const Binding* make_binding(const TypeShape& shape, SchemaHandle handle) {
  std::vector<std::string> differences;
  auto schema = struct_schema(handle);
  auto binding = bind_type(shape, schema, std::string(view(schema.getShortDisplayName())), differences);
  if (!differences.empty())
    assertion_failed("struct and schema agree", differences.front().c_str(), __FILE__, __LINE__);
  return binding.release();
}

std::vector<std::string> schema_differences(const TypeShape& shape, SchemaHandle handle) {
  std::vector<std::string> differences;
  auto schema = struct_schema(handle);
  bind_type(shape, schema, std::string(view(schema.getShortDisplayName())), differences);
  return differences;
}

namespace {

std::string type_text(const TypeShape& shape) {
  if (shape.kind == ShapeKind::list)
    return fmt::format("List({})", type_text(*shape.element));
  if (shape.kind == ShapeKind::enumeration || shape.kind == ShapeKind::record || shape.kind == ShapeKind::choice)
    return shape.name;
  return std::string(type_name(scalar_type(shape)));
}

/// Schema text of the value at `p`, or nothing when it is what `zero` has (null: zero or empty).
std::string default_text(const TypeShape& shape, const char* p, const char* zero) {
  static constexpr char zeros[16] = {};
  switch (shape.kind) {
  case ShapeKind::boolean:
  case ShapeKind::integer:
  case ShapeKind::real:
  case ShapeKind::enumeration:
    break;
  case ShapeKind::text: {
    auto& text = *reinterpret_cast<const std::string*>(p);
    if (text == (zero == nullptr ? std::string_view() : *reinterpret_cast<const std::string*>(zero)))
      return {};
    return fmt::format("\"{}\"", text);
  }
  case ShapeKind::record: {
    auto differs = [&](const TypeShape::Field& f) {
      return !default_text(*f.shape, p + f.offset, zero + f.offset).empty();
    };
    if (zero != nullptr && std::none_of(shape.fields.begin(), shape.fields.end(), differs))
      return {};
    std::string out; // what a literal leaves out is as the field's own type has it
    auto* base = static_cast<const char*>(shape.prototype);
    for (auto& field : shape.fields)
      if (auto value = default_text(*field.shape, p + field.offset, base + field.offset); !value.empty())
        out += fmt::format("{}{} = {}", out.empty() ? "(" : ", ", camel_case(field.name), value);
    return out.empty() ? out : out + ")";
  }
  default:
    return {};
  }
  if (std::memcmp(p, zero == nullptr ? zeros : zero, shape.size) == 0)
    return {};
  std::uint64_t bits = 0;
  std::memcpy(&bits, p, shape.size);
  if (shape.kind == ShapeKind::boolean)
    return bits != 0 ? "true" : "false";
  if (shape.kind == ShapeKind::enumeration)
    return camel_case(shape.enumerator(bits));
  if (shape.kind == ShapeKind::real)
    return shape.size == 4 ? fmt::format("{}", *reinterpret_cast<const float*>(p))
                           : fmt::format("{}", *reinterpret_cast<const double*>(p));
  if (!shape.is_signed)
    return fmt::format("{}", bits);
  unsigned unused = 64 - 8 * static_cast<unsigned>(shape.size);
  return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
}

void suggest(std::string_view name, const TypeShape& shape, std::vector<std::string>& seen, std::string& out) {
  if (shape.kind == ShapeKind::list)
    return suggest(shape.element->name, *shape.element, seen, out);
  if (shape.kind != ShapeKind::enumeration && shape.kind != ShapeKind::record && shape.kind != ShapeKind::choice)
    return;
  if (std::find(seen.begin(), seen.end(), name) != seen.end())
    return;
  seen.emplace_back(name);
  for (auto& field : shape.fields)
    suggest(field.shape->name, *field.shape, seen, out);
  if (shape.kind == ShapeKind::enumeration) {
    out += fmt::format("\nenum {} {{\n", name);
    for (std::size_t i = 0; i < shape.enumerators; ++i)
      out += fmt::format("  {} @{};\n", camel_case(shape.enumerator(i)), i);
    out += "}\n";
    return;
  }
  bool choice = shape.kind == ShapeKind::choice;
  out += fmt::format("\nstruct {} {{\n{}", name, choice ? "  union {\n" : "");
  for (std::size_t i = 0; i < shape.fields.size(); ++i) {
    auto& field = shape.fields[i];
    std::string value;
    if (!choice)
      value = default_text(*field.shape, static_cast<const char*>(shape.prototype) + field.offset, nullptr);
    out += fmt::format("{}  {} @{} :{}{}{};\n", choice ? "  " : "", camel_case(field.name), i,
                       type_text(*field.shape), value.empty() ? "" : " = ", value);
  }
  out += choice ? "  }\n}\n" : "}\n";
}

} // namespace

std::string suggest_schema(std::string_view name, const TypeShape& shape) {
  std::vector<std::string> seen;
  std::string out;
  suggest(name, shape, seen, out);
  return out;
}

} // namespace troupe

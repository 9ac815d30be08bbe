#include "actors/codec.hpp"

#include "actors/codec_binding.hpp"
#include "base/assert.hpp"

#include <capnp/any.h>
#include <capnp/compat/json.h>
#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>

namespace troupe {

namespace {

using capnp::AnyPointer;
using capnp::AnyStruct;

bool is_empty(const TypeShape& shape, const void* p) {
  return (shape.kind == ShapeKind::text && static_cast<const std::string*>(p)->empty())
         || (shape.kind == ShapeKind::bytes && static_cast<const Bytes*>(p)->empty())
         || (shape.kind == ShapeKind::list && shape.length(p) == 0);
}

capnp::Text::Reader text_of(const void* p) {
  auto& s = *static_cast<const std::string*>(p);
  return {s.c_str(), s.size()};
}

capnp::Data::Reader data_of(const void* p) {
  auto& v = *static_cast<const Bytes*>(p);
  return {v.data(), v.size()};
}

const char* at(const void* object, std::size_t offset) { return static_cast<const char*>(object) + offset; }

/// `keep_empty`: empty lists and texts are written too, so that JSON shows them.
struct Encoder {
  bool keep_empty = false;

  void put(const Binding& type, const void* object, AnyStruct::Builder out) const {
    auto data = out.getDataSection();
    auto pointers = out.getPointerSection();
    if (type.shape->kind == ShapeKind::choice) {
      auto& field = type.fields[type.shape->index(object)];
      std::memcpy(data.begin() + type.discriminant_at, &field.discriminant, sizeof field.discriminant);
      return put_pointer(*field.type, type.shape->chosen(object), pointers[field.wire_at]);
    }
    for (auto& field : type.fields) {
      const void* p = at(object, field.offset);
      if (!field.type->is_pointer())
        put_scalar(field, p, data.begin());
      else if (keep_empty || !field.skip_empty || !is_empty(*field.type->shape, p))
        put_pointer(*field.type, p, pointers[field.wire_at]);
    }
  }

  static void put_scalar(const Binding::Field& field, const void* p, kj::byte* data) {
    const TypeShape& shape = *field.type->shape;
    if (shape.kind == ShapeKind::boolean) {
      data[field.wire_at / 8] |= static_cast<kj::byte>((load<bool>(p) != (field.mask != 0)) << (field.wire_at % 8));
      return;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, p, shape.size);
    bits ^= field.mask;
    std::memcpy(data + field.wire_at, &bits, shape.kind == ShapeKind::enumeration ? 2 : shape.size);
  }

  void put_pointer(const Binding& type, const void* p, AnyPointer::Builder out) const {
    switch (type.shape->kind) {
    case ShapeKind::text:
      return out.setAs<capnp::Text>(text_of(p));
    case ShapeKind::bytes:
      return out.setAs<capnp::Data>(data_of(p));
    case ShapeKind::list:
      return put_list(type, p, out);
    default:
      return put(type, p, out.initAsAnyStruct(type.data_words, type.pointers));
    }
  }

  void put_list(const Binding& type, const void* list, AnyPointer::Builder out) const {
    const Binding& element = *type.element;
    auto size = static_cast<unsigned>(type.shape->length(list));
    auto each = [&]<class F>(F f) {
      type.shape->visit(list, &f, [](void* c, const void* e) { (*static_cast<F*>(c))(e); });
    };
    auto scalars = [&]<class T>(T) {
      auto builder = out.initAs<capnp::List<T>>(size);
      unsigned i = 0;
      each([&](const void* e) { builder.set(i++, load<T>(e)); });
    };
    switch (element.shape->kind) {
    case ShapeKind::record:
    case ShapeKind::choice: {
      auto builder = out.initAsListOfAnyStruct(element.data_words, element.pointers, size);
      unsigned i = 0;
      return each([&](const void* e) { put(element, e, builder[i++]); });
    }
    case ShapeKind::text: {
      auto builder = out.initAs<capnp::List<capnp::Text>>(size);
      unsigned i = 0;
      return each([&](const void* e) { builder.set(i++, text_of(e)); });
    }
    case ShapeKind::bytes: {
      auto builder = out.initAs<capnp::List<capnp::Data>>(size);
      unsigned i = 0;
      return each([&](const void* e) { builder.set(i++, data_of(e)); });
    }
    case ShapeKind::enumeration: {
      auto builder = out.initAs<capnp::List<std::uint16_t>>(size);
      unsigned i = 0;
      return each([&](const void* e) { builder.set(i++, load<std::uint8_t>(e)); });
    }
    case ShapeKind::boolean:
      return scalars(bool{});
    case ShapeKind::real:
      return element.shape->size == 4 ? scalars(float{}) : scalars(double{});
    case ShapeKind::integer:
      switch (element.shape->size) {
      case 1:
        return scalars(std::uint8_t{});
      case 2:
        return scalars(std::uint16_t{});
      case 4:
        return scalars(std::uint32_t{});
      default:
        return scalars(std::uint64_t{});
      }
    case ShapeKind::list:
      break;
    }
    TROUPE_UNREACHABLE("a list of lists has no schema here: wrap the inner one in a struct");
  }
};

AnyStruct::Builder new_root(capnp::MessageBuilder& message, const Binding& type) {
  return message.getRoot<AnyPointer>().initAsAnyStruct(type.data_words, type.pointers);
}

} // namespace

Bytes encode(const Binding* binding, const void* object) {
  // First segment on the stack, zeroed by the builder's contract.
  capnp::word scratch[512] = {};
  capnp::MallocMessageBuilder message(kj::arrayPtr(scratch, std::size(scratch)));
  Encoder{}.put(*binding, object, new_root(message, *binding));
  auto segments = message.getSegmentsForOutput();
  Bytes bytes(capnp::computeSerializedSizeInWords(segments) * sizeof(capnp::word));
  kj::ArrayOutputStream out(kj::arrayPtr(bytes.data(), bytes.size()));
  capnp::writeMessage(out, segments);
  return bytes;
}

std::string to_json(const Binding* binding, const void* object, bool pretty) {
  capnp::MallocMessageBuilder message;
  auto root = new_root(message, *binding);
  Encoder{.keep_empty = true}.put(*binding, object, root);
  capnp::JsonCodec codec;
  codec.setPrettyPrint(pretty);
  auto text = codec.encode(root.asReader().as<capnp::DynamicStruct>(binding->wire.asStruct()));
  return {text.begin(), text.size()};
}

} // namespace troupe

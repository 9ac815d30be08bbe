#include "actors/codec.hpp"

#include "actors/codec_binding.hpp"
#include "base/assert.hpp"

#include <capnp/compat/json.h>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <fmt/format.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstring>

namespace troupe {

namespace {

using capnp::DynamicEnum;
using capnp::DynamicList;
using capnp::DynamicStruct;
using capnp::DynamicValue;

const char* at(const void* object, std::size_t offset) { return static_cast<const char*>(object) + offset; }
char* at(void* object, std::size_t offset) { return static_cast<char*>(object) + offset; }

template <class T>
T load(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

std::int64_t load_signed(const void* p, std::size_t size) {
  switch (size) {
  case 1:
    return load<std::int8_t>(p);
  case 2:
    return load<std::int16_t>(p);
  case 4:
    return load<std::int32_t>(p);
  default:
    return load<std::int64_t>(p);
  }
}

std::uint64_t load_unsigned(const void* p, std::size_t size) {
  switch (size) {
  case 1:
    return load<std::uint8_t>(p);
  case 2:
    return load<std::uint16_t>(p);
  case 4:
    return load<std::uint32_t>(p);
  default:
    return load<std::uint64_t>(p);
  }
}

capnp::Text::Reader text_of(const void* p) {
  auto& s = *static_cast<const std::string*>(p);
  return {s.c_str(), s.size()};
}

capnp::Data::Reader data_of(const void* p) {
  auto& v = *static_cast<const Bytes*>(p);
  return {v.data(), v.size()};
}

/// Value of a scalar, text, bytes or enumeration.
DynamicValue::Reader value_of(const Binding& type, const void* p) {
  const Shape& shape = *type.shape;
  switch (shape.kind) {
  case ShapeKind::boolean:
    return load<bool>(p);
  case ShapeKind::integer:
    return shape.is_signed ? DynamicValue::Reader(static_cast<long long>(load_signed(p, shape.size)))
                           : DynamicValue::Reader(static_cast<unsigned long long>(load_unsigned(p, shape.size)));
  case ShapeKind::real:
    return shape.size == 4 ? DynamicValue::Reader(load<float>(p)) : DynamicValue::Reader(load<double>(p));
  case ShapeKind::enumeration:
    return DynamicEnum(type.wire.asEnum(), load<std::uint8_t>(p));
  case ShapeKind::text:
    return text_of(p);
  case ShapeKind::bytes:
    return data_of(p);
  default:
    TROUPE_UNREACHABLE("a scalar");
  }
}

bool is_empty(const Shape& shape, const void* p) {
  return (shape.kind == ShapeKind::text && static_cast<const std::string*>(p)->empty())
         || (shape.kind == ShapeKind::bytes && static_cast<const Bytes*>(p)->empty())
         || (shape.kind == ShapeKind::list && shape.length(p) == 0);
}

/// `keep_empty`: empty lists and texts are written too, so that JSON shows them.
struct Encoder {
  bool keep_empty = false;

  void put(const Binding& type, const void* object, DynamicStruct::Builder out) const {
    if (type.shape->kind == ShapeKind::choice)
      return put_field(type.fields[type.shape->index(object)], type.shape->chosen(object), out);
    for (auto& field : type.fields)
      put_field(field, at(object, field.offset), out);
  }

  void put_field(const Binding::Field& field, const void* p, DynamicStruct::Builder& out) const {
    const Binding& type = *field.type;
    switch (type.shape->kind) {
    case ShapeKind::record:
    case ShapeKind::choice:
      return put(type, p, out.init(field.wire).as<DynamicStruct>());
    case ShapeKind::list:
      if (keep_empty || field.has_default || !is_empty(*type.shape, p))
        put_elements(type, p, out.init(field.wire, count(type, p)).as<DynamicList>());
      return;
    default:
      if (keep_empty || field.has_default || !is_empty(*type.shape, p))
        out.set(field.wire, value_of(type, p));
    }
  }

  static unsigned count(const Binding& type, const void* list) {
    return static_cast<unsigned>(type.shape->length(list));
  }

  void put_elements(const Binding& type, const void* list, DynamicList::Builder out) const {
    struct Context {
      const Encoder& encoder;
      const Binding& element;
      DynamicList::Builder out;
      unsigned next = 0;
    } context{*this, *type.element, out};
    type.shape->visit(list, &context, [](void* c, const void* element) {
      auto& [encoder, binding, builder, next] = *static_cast<Context*>(c);
      unsigned i = next++;
      if (binding.shape->kind == ShapeKind::list)
        encoder.put_elements(binding, element, builder.init(i, count(binding, element)).as<DynamicList>());
      else if (binding.shape->kind == ShapeKind::record || binding.shape->kind == ShapeKind::choice)
        encoder.put(binding, element, builder[i].as<DynamicStruct>());
      else
        builder.set(i, value_of(binding, element));
    });
  }
};

/// Reads into plain structs. A false return means `what` says what is wrong, from the inside out.
struct Decoder {
  const DecodeLimits& limits;
  std::size_t memory = 0;
  std::string path;
  std::string what;

  bool wrong(std::string words) {
    what = std::move(words);
    return false;
  }

  bool get(const Binding& type, void* object, DynamicStruct::Reader in) {
    if (type.shape->kind == ShapeKind::choice)
      return choose(type, object, in);
    for (auto& field : type.fields)
      if (!get_value(*field.type, at(object, field.offset), in.get(field.wire))) {
        path = fmt::format(".{}{}", field.name, path);
        return false;
      }
    return true;
  }

  bool choose(const Binding& type, void* object, DynamicStruct::Reader in) {
    KJ_IF_MAYBE(active, in.which()) {
      std::size_t i = type.choices[active->getProto().getDiscriminantValue()];
      auto& field = type.fields[i];
      if (get_value(*field.type, type.shape->choose(object, i), in.get(field.wire)))
        return true;
      path = fmt::format(".{}{}", field.name, path);
      return false;
    }
    return wrong("no such alternative");
  }

  bool get_value(const Binding& type, void* p, DynamicValue::Reader value) {
    const Shape& shape = *type.shape;
    switch (shape.kind) {
    case ShapeKind::boolean:
      return store(p, value.as<bool>());
    case ShapeKind::integer:
      if (shape.is_signed)
        store_integer(p, static_cast<std::uint64_t>(value.as<std::int64_t>()), shape.size);
      else
        store_integer(p, value.as<std::uint64_t>(), shape.size);
      return true;
    case ShapeKind::real:
      return shape.size == 4 ? store(p, value.as<float>()) : store(p, value.as<double>());
    case ShapeKind::enumeration: {
      auto raw = value.as<DynamicEnum>().getRaw();
      if (raw >= shape.enumerators)
        return wrong(fmt::format("enumerator {} of {}", raw, shape.enumerators));
      return store(p, static_cast<std::uint8_t>(raw));
    }
    case ShapeKind::text: {
      auto text = value.as<capnp::Text>();
      if (text.size() > limits.text)
        return wrong(fmt::format("text of {} bytes, at most {}", text.size(), limits.text));
      if (!spend(text.size()))
        return false;
      static_cast<std::string*>(p)->assign(text.begin(), text.size());
      return true;
    }
    case ShapeKind::bytes: {
      auto data = value.as<capnp::Data>();
      if (!spend(data.size()))
        return false;
      static_cast<Bytes*>(p)->assign(data.begin(), data.end());
      return true;
    }
    case ShapeKind::record:
    case ShapeKind::choice:
      return get(type, p, value.as<DynamicStruct>());
    case ShapeKind::list:
      return get_list(type, p, value.as<DynamicList>());
    }
    return wrong("unknown kind");
  }

  bool get_list(const Binding& type, void* p, DynamicList::Reader in) {
    const Shape& shape = *type.shape;
    std::size_t limit = shape.at_most != 0 ? shape.at_most : limits.list;
    if (in.size() > limit)
      return wrong(fmt::format("{} elements, at most {}", in.size(), limit));
    if (!spend(in.size() * shape.element->size))
      return false;
    shape.clear(p);
    struct Context {
      Decoder& decoder;
      const Binding& element;
      DynamicList::Reader in;
      unsigned i = 0;
    } context{*this, *type.element, in};
    for (; context.i < in.size(); ++context.i) {
      bool added = shape.add(p, &context, [](void* c, void* element) {
        auto& [decoder, binding, reader, i] = *static_cast<Context*>(c);
        return decoder.get_value(binding, element, reader[i]);
      });
      if (!added) {
        if (what.empty())
          what = "the same key twice";
        path = fmt::format("[{}]{}", context.i, path);
        return false;
      }
    }
    return true;
  }

  bool spend(std::size_t bytes) {
    memory += bytes;
    return memory <= limits.memory || wrong(fmt::format("more than {} bytes in all", limits.memory));
  }

  template <class T>
  static bool store(void* p, T value) {
    std::memcpy(p, &value, sizeof value);
    return true;
  }

  static void store_integer(void* p, std::uint64_t value, std::size_t size) {
    std::memcpy(p, &value, size); // little-endian hosts only, checked below
  }
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

std::string_view name_of(const Binding& type) {
  auto name = type.wire.asStruct().getShortDisplayName();
  return {name.begin(), name.size()};
}

result<void> read_struct(const Binding& type, void* object, DynamicStruct::Reader in, const DecodeLimits& limits) {
  Decoder decoder{limits, 0, {}, {}};
  if (!decoder.get(type, object, in))
    return fail(Errc::invalid, fmt::format("{}{}: {}", name_of(type), decoder.path, decoder.what));
  return {};
}

/// Runs f, which may throw what Cap'n Proto throws.
template <class F>
result<void> guarded(const Binding& type, F&& f) {
  std::string what;
  try {
    return f();
  } catch (const kj::Exception& e) {
    what.assign(e.getDescription().begin(), e.getDescription().size());
  } catch (const std::exception& e) {
    what = e.what();
  }
  return fail(Errc::invalid, fmt::format("{}: {}", name_of(type), what));
}

} // namespace

Bytes encode(const Binding* binding, const void* object) {
  // First segment on the stack, zeroed by the builder's contract.
  capnp::word scratch[512] = {};
  capnp::MallocMessageBuilder message(kj::arrayPtr(scratch, std::size(scratch)));
  Encoder{}.put(*binding, object, message.initRoot<DynamicStruct>(binding->wire.asStruct()));
  auto segments = message.getSegmentsForOutput();
  Bytes bytes(capnp::computeSerializedSizeInWords(segments) * sizeof(capnp::word));
  kj::ArrayOutputStream out(kj::arrayPtr(bytes.data(), bytes.size()));
  capnp::writeMessage(out, segments);
  return bytes;
}

result<void> decode(const Binding* binding, void* object, std::span<const std::uint8_t> bytes,
                    const DecodeLimits& limits) {
  constexpr std::size_t word = sizeof(capnp::word);
  if (bytes.size() > limits.bytes)
    return fail(Errc::invalid, fmt::format("{}: {} bytes, at most {}", name_of(*binding), bytes.size(), limits.bytes));
  if (bytes.empty() || bytes.size() % word != 0)
    return fail(Errc::invalid, fmt::format("{}: {} bytes are no whole message", name_of(*binding), bytes.size()));
  // The number of segments, less one. Of 2^32 - 1 Cap'n Proto makes none, and an empty message.
  if (load<std::uint32_t>(bytes.data()) > 511)
    return fail(Errc::invalid, fmt::format("{}: no segment table", name_of(*binding)));
  const auto* first = reinterpret_cast<const capnp::word*>(bytes.data());
  std::unique_ptr<capnp::word[]> aligned;
  if (reinterpret_cast<std::uintptr_t>(first) % alignof(std::uint64_t) != 0) {
    aligned = std::make_unique<capnp::word[]>(bytes.size() / word);
    std::memcpy(aligned.get(), bytes.data(), bytes.size());
    first = aligned.get();
  }
  return guarded(*binding, [&]() -> result<void> {
    capnp::ReaderOptions options;
    // Every word of an honest message is read once; a pointer that is shared or circular spends more.
    options.traversalLimitInWords = 2 * (bytes.size() / word) + 64;
    options.nestingLimit = 32;
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(first, bytes.size() / word), options);
    if (reader.getEnd() != first + bytes.size() / word)
      return fail(Errc::invalid, fmt::format("{}: bytes after its end", name_of(*binding)));
    return read_struct(*binding, object, reader.getRoot<DynamicStruct>(binding->wire.asStruct()), limits);
  });
}

std::string to_json(const Binding* binding, const void* object, bool pretty) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<DynamicStruct>(binding->wire.asStruct());
  Encoder{.keep_empty = true}.put(*binding, object, root);
  capnp::JsonCodec codec;
  codec.setPrettyPrint(pretty);
  auto text = codec.encode(root.asReader());
  return {text.begin(), text.size()};
}

result<void> from_json(const Binding* binding, void* object, std::string_view json, const DecodeLimits& limits) {
  if (json.size() > limits.bytes)
    return fail(Errc::invalid, fmt::format("{}: {} bytes, at most {}", name_of(*binding), json.size(), limits.bytes));
  return guarded(*binding, [&]() -> result<void> {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<DynamicStruct>(binding->wire.asStruct());
    capnp::JsonCodec codec;
    codec.setRejectUnknownFields(true);
    codec.decode(kj::arrayPtr(json.data(), json.size()), root);
    return read_struct(*binding, object, root.asReader(), limits);
  });
}

} // namespace troupe

#include "actors/codec.hpp"

#include "actors/codec_binding.hpp"

#include <capnp/any.h>
#include <capnp/compat/json.h>
#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <fmt/format.h>
#include <kj/exception.h>

#include <cstring>

namespace troupe {

namespace {

using capnp::AnyPointer;
using capnp::AnyStruct;

char* at(void* object, std::size_t offset) { return static_cast<char*>(object) + offset; }

/// Reads into a fresh object; what the message does not have stays as it is. A false return means that `what` says what
/// is wrong and `path` where.
struct Decoder {
  const DecodeLimits& limits;
  std::size_t memory = 0;
  std::string path{};
  std::string what{};

  bool wrong(std::string words) {
    what = std::move(words);
    return false;
  }
  bool inside(const std::string_view name) {
    path = fmt::format(".{}{}", name, path);
    return false;
  }

  bool get(const Binding& type, void* object, AnyStruct::Reader in) {
    auto data = in.getDataSection();
    auto pointers = in.getPointerSection();
    if (type.shape->kind == ShapeKind::choice) {
      std::uint16_t discriminant = 0;
      if (type.discriminant_at + 2 <= data.size())
        discriminant = load<std::uint16_t>(data.begin() + type.discriminant_at);
      if (discriminant >= type.choices.size())
        return wrong(fmt::format("no alternative {}", discriminant));
      auto& field = type.fields[type.choices[discriminant]];
      void* chosen = type.shape->choose(object, type.choices[discriminant]);
      return field.wire_at >= pointers.size() || get_pointer(*field.type, chosen, pointers[field.wire_at])
             || inside(field.name);
    }
    for (auto& field : type.fields) {
      void* p = at(object, field.offset);
      bool ok = true;
      if (!field.type->is_pointer())
        ok = get_scalar(field, p, data);
      else if (field.wire_at < pointers.size())
        ok = get_pointer(*field.type, p, pointers[field.wire_at]);
      if (!ok)
        return inside(field.name);
    }
    return true;
  }

  bool get_scalar(const Binding::Field& field, void* p, kj::ArrayPtr<const kj::byte> data) {
    const TypeShape& shape = *field.type->shape;
    if (shape.kind == ShapeKind::boolean) {
      if (field.wire_at / 8 < data.size())
        store(p, ((data[field.wire_at / 8] >> (field.wire_at % 8)) & 1) != (field.mask != 0));
      return true;
    }
    std::size_t size = shape.kind == ShapeKind::enumeration ? 2 : shape.size;
    if (field.wire_at + size > data.size())
      return true;
    std::uint64_t bits = 0;
    std::memcpy(&bits, data.begin() + field.wire_at, size);
    bits ^= field.mask;
    if (shape.kind == ShapeKind::enumeration)
      return get_enumerator(shape, p, bits);
    std::memcpy(p, &bits, size);
    return true;
  }

  bool get_enumerator(const TypeShape& shape, void* p, std::uint64_t raw) {
    if (raw >= shape.enumerators)
      return wrong(fmt::format("enumerator {} of {}", raw, shape.enumerators));
    store(p, static_cast<std::uint8_t>(raw));
    return true;
  }

  bool get_pointer(const Binding& type, void* p, AnyPointer::Reader in) {
    if (in.isNull())
      return true;
    switch (type.shape->kind) {
    case ShapeKind::text:
      return get_text(p, in.getAs<capnp::Text>());
    case ShapeKind::bytes:
      return get_bytes(p, in.getAs<capnp::Data>());
    case ShapeKind::list:
      return get_list(type, p, in);
    default:
      return get(type, p, in.getAs<AnyStruct>());
    }
  }

  bool get_text(void* p, capnp::Text::Reader text) {
    if (text.size() > limits.text)
      return wrong(fmt::format("text of {} bytes, at most {}", text.size(), limits.text));
    static_cast<std::string*>(p)->assign(text.begin(), text.size());
    return spend(text.size());
  }

  bool get_bytes(void* p, capnp::Data::Reader data) {
    static_cast<Bytes*>(p)->assign(data.begin(), data.end());
    return spend(data.size());
  }

  bool get_list(const Binding& type, void* p, AnyPointer::Reader in) {
    const Binding& element = *type.element;
    auto scalars = [&]<class T>(T) {
      return each(type, p, in.getAs<capnp::List<T>>(), [](void* e, T value) { return store(e, value); });
    };
    switch (element.shape->kind) {
    case ShapeKind::record:
    case ShapeKind::choice:
      return get_structs(type, p, in.getAs<capnp::AnyList>());
    case ShapeKind::text:
      return each(type, p, in.getAs<capnp::List<capnp::Text>>(),
                  [&](void* e, capnp::Text::Reader value) { return get_text(e, value); });
    case ShapeKind::bytes:
      return each(type, p, in.getAs<capnp::List<capnp::Data>>(),
                  [&](void* e, capnp::Data::Reader value) { return get_bytes(e, value); });
    case ShapeKind::enumeration:
      return each(type, p, in.getAs<capnp::List<std::uint16_t>>(),
                  [&](void* e, std::uint16_t value) { return get_enumerator(*element.shape, e, value); });
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
    return wrong("a list of lists");
  }

  bool get_structs(const Binding& type, void* p, capnp::AnyList::Reader in) {
    if (in.getElementSize() != capnp::ElementSize::INLINE_COMPOSITE)
      return wrong("not a list of structs");
    return each(type, p, in.as<capnp::List<AnyStruct>>(),
                [&](void* e, AnyStruct::Reader value) { return get(*type.element, e, value); });
  }

  /// Appends one element per element of `in`, each filled by f(element, value).
  template <class List, class F>
  bool each(const Binding& type, void* p, List in, F f) {
    const TypeShape& shape = *type.shape;
    std::size_t limit = shape.at_most != 0 ? shape.at_most : limits.list;
    if (in.size() > limit)
      return wrong(fmt::format("{} elements, at most {}", in.size(), limit));
    if (!spend(in.size() * shape.element->size))
      return false;
    shape.clear(p);
    struct Context {
      List& list;
      F& fill;
      unsigned i = 0;
    } context{in, f};
    for (; context.i < in.size(); ++context.i) {
      bool added = shape.add(p, &context, [](void* c, void* element) -> bool {
        auto& ctx = *static_cast<Context*>(c);
        return ctx.fill(element, ctx.list[ctx.i]);
      });
      if (added)
        continue;
      if (what.empty())
        what = "the same key twice";
      path = fmt::format("[{}]{}", context.i, path);
      return false;
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
};

std::string_view name_of(const Binding& type) {
  auto name = type.wire.asStruct().getShortDisplayName();
  return {name.begin(), name.size()};
}

result<void> read_struct(const Binding& type, void* object, AnyStruct::Reader in, const DecodeLimits& limits) {
  Decoder decoder{limits};
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
    return read_struct(*binding, object, reader.getRoot<AnyStruct>(), limits);
  });
}

result<void> from_json(const Binding* binding, void* object, std::string_view json, const DecodeLimits& limits) {
  if (json.size() > limits.bytes)
    return fail(Errc::invalid, fmt::format("{}: {} bytes, at most {}", name_of(*binding), json.size(), limits.bytes));
  return guarded(*binding, [&]() -> result<void> {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<capnp::DynamicStruct>(binding->wire.asStruct());
    capnp::JsonCodec codec;
    codec.setRejectUnknownFields(true);
    codec.decode(kj::arrayPtr(json.data(), json.size()), root);
    return read_struct(*binding, object, root.asReader(), limits);
  });
}

} // namespace troupe

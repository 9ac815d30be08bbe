// What a plain type looks like at run time: its kind, fields, elements or alternatives, and how to reach them. Made
// once per type from TROUPE_FIELDS, enum_count/to_string and `tag`, so that one compiled walker (codec_encode.cpp)
// serves every type and no Cap'n Proto header is seen by users. Immutable once made; any thread.
#pragma once

#include "base/clock.hpp"
#include "base/reflect.hpp"
#include "troupe/ids.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

enum class ShapeKind : std::uint8_t { boolean, integer, real, enumeration, text, bytes, record, list, choice };

struct TypeShape {
  struct Field {
    std::string_view name; ///< as in TROUPE_FIELDS, or the alternative's tag
    std::size_t offset = 0;
    const TypeShape* shape = nullptr;
  };
  /// Fills one new element of a list; false stops and takes it back.
  using Fill = bool (*)(void* context, void* element);
  using Visit = void (*)(void* context, const void* element);

  ShapeKind kind = ShapeKind::record;
  std::string name;          ///< of the C++ type, as the schema calls it
  std::size_t size = 0;      ///< sizeof the C++ type
  bool is_signed = false;    ///< integer
  std::size_t at_most = 0;   ///< list: its largest length, 0 for no limit of its own
  std::size_t exactly = 0;   ///< list: its only length (std::array)
  std::size_t enumerators = 0;
  std::string_view (*enumerator)(std::size_t) = nullptr;
  const void* prototype = nullptr; ///< record: a fresh object, for its defaults
  std::vector<Field> fields; ///< record: its fields; choice: its alternatives (offset unused)
  const TypeShape* element = nullptr;
  std::size_t (*length)(const void*) = nullptr;
  void (*clear)(void*) = nullptr;
  void (*visit)(const void*, void* context, Visit) = nullptr;
  bool (*add)(void*, void* context, Fill) = nullptr; ///< list: appends one element
  std::size_t (*index)(const void*) = nullptr;       ///< choice
  const void* (*chosen)(const void*) = nullptr;
  void* (*choose)(void*, std::size_t) = nullptr;
};

template <class T>
const TypeShape& shape_of();

namespace detail {

template <class K, class V>
struct MapEntry {
  K key{};
  V value{};
  TROUPE_FIELDS(key, value)
};

template <class T>
struct ShapeMaker;

/// As the schema calls it: RosterRow for troupe::RosterRow, MembershipState for troupe::MembershipKernel::State.
template <class T>
std::string schema_type_name() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  std::string out(name.substr(0, name.find_first_of(";]")));
  if (out.find('<') != std::string::npos)
    return out;
  for (std::string_view noise : {"troupe::", "Kernel::", "::"})
    for (auto at = out.find(noise); at != std::string::npos; at = out.find(noise))
      out.erase(at, noise.size());
  return out;
}

template <class T>
TypeShape plain_shape(ShapeKind kind) {
  TypeShape shape;
  shape.kind = kind;
  shape.name = schema_type_name<T>();
  shape.size = sizeof(T);
  shape.is_signed = std::is_signed_v<T>;
  return shape;
}

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T t) {
  to_string(t);
  enum_count(t);
};

/// Lists whose elements are made in place or moved in; `C::value_type` is default-constructible.
template <class C, class E>
TypeShape list_shape() {
  TypeShape shape = plain_shape<C>(ShapeKind::list);
  shape.element = &shape_of<E>();
  shape.length = [](const void* c) { return static_cast<const C*>(c)->size(); };
  shape.clear = [](void* c) { static_cast<C*>(c)->clear(); };
  shape.visit = [](const void* c, void* context, TypeShape::Visit visit) {
    for (const auto& e : *static_cast<const C*>(c))
      if constexpr (std::is_same_v<E, std::remove_cvref_t<decltype(e)>>)
        visit(context, &e);
      else {
        E entry{e.first, e.second}; // map
        visit(context, &entry);
      }
  };
  shape.add = [](void* c, void* context, TypeShape::Fill fill) {
    C& container = *static_cast<C*>(c);
    if constexpr (requires { container.emplace_back(); }) {
      return fill(context, &container.emplace_back());
    } else {
      E element{};
      if (!fill(context, &element))
        return false;
      if constexpr (std::is_same_v<E, typename C::value_type>)
        return container.insert(std::move(element)).second;
      else
        return container.emplace(std::move(element.key), std::move(element.value)).second;
    }
  };
  return shape;
}

} // namespace detail

template <class T>
const TypeShape& shape_of() {
  static const TypeShape shape = detail::ShapeMaker<T>::make();
  return shape;
}

namespace detail {

template <>
struct ShapeMaker<bool> {
  static TypeShape make() { return plain_shape<bool>(ShapeKind::boolean); }
};
template <std::integral T>
struct ShapeMaker<T> {
  static TypeShape make() { return plain_shape<T>(ShapeKind::integer); }
};
template <std::floating_point T>
struct ShapeMaker<T> {
  static TypeShape make() { return plain_shape<T>(ShapeKind::real); }
};
template <class Tag, class Rep>
struct ShapeMaker<Id<Tag, Rep>> {
  static_assert(sizeof(Id<Tag, Rep>) == sizeof(Rep));
  static TypeShape make() { return plain_shape<Rep>(ShapeKind::integer); }
};
template <>
struct ShapeMaker<Duration> {
  static_assert(sizeof(Duration) == 8);
  static TypeShape make() { return plain_shape<std::int64_t>(ShapeKind::integer); }
};
template <>
struct ShapeMaker<Time> {
  static_assert(sizeof(Time) == 8);
  static TypeShape make() { return plain_shape<std::int64_t>(ShapeKind::integer); }
};
template <NamedEnum T>
struct ShapeMaker<T> {
  static_assert(sizeof(T) == 1, "an enum that is stored has std::uint8_t underneath");
  static TypeShape make() {
    TypeShape shape = plain_shape<T>(ShapeKind::enumeration);
    shape.enumerators = enum_count(T{});
    shape.enumerator = [](std::size_t i) -> std::string_view { return to_string(static_cast<T>(i)); };
    return shape;
  }
};
template <>
struct ShapeMaker<std::string> {
  static TypeShape make() { return plain_shape<std::string>(ShapeKind::text); }
};
template <>
struct ShapeMaker<std::vector<std::uint8_t>> {
  static TypeShape make() { return plain_shape<std::vector<std::uint8_t>>(ShapeKind::bytes); }
};
template <class T>
struct ShapeMaker<std::vector<T>> {
  static_assert(!std::is_same_v<T, bool>, "vector<bool> has no elements to point at");
  static TypeShape make() { return list_shape<std::vector<T>, T>(); }
};
template <class T>
struct ShapeMaker<std::deque<T>> {
  static TypeShape make() { return list_shape<std::deque<T>, T>(); }
};
template <class T, class C>
struct ShapeMaker<std::set<T, C>> {
  static TypeShape make() { return list_shape<std::set<T, C>, T>(); }
};
template <class K, class V, class C>
struct ShapeMaker<std::map<K, V, C>> {
  static TypeShape make() { return list_shape<std::map<K, V, C>, MapEntry<K, V>>(); }
};
template <class T>
struct ShapeMaker<std::optional<T>> {
  static TypeShape make() {
    using O = std::optional<T>;
    TypeShape shape = plain_shape<O>(ShapeKind::list);
    shape.at_most = 1;
    shape.element = &shape_of<T>();
    shape.length = [](const void* o) -> std::size_t { return static_cast<const O*>(o)->has_value() ? 1 : 0; };
    shape.clear = [](void* o) { static_cast<O*>(o)->reset(); };
    shape.visit = [](const void* o, void* context, TypeShape::Visit visit) {
      if (auto& value = *static_cast<const O*>(o))
        visit(context, &*value);
    };
    shape.add = [](void* o, void* context, TypeShape::Fill fill) {
      return fill(context, &static_cast<O*>(o)->emplace());
    };
    return shape;
  }
};
template <class A, class B>
struct ShapeMaker<std::pair<A, B>> {
  static TypeShape make() {
    using P = std::pair<A, B>;
    static const P probe{};
    auto at = [&](const void* member) {
      return static_cast<std::size_t>(static_cast<const char*>(member) - reinterpret_cast<const char*>(&probe));
    };
    TypeShape shape = plain_shape<P>(ShapeKind::record);
    shape.prototype = &probe;
    shape.fields.push_back({"first", at(&probe.first), &shape_of<A>()});
    shape.fields.push_back({"second", at(&probe.second), &shape_of<B>()});
    return shape;
  }
};
template <Reflected T>
struct ShapeMaker<T> {
  static TypeShape make() {
    static const T probe{};
    TypeShape shape = plain_shape<T>(ShapeKind::record);
    shape.prototype = &probe;
    for_each_field(probe, [&]<class F>(std::string_view name, const F& field) {
      auto offset = reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(&probe);
      shape.fields.push_back({name, static_cast<std::size_t>(offset), &shape_of<F>()});
    });
    return shape;
  }
};
template <class... Ts>
struct ShapeMaker<std::variant<Ts...>> {
  static TypeShape make() {
    using V = std::variant<Ts...>;
    TypeShape shape = plain_shape<V>(ShapeKind::choice);
    (shape.fields.push_back({Ts::tag, 0, &shape_of<Ts>()}), ...);
    shape.index = [](const void* v) { return static_cast<const V*>(v)->index(); };
    shape.chosen = [](const void* v) {
      return std::visit([](const auto& alternative) -> const void* { return &alternative; },
                        *static_cast<const V*>(v));
    };
    shape.choose = [](void* v, std::size_t i) -> void* {
      using Make = void* (*)(V&);
      static constexpr Make makers[] = {[](V& variant) -> void* { return &variant.template emplace<Ts>(); }...};
      return makers[i](*static_cast<V*>(v));
    };
    return shape;
  }
};

} // namespace detail

} // namespace troupe

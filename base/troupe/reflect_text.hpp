// Any reflected value as one line of text, and back: {step: 3, holdings: [{tier: snapshot}], what: "no space"}. For
// logs, differences in tests, and the journaled state of strategies. Numbers are decimal, durations and times
// nanoseconds, optional and containers [...], variants tag{...}, text quoted with \" \\ \n and \xHH. Reading accepts
// what writing made; fields may be missing (they keep their value) and unknown ones are skipped. Any thread.
#pragma once

#include "troupe/ids.hpp"
#include "troupe/reflect.hpp"
#include "troupe/time.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

namespace text {

void quote(std::string& out, std::string_view value);
void number(std::string& out, std::int64_t value);
void number(std::string& out, std::uint64_t value);
void number(std::string& out, double value);

template <class T>
struct is_id : std::false_type {};
template <class Tag, class Rep>
struct is_id<Id<Tag, Rep>> : std::true_type {};
template <class T>
struct is_list : std::false_type {};
template <class T, class A>
struct is_list<std::vector<T, A>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_variant : std::false_type {};
template <class... Ts>
struct is_variant<std::variant<Ts...>> : std::true_type {};
template <class T>
inline constexpr bool unsupported = false;

template <class T>
void write(std::string& out, const T& value);

template <class T>
void write_fields(std::string& out, const T& value) {
  out += '{';
  bool first = true;
  for_each_field(value, [&](std::string_view name, const auto& field) {
    if (!first)
      out += ", ";
    first = false;
    out += name;
    out += ": ";
    write(out, field);
  });
  out += '}';
}

template <class T>
void write(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    out += value ? "true" : "false";
  else if constexpr (std::is_enum_v<T>)
    out += to_string(value);
  else if constexpr (std::is_floating_point_v<T>)
    number(out, static_cast<double>(value));
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    number(out, static_cast<std::int64_t>(value));
  else if constexpr (std::is_integral_v<T>)
    number(out, static_cast<std::uint64_t>(value));
  else if constexpr (is_id<T>::value)
    number(out, static_cast<std::uint64_t>(value.value));
  else if constexpr (std::is_same_v<T, Duration>)
    number(out, static_cast<std::int64_t>(value.count()));
  else if constexpr (std::is_same_v<T, Time>)
    number(out, static_cast<std::int64_t>(value.time_since_epoch().count()));
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    quote(out, value);
  else if constexpr (is_optional<T>::value) {
    out += '[';
    if (value)
      write(out, *value);
    out += ']';
  } else if constexpr (is_list<T>::value) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0)
        out += ", ";
      write(out, static_cast<const typename T::value_type&>(value[i]));
    }
    out += ']';
  } else if constexpr (is_variant<T>::value)
    std::visit(
      [&](const auto& chosen) {
        out += std::remove_cvref_t<decltype(chosen)>::tag;
        write(out, chosen);
      },
      value);
  else if constexpr (Reflected<const T>)
    write_fields(out, value);
  else
    static_assert(unsupported<T>, "list its fields with TROUPE_FIELDS");
}

/// What is left to read. `ok` turns false at the first thing that does not fit and stays so.
struct Input {
  std::string_view rest;
  bool ok = true;

  void skip_space();
  bool take(char c);           ///< after space; true if it was there
  bool expect(char c);
  std::string_view word();     ///< letters, digits, _ + - .
  std::string quoted();
  void skip_value();
};

template <class T>
void read(Input& in, T& value);

template <class T>
void read_fields(Input& in, T& value) {
  if (!in.expect('{') || in.take('}'))
    return;
  do {
    std::string_view name = in.word();
    if (!in.expect(':'))
      return;
    bool found = false;
    for_each_field(value, [&](std::string_view listed, auto& field) {
      if (!found && listed == name) {
        found = true;
        read(in, field);
      }
    });
    if (!found)
      in.skip_value();
  } while (in.ok && in.take(','));
  in.expect('}');
}

template <class T>
void read_number(Input& in, T& value) {
  std::string_view word = in.word();
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size())
    in.ok = false;
}

template <class T>
void read(Input& in, T& value) {
  if (!in.ok)
    return;
  if constexpr (std::is_same_v<T, bool>) {
    std::string_view word = in.word();
    value = word == "true";
    in.ok = in.ok && (value || word == "false");
  } else if constexpr (std::is_enum_v<T>) {
    std::string_view word = in.word();
    for (std::size_t i = 0; i < enum_count(T{}); ++i)
      if (to_string(static_cast<T>(i)) == word) {
        value = static_cast<T>(i);
        return;
      }
    in.ok = false;
  } else if constexpr (std::is_arithmetic_v<T>)
    read_number(in, value);
  else if constexpr (is_id<T>::value)
    read_number(in, value.value);
  else if constexpr (std::is_same_v<T, Duration> || std::is_same_v<T, Time>) {
    std::int64_t count = 0;
    read_number(in, count);
    value = T{Duration{count}};
  } else if constexpr (std::is_same_v<T, std::string>)
    value = in.quoted();
  else if constexpr (is_optional<T>::value) {
    value.reset();
    if (!in.expect('[') || in.take(']'))
      return;
    read(in, value.emplace());
    in.expect(']');
  } else if constexpr (is_list<T>::value) {
    value.clear();
    if (!in.expect('[') || in.take(']'))
      return;
    do
      read(in, value.emplace_back());
    while (in.ok && in.take(','));
    in.expect(']');
  } else if constexpr (Reflected<T>)
    read_fields(in, value);
  else
    static_assert(unsupported<T>, "cannot be read back");
}

} // namespace text

template <class T>
std::string to_text(const T& value) {
  std::string out;
  text::write(out, value);
  return out;
}

/// False when `from` is not text of such a value; `value` then holds what was read until there.
template <class T>
bool from_text(std::string_view from, T& value) {
  text::Input in{from};
  text::read(in, value);
  in.skip_space();
  return in.ok && in.rest.empty();
}

} // namespace troupe

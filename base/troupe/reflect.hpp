// A struct lists its fields once with TROUPE_FIELDS(a, b, c); codecs, printers and comparisons visit them by
// name. Field names here are the names in the Cap'n Proto schema (snake_case there becomes camelCase).
// Enums that are visited have to_string(E) and `enum_count(E)`; variant alternatives have `static constexpr
// std::string_view tag`. No allocation, any thread.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

constexpr std::string_view nth_name(std::string_view list, std::size_t n) {
  for (; n > 0; --n)
    list.remove_prefix(list.find(',') + 1);
  while (!list.empty() && list.front() == ' ')
    list.remove_prefix(1);
  return list.substr(0, list.find(','));
}

} // namespace detail

template <class T>
concept Reflected = requires(T& t) {
  t.fields();
  std::remove_cvref_t<T>::field_names();
};

/// Calls f(name, field&) for every listed field, in order.
template <Reflected T, class F>
void for_each_field(T& object, F&& f) {
  auto tied = object.fields();
  constexpr auto names = std::remove_cvref_t<T>::field_names();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(detail::nth_name(names, I), std::get<I>(tied)), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(tied)>>{});
}

} // namespace troupe

#define TROUPE_FIELDS(...)                                                                                    \
  auto fields() { return std::tie(__VA_ARGS__); }                                                             \
  auto fields() const { return std::tie(__VA_ARGS__); }                                                       \
  static constexpr std::string_view field_names() { return #__VA_ARGS__; }

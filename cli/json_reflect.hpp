// Reflected structs to JSON and back, by field name: the reports and --json outputs. Included by sources of
// this room only, since it brings the JSON library along. A number that JSON cannot hold (NaN, infinity) is
// null. Reading ignores unknown keys, so that a report of a later version can be read.
#pragma once

#include "base/reflect.hpp"
#include "troupe/ids.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

using Json = nlohmann::ordered_json;

namespace detail {
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class K, class V>
struct IsMap<std::map<K, V>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsId : std::false_type {};
template <class Tag, class Rep>
struct IsId<Id<Tag, Rep>> : std::true_type {};

inline std::string json_key(std::string_view field) {
  return std::string(field == "failure_class" ? "class" : field);
}
inline std::string map_key(const std::string& key) {
  return key;
}
inline std::string map_key(std::uint64_t key) {
  return std::to_string(key);
}
} // namespace detail

template <class T>
Json to_json_value(const T& value) {
  if constexpr (Reflected<const T>) {
    auto object = Json::object();
    for_each_field(value, [&](std::string_view name, const auto& field) {
      object[detail::json_key(name)] = to_json_value(field);
    });
    return object;
  } else if constexpr (detail::IsVector<T>::value) {
    auto list = Json::array();
    for (const auto& item : value)
      list.push_back(to_json_value(item));
    return list;
  } else if constexpr (detail::IsMap<T>::value) {
    auto object = Json::object();
    for (const auto& [key, item] : value)
      object[detail::map_key(key)] = to_json_value(item);
    return object;
  } else if constexpr (detail::IsOptional<T>::value) {
    return value ? to_json_value(*value) : Json();
  } else if constexpr (detail::IsId<T>::value) {
    return Json(value.value);
  } else if constexpr (std::is_enum_v<T>) {
    return Json(std::string(to_string(value)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) ? Json(value) : Json();
  } else {
    return Json(value);
  }
}

/// Fills what is there and of the right kind; throws Json::exception where it is not.
template <class T>
void from_json_value(const Json& json, T& value) {
  if constexpr (Reflected<T>) {
    for_each_field(value, [&](std::string_view name, auto& field) {
      if (const auto found = json.find(detail::json_key(name)); found != json.end() && !found->is_null())
        from_json_value(*found, field);
    });
  } else if constexpr (detail::IsVector<T>::value) {
    value.clear();
    for (const auto& item : json)
      from_json_value(item, value.emplace_back());
  } else if constexpr (detail::IsMap<T>::value) {
    value.clear();
    for (const auto& [key, item] : json.items()) {
      if constexpr (std::is_integral_v<typename T::key_type>)
        from_json_value(item, value[std::stoull(key)]);
      else
        from_json_value(item, value[key]);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    value = json.is_null() ? std::nan("") : json.get<T>();
  } else {
    json.get_to(value);
  }
}

} // namespace troupe

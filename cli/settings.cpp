#include "cli/settings.hpp"

#include "base/checksum.hpp"
#include "cli/diagnostic.hpp"
#include "cli/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace troupe {

namespace {

using Type = RawValue::Type;

std::string_view type_name(Type type) {
  constexpr std::string_view names[] = {"boolean", "integer", "number", "string",
                                        "list",    "table",   "date",   "value"};
  return names[static_cast<unsigned>(type)];
}

tl::unexpected<Error> wrong_type(std::string_view wanted, const RawValue& value) {
  const auto shown = value.type == Type::string ? fmt::format("\"{}\"", value.text) : value.text;
  if (value.type == Type::array || value.type == Type::table || value.type == Type::untyped)
    return fail(Errc::invalid, fmt::format("must be {}", wanted));
  return fail(Errc::invalid, fmt::format("must be {}, got the {} {}", wanted, type_name(value.type), shown));
}

bool is_one_of(Type type, std::initializer_list<Type> types) {
  return type == Type::untyped || std::find(types.begin(), types.end(), type) != types.end();
}

/// Compares in the kind's own unit; both ends inclusive.
template <class Number, class Parse>
result<void> in_range(const Setting& s, Number value, const RawValue& raw, Parse parse) {
  const bool low = !s.lowest.empty() && value < *parse(s.lowest);
  const bool high = !s.highest.empty() && value > *parse(s.highest);
  if (!low && !high)
    return {};
  if (s.highest.empty())
    return fail(Errc::invalid, fmt::format("must be at least {}, got {}", s.lowest, raw.text));
  return fail(Errc::invalid, fmt::format("must be between {} and {}, got {}", s.lowest, s.highest, raw.text));
}

std::string quoted_list(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return text;
}

std::vector<std::string> strings(const std::vector<std::string_view>& words) {
  return {words.begin(), words.end()};
}

result<void> check_choice(const Setting& s, const RawValue& raw) {
  if (!is_one_of(raw.type, {Type::string}))
    return wrong_type(quoted_list(s.choices), raw);
  if (std::find(s.choices.begin(), s.choices.end(), raw.text) != s.choices.end())
    return {};
  if (std::find(s.later.begin(), s.later.end(), raw.text) != s.later.end())
    return fail(Errc::unsupported,
                fmt::format("\"{}\" is not in this version; use {}", raw.text, quoted_list(s.choices)));
  const auto hint = did_you_mean(raw.text, strings(s.choices));
  return fail(Errc::invalid, fmt::format("must be {}, got \"{}\"{}{}", quoted_list(s.choices), raw.text,
                                         hint.empty() ? "" : "; ", hint));
}

template <class E>
void set_enum(E& field, std::string_view text) {
  for (std::size_t i = 0; i < enum_count(E{}); ++i) {
    const auto value = static_cast<E>(i);
    std::string name(to_string(value));
    if (name == "automatic")
      name = "auto";
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == text)
      field = value;
  }
}

result<void> set_count(const Setting& s, const RawValue& raw, std::uint64_t most, auto& field) {
  if (!is_one_of(raw.type, {Type::integer}))
    return wrong_type("a whole number", raw);
  const auto value = parse_count(raw.text);
  if (!value) {
    const bool negative =
      raw.text.starts_with('-') && parse_count(std::string_view(raw.text).substr(1)).has_value();
    if (negative)
      return in_range(s, std::int64_t{-1}, raw, [](std::string_view t) {
        return parse_count(t).map([](auto v) { return static_cast<std::int64_t>(v); });
      });
    return fail(Errc::invalid, fmt::format("must be a whole number, got {}", raw.text));
  }
  TROUPE_TRY(in_range(s, *value, raw, parse_count));
  if (*value > most)
    return fail(Errc::invalid, fmt::format("must be at most {}, got {}", most, raw.text));
  field = static_cast<std::remove_reference_t<decltype(field)>>(*value);
  return {};
}

result<void> set_duration(const Setting& s, const RawValue& raw, Duration& field) {
  const bool zero = raw.type == Type::integer && raw.text == "0";
  if (!zero && !is_one_of(raw.type, {Type::string})) {
    if (raw.type == Type::integer || raw.type == Type::number)
      return fail(
        Errc::invalid,
        fmt::format("must be a duration with its unit in quotes, such as \"{0}s\" or \"{0}ms\"", raw.text));
    return wrong_type("a duration in quotes, such as \"30s\"", raw);
  }
  TROUPE_ASSIGN(const auto value, parse_duration(raw.text));
  TROUPE_TRY(in_range(s, value, raw, parse_duration));
  field = value;
  return {};
}

result<void> set_number(const Setting& s, const RawValue& raw, double& field) {
  if (!is_one_of(raw.type, {Type::integer, Type::number}))
    return wrong_type("a number", raw);
  double value = 0;
  const auto* last = raw.text.data() + raw.text.size();
  const auto [end, ec] = std::from_chars(raw.text.data(), last, value);
  if (ec != std::errc{} || end != last || !std::isfinite(value))
    return fail(Errc::invalid, fmt::format("must be a finite number, got {}", raw.text));
  const auto parse = [](std::string_view text) {
    return parse_count(text).map([](auto v) { return double(v); });
  };
  TROUPE_TRY(in_range(s, value, raw, parse));
  field = value;
  return {};
}

result<void> set_budget(const RawValue& raw, FailureBudget& field) {
  if (!is_one_of(raw.type, {Type::string}))
    return wrong_type("a budget in quotes, such as \"3 per 60s\"", raw);
  TROUPE_ASSIGN(field, parse_budget(raw.text));
  return {};
}

result<void> set_cadence(const Setting& s, const RawValue& raw, Cadence& field) {
  if (!is_one_of(raw.type, {Type::string})) {
    if (raw.type == Type::integer)
      return fail(Errc::invalid, fmt::format("must say of what, in quotes: \"{} steps\"", raw.text));
    return wrong_type("a cadence in quotes, such as \"50 steps\" or \"auto\"", raw);
  }
  TROUPE_ASSIGN(const auto value, parse_cadence(raw.text));
  const auto kind = value.kind == CadenceKind::automatic ? std::string_view("auto") : to_string(value.kind);
  if (std::find(s.choices.begin(), s.choices.end(), kind) == s.choices.end()) {
    constexpr std::string_view examples[] = {"auto", "never", "50 steps", "2 epochs", "30s"};
    std::vector<std::string_view> allowed;
    for (const auto& example : examples) {
      const auto k = parse_cadence(example)->kind;
      const auto name = k == CadenceKind::automatic ? std::string_view("auto") : to_string(k);
      if (std::find(s.choices.begin(), s.choices.end(), name) != s.choices.end())
        allowed.push_back(example);
    }
    return fail(Errc::invalid, fmt::format("must be like {}, got \"{}\"", quoted_list(allowed), raw.text));
  }
  field = value;
  return {};
}

} // namespace

const Setting* find_setting(std::string_view section, std::string_view key) {
  for (const auto& s : settings())
    if (s.section == section && s.key == key)
      return &s;
  return nullptr;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const auto& section : sections())
    names.emplace_back(section.name);
  names.emplace_back("trainer");
  return names;
}

std::vector<std::string> key_names(std::string_view section) {
  std::vector<std::string> names;
  for (const auto& s : settings())
    if (s.section == section)
      names.emplace_back(s.key);
  return names;
}

result<void> assign(const Setting& s, JobConfig& config, const RawValue& raw) {
  return std::visit(
    [&](auto* field) -> result<void> {
      using T = std::remove_pointer_t<decltype(field)>;
      if constexpr (std::is_same_v<T, std::string>) {
        if (s.kind == SettingKind::choice)
          TROUPE_TRY(check_choice(s, raw));
        if (!is_one_of(raw.type, {Type::string}))
          return wrong_type("a string in quotes", raw);
        if (s.required && raw.text.empty())
          return fail(Errc::invalid, "must not be empty");
        *field = raw.text;
      } else if constexpr (std::is_same_v<T, bool>) {
        if (!is_one_of(raw.type, {Type::boolean}) || (raw.text != "true" && raw.text != "false"))
          return wrong_type("true or false", raw);
        *field = raw.text == "true";
      } else if constexpr (std::is_integral_v<T>) {
        return set_count(s, raw, std::numeric_limits<T>::max(), *field);
      } else if constexpr (std::is_same_v<T, Duration>) {
        return set_duration(s, raw, *field);
      } else if constexpr (std::is_same_v<T, Cadence>) {
        return set_cadence(s, raw, *field);
      } else if constexpr (std::is_same_v<T, double>) {
        return set_number(s, raw, *field);
      } else if constexpr (std::is_same_v<T, FailureBudget>) {
        return set_budget(raw, *field);
      } else {
        TROUPE_TRY(check_choice(s, raw));
        set_enum(*field, raw.text);
      }
      return {};
    },
    s.slot(config));
}

std::string value_text(const Setting& s, const JobConfig& config) {
  auto copy = config; // slots point into a mutable one
  return std::visit(
    [](auto* field) -> std::string {
      using T = std::remove_pointer_t<decltype(field)>;
      if constexpr (std::is_same_v<T, std::string>) {
        return *field;
      } else if constexpr (std::is_same_v<T, bool>) {
        return *field ? "true" : "false";
      } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(*field);
      } else if constexpr (std::is_same_v<T, Duration>) {
        return format_duration(*field);
      } else if constexpr (std::is_same_v<T, Cadence>) {
        return format_cadence(*field);
      } else if constexpr (std::is_same_v<T, double>) {
        return fmt::format("{}", *field);
      } else if constexpr (std::is_same_v<T, FailureBudget>) {
        return format_budget(*field);
      } else {
        std::string name(to_string(*field));
        std::replace(name.begin(), name.end(), '_', '-');
        return name == "automatic" ? "auto" : name;
      }
    },
    s.slot(copy));
}

std::map<std::string, std::map<std::string, std::string>> config_values(const JobConfig& config) {
  std::map<std::string, std::map<std::string, std::string>> all;
  for (const auto& s : settings())
    all[std::string(s.section)][std::string(s.key)] = value_text(s, config);
  for (const auto& value : config.trainer)
    all["trainer"][value.key] = value.list.empty() ? value.value : fmt::format("[{}]", joined(value.list));
  return all;
}

std::uint64_t resume_hash(const JobConfig& config) {
  Hasher hasher;
  const auto add = [&](std::string_view text) {
    hasher.add(text.size());
    hasher.add(text);
  };
  for (const auto& s : settings())
    if (!s.resume) {
      add(s.section);
      add(s.key);
      add(value_text(s, config));
    }
  for (const auto& value : config.trainer) {
    add(value.key);
    add(to_string(value.kind));
    add(value.value);
    for (const auto& item : value.list)
      add(item);
  }
  return hasher.digest();
}

} // namespace troupe

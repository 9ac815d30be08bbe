#include "cli/values.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace troupe {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array duration_units = {
  Unit{"h", 3'600'000'000'000}, Unit{"m", 60'000'000'000}, Unit{"s", 1'000'000'000},
  Unit{"ms", 1'000'000},        Unit{"us", 1'000},         Unit{"ns", 1},
};
constexpr std::array size_units = {
  Unit{"GiB", 1ull << 30},
  Unit{"MiB", 1ull << 20},
  Unit{"KiB", 1ull << 10},
  Unit{"GB", 1'000'000'000},
  Unit{"MB", 1'000'000},
  Unit{"kB", 1'000},
  Unit{"B", 1},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Splits "1.5m" into number and unit.
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.'))
    ++end;
  return {text.substr(0, end), trimmed(text.substr(end))};
}

/// `number` (decimal, may have a fraction) times factor, exact when it fits.
result<std::uint64_t> scaled(std::string_view number, std::uint64_t factor, std::string_view whole) {
  const auto bad = [&] { return fail(Errc::invalid, fmt::format("'{}' is not a number", number)); };
  const auto dot = number.find('.');
  std::uint64_t integer = 0;
  const auto head = number.substr(0, dot);
  if (head.empty())
    return bad();
  if (auto [end, ec] = std::from_chars(head.data(), head.data() + head.size(), integer);
      ec != std::errc{} || end != head.data() + head.size())
    return bad();
  constexpr auto most = static_cast<std::uint64_t>(INT64_MAX);
  if (integer > most / factor)
    return fail(Errc::invalid, fmt::format("'{}' is too large", whole));
  std::uint64_t value = integer * factor;
  if (dot != std::string_view::npos) {
    const auto tail = number.substr(dot + 1);
    std::uint64_t fraction = 0;
    std::uint64_t scale = 1;
    if (tail.empty() || tail.size() > 9)
      return bad();
    for (char c : tail) {
      if (!is_digit(c))
        return bad();
      fraction = fraction * 10 + static_cast<std::uint64_t>(c - '0');
      scale *= 10;
    }
    // Whole units of at most an hour and nine digits: the product fits into 128 bits.
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(fraction) * factor;
    if (product % scale != 0)
      return fail(Errc::invalid, fmt::format("'{}' is finer than its unit can hold", whole));
    value += static_cast<std::uint64_t>(product / scale);
  }
  return value;
}

template <std::size_t N>
const Unit* find(const std::array<Unit, N>& units, std::string_view name) {
  for (const auto& unit : units)
    if (unit.name == name)
      return &unit;
  return nullptr;
}

template <std::size_t N>
std::string shortest(const std::array<Unit, N>& units, std::uint64_t value, std::string_view zero) {
  if (value == 0)
    return std::string(zero);
  for (const auto& unit : units)
    if (value % unit.factor == 0)
      return fmt::format("{}{}", value / unit.factor, unit.name);
  return fmt::format("{}", value);
}

} // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

result<std::uint64_t> parse_count(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] == '_' && between)
      continue;
    digits += text[i];
  }
  std::uint64_t value = 0;
  const auto* last = digits.data() + digits.size();
  auto [end, ec] = std::from_chars(digits.data(), last, value);
  if (digits.empty() || ec != std::errc{} || end != last || value > static_cast<std::uint64_t>(INT64_MAX))
    return fail(Errc::invalid, fmt::format("'{}' is not a whole number", text));
  return value;
}

result<Duration> parse_duration(std::string_view text) {
  const auto [number, name] = split_unit(trimmed(text));
  if (number == "0" && name.empty())
    return Duration{0};
  const auto* unit = find(duration_units, name);
  if (number.empty() || unit == nullptr)
    return fail(Errc::invalid,
                fmt::format("'{}' is not a duration such as \"30s\" (units ns, us, ms, s, m, h)", text));
  TROUPE_ASSIGN(const auto ns, scaled(number, unit->factor, text));
  return Duration{static_cast<std::int64_t>(ns)};
}

std::string format_duration(Duration d) {
  return shortest(duration_units, static_cast<std::uint64_t>(d.count()), "0s");
}

result<std::uint64_t> parse_size(std::string_view text) {
  const auto [number, name] = split_unit(trimmed(text));
  const auto* unit = find(size_units, name.empty() ? std::string_view("B") : name);
  if (number.empty() || unit == nullptr)
    return fail(Errc::invalid,
                fmt::format("'{}' is not a size such as \"64MiB\" (units B, KiB, MiB, GiB)", text));
  return scaled(number, unit->factor, text);
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array binary = {size_units[0], size_units[1], size_units[2], size_units[6]};
  return shortest(binary, bytes, "0B");
}

result<Cadence> parse_cadence(std::string_view text) {
  const auto word = trimmed(text);
  if (word == "auto")
    return Cadence{};
  if (word == "never")
    return Cadence{CadenceKind::never, 0, {}};
  const auto [number, name] = split_unit(word);
  const bool steps = name == "step" || name == "steps";
  const bool epochs = name == "epoch" || name == "epochs";
  if (!number.empty() && (steps || epochs)) {
    TROUPE_ASSIGN(const auto count, parse_count(number));
    if (count == 0)
      return fail(Errc::invalid,
                  fmt::format("'{}' must be at least 1; write \"never\" to switch it off", text));
    return Cadence{steps ? CadenceKind::steps : CadenceKind::epochs, count, {}};
  }
  auto every = parse_duration(word);
  if (!every)
    return fail(
      Errc::invalid,
      fmt::format("'{}' is not a cadence: \"auto\", \"never\", \"50 steps\", \"2 epochs\" or \"30s\"", text));
  if (*every == Duration{0})
    return fail(Errc::invalid, "a cadence must be longer than nothing; write \"never\" to switch it off");
  return Cadence{CadenceKind::time, 0, *every};
}

std::string format_cadence(const Cadence& c) {
  switch (c.kind) {
  case CadenceKind::automatic: return "auto";
  case CadenceKind::never: return "never";
  case CadenceKind::steps: return fmt::format("{} step{}", c.count, c.count == 1 ? "" : "s");
  case CadenceKind::epochs: return fmt::format("{} epoch{}", c.count, c.count == 1 ? "" : "s");
  case CadenceKind::time: return format_duration(c.every);
  }
  return "auto";
}

result<FailureBudget> parse_budget(std::string_view text) {
  constexpr std::string_view per = " per ";
  const auto at = text.find(per);
  const auto count = parse_count(trimmed(text.substr(0, at)));
  if (at == std::string_view::npos || !count || *count > UINT32_MAX)
    return fail(Errc::invalid, fmt::format("'{}' is not a budget such as \"3 per 60s\"", text));
  TROUPE_ASSIGN(const auto window, parse_duration(text.substr(at + per.size())));
  if (window < std::chrono::seconds(1))
    return fail(Errc::invalid,
                fmt::format("a budget's window must be at least 1s, got {}", format_duration(window)));
  return FailureBudget{static_cast<std::uint32_t>(*count), window};
}

std::string format_budget(const FailureBudget& b) {
  return fmt::format("{} per {}", b.restarts, format_duration(b.window));
}

std::string with_commas(std::uint64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

} // namespace troupe

#include "cli/toml_reader.hpp"

#include "cli/values.hpp"

#include <fmt/format.h>
#include <toml.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

namespace troupe {

namespace {

using Type = RawValue::Type;

bool is_key_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

/// Where `word` stands as a whole word in `line` before `end`; npos if it does not.
std::size_t find_word(std::string_view line, std::string_view word, std::size_t end) {
  std::size_t found = std::string_view::npos;
  for (auto at = line.find(word); at != std::string_view::npos && at < end; at = line.find(word, at + 1)) {
    const bool left = at == 0 || !is_key_char(line[at - 1]);
    const auto after = at + word.size();
    const bool right = after >= line.size() || !is_key_char(line[after]);
    if (left && right)
      found = at;
  }
  return found;
}

std::string_view last_part(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

class Reader {
public:
  Reader(const std::string& file, std::vector<TomlEntry>& out) : file_(file), out_(out) {}

  void read(const toml::value& root) {
    for (const auto& [name, value] : root.as_table()) {
      if (!value.is_table()) {
        add("", name, value, value_place(value));
        continue;
      }
      const auto section = named_place(value, name);
      if (value.as_table().empty())
        add(name, "", value, section);
      else
        table(name, "", value, section);
    }
    std::stable_sort(out_.begin(), out_.end(), [](const TomlEntry& a, const TomlEntry& b) {
      return std::pair(a.value_place.line, a.value_place.column) <
             std::pair(b.value_place.line, b.value_place.column);
    });
  }

private:
  Diagnostic value_place(const toml::value& v) const {
    const auto at = v.location();
    Diagnostic d;
    d.file = file_;
    d.line = at.line();
    d.source = at.line_str();
    if (!d.source.empty() && d.source.back() == '\r')
      d.source.pop_back();
    d.column = at.column() > 0 ? at.column() - 1 : 0;
    d.width = std::min<std::uint32_t>(
      at.region(), static_cast<std::uint32_t>(d.source.size()) -
                     std::min<std::uint32_t>(d.column, static_cast<std::uint32_t>(d.source.size())));
    return d;
  }

  Diagnostic named_place(const toml::value& v, std::string_view name) const {
    auto d = value_place(v);
    const auto end = v.is_table() ? d.source.size() : std::min<std::size_t>(d.column, d.source.size());
    if (const auto at = find_word(d.source, last_part(name), end); at != std::string_view::npos) {
      d.column = static_cast<std::uint32_t>(at);
      d.width = static_cast<std::uint32_t>(last_part(name).size());
    }
    return d;
  }

  void table(const std::string& section, const std::string& prefix, const toml::value& v,
             const Diagnostic& place) {
    for (const auto& [name, value] : v.as_table()) {
      const auto key = prefix.empty() ? name : prefix + "." + name;
      if (value.is_table() && section == "trainer")
        table(section, key, value, place);
      else
        add(section, key, value, place);
    }
  }

  void add(const std::string& section, const std::string& key, const toml::value& v,
           const Diagnostic& place) {
    TomlEntry entry;
    entry.section = section;
    entry.key = key;
    entry.section_place = place;
    entry.key_place = named_place(v, key);
    entry.value_place = value_place(v);
    entry.raw = raw_of(v);
    entry.trainer.key = key;
    trainer_value(v, entry);
    out_.push_back(std::move(entry));
  }

  /// Literal text of a number, since the library cuts off what does not fit.
  static std::string literal(const toml::value& v) {
    const auto at = v.location();
    std::string digits;
    for (char c :
         at.line_str().substr(std::min<std::size_t>(at.column() - 1, at.line_str().size()), at.region()))
      if (c != '_' && c != '+')
        digits += c;
    return digits;
  }

  static std::string integer_text(const toml::value& v) {
    const auto digits = literal(v);
    const bool decimal = !digits.empty() && digits.find_first_not_of("-0123456789") == std::string::npos;
    return decimal ? digits : std::to_string(v.as_integer());
  }

  static RawValue raw_of(const toml::value& v) {
    switch (v.type()) {
    case toml::value_t::boolean: return {Type::boolean, v.as_boolean() ? "true" : "false"};
    case toml::value_t::integer: return {Type::integer, integer_text(v)};
    case toml::value_t::floating: return {Type::number, fmt::format("{}", v.as_floating())};
    case toml::value_t::string: return {Type::string, v.as_string().str};
    case toml::value_t::array: return {Type::array, "a list"};
    case toml::value_t::table: return {Type::table, "a table"};
    default: return {Type::date, literal(v)};
    }
  }

  static bool fits(const std::string& integer) {
    std::int64_t value = 0;
    const auto* last = integer.data() + integer.size();
    const auto [end, ec] = std::from_chars(integer.data(), last, value);
    return ec == std::errc{} && end == last;
  }

  static void trainer_value(const toml::value& v, TomlEntry& entry) {
    auto& t = entry.trainer;
    const auto& raw = entry.raw;
    switch (raw.type) {
    case Type::boolean: t.kind = TrainerValueKind::boolean; break;
    case Type::integer:
      t.kind = TrainerValueKind::integer;
      if (!fits(raw.text))
        entry.trainer_error = "does not fit into 64 bits";
      break;
    case Type::number:
      t.kind = TrainerValueKind::number;
      if (!std::isfinite(v.as_floating()))
        entry.trainer_error = "must be a finite number";
      break;
    case Type::string: t.kind = TrainerValueKind::text; break;
    case Type::array: trainer_list(v, entry); return;
    default:
      entry.trainer_error =
        "must be a number, a boolean, a string or a list of them; write a date as a string";
      return;
    }
    t.value = raw.text;
  }

  static void trainer_list(const toml::value& v, TomlEntry& entry) {
    bool integers = true, numbers = true, texts = true;
    for (const auto& item : v.as_array()) {
      const auto raw = raw_of(item);
      integers = integers && raw.type == Type::integer && fits(raw.text);
      numbers = numbers && (raw.type == Type::integer || raw.type == Type::number);
      texts = texts && raw.type == Type::string;
      entry.trainer.list.push_back(raw.text);
    }
    using Kind = TrainerValueKind;
    entry.trainer.kind = integers ? Kind::integers : numbers ? Kind::numbers : Kind::texts;
    if (!integers && !numbers && !texts)
      entry.trainer_error = "must be a list of numbers or a list of strings";
  }

  const std::string& file_;
  std::vector<TomlEntry>& out_;
};

/// The library's message and mark, taken out of its own rendering.
Diagnostic syntax_error(const toml::exception& e, const std::string& file) {
  Diagnostic d;
  d.file = file;
  d.line = e.location().line();
  d.source = e.location().line_str();
  std::istringstream lines(e.what());
  std::string line;
  std::getline(lines, line);
  for (std::string_view prefix : {"[error] ", "toml::", "parse_", "insert_"})
    if (line.starts_with(prefix))
      line.erase(0, prefix == "parse_" || prefix == "insert_" ? line.find(": ") + 2 : prefix.size());
  d.message = fmt::format("not valid TOML: {}", line);
  while (std::getline(lines, line)) {
    const auto bar = line.find(" | ");
    const auto mark = line.find_first_of("^~", bar == std::string::npos ? 0 : bar);
    if (bar == std::string::npos || line.find_first_not_of(' ', bar + 3) != mark || mark == std::string::npos)
      continue;
    d.column = static_cast<std::uint32_t>(mark - bar - 3);
    const auto end = line.find_first_not_of("^~", mark);
    d.width = static_cast<std::uint32_t>((end == std::string::npos ? line.size() : end) - mark);
    const auto words = line.find_first_not_of("^~- ", mark);
    d.hint = words == std::string::npos || line.substr(words) == "here" ? "" : line.substr(words);
  }
  return d;
}

} // namespace

tl::expected<std::vector<TomlEntry>, Diagnostic> read_toml(std::string_view text, const std::string& file) {
  std::vector<TomlEntry> entries;
  try {
    std::istringstream in{std::string(text)};
    const auto root = toml::parse(in, file);
    Reader(file, entries).read(root);
  } catch (const toml::exception& e) {
    return tl::make_unexpected(syntax_error(e, file));
  } catch (const std::exception& e) {
    Diagnostic d;
    d.file = file;
    d.message = fmt::format("not valid TOML: {}", e.what());
    return tl::make_unexpected(std::move(d));
  }
  return entries;
}

tl::expected<TomlEntry, Diagnostic> read_override(const std::string& text) {
  Diagnostic place;
  place.file = "--set";
  place.source = text;
  const auto equals = text.find('=');
  const auto dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals || dot == 0 ||
      dot + 1 == equals) {
    place.message = "must be section.key=value";
    place.width = static_cast<std::uint32_t>(std::min(equals, text.size()));
    place.hint = "for example workers.start=4";
    return tl::make_unexpected(std::move(place));
  }
  const auto key = std::string(trimmed(std::string_view(text).substr(dot + 1, equals - dot - 1)));
  const auto value = std::string(trimmed(std::string_view(text).substr(equals + 1)));
  TomlEntry entry;
  // As TOML first, for its types; what is not TOML is a bare string.
  if (auto as_toml = read_toml("[x]\nx = " + value + "\n", "--set"); as_toml && as_toml->size() == 1) {
    entry = std::move(as_toml->front());
    if (entry.raw.type == Type::integer || entry.raw.type == Type::number || entry.raw.type == Type::date)
      entry.raw = {Type::untyped, value};
  } else {
    entry.raw = {Type::untyped, value};
    entry.trainer.kind = TrainerValueKind::text;
    entry.trainer.value = value;
  }
  if (entry.raw.type == Type::string || entry.raw.type == Type::boolean)
    entry.raw.type = Type::untyped;
  entry.section = std::string(trimmed(std::string_view(text).substr(0, dot)));
  entry.key = key;
  entry.trainer.key = key;
  place.column = 0;
  place.width = static_cast<std::uint32_t>(dot);
  entry.section_place = place;
  place.column = static_cast<std::uint32_t>(dot + 1);
  place.width = static_cast<std::uint32_t>(equals - dot - 1);
  entry.key_place = place;
  place.column = static_cast<std::uint32_t>(equals + 1);
  place.width = static_cast<std::uint32_t>(std::max<std::size_t>(text.size() - equals - 1, 1));
  entry.value_place = place;
  return entry;
}

} // namespace troupe

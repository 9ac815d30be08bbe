#include "base/reflect_text.hpp"

#include <cctype>

namespace troupe::text {

namespace {

template <class T>
void append_number(std::string& out, T value) {
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '+' || c == '.';
}

} // namespace

void number(std::string& out, std::int64_t value) { append_number(out, value); }
void number(std::string& out, std::uint64_t value) { append_number(out, value); }
void number(std::string& out, double value) { append_number(out, value); }

void quote(std::string& out, std::string_view value) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void Input::skip_space() {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n'))
    rest.remove_prefix(1);
}

bool Input::take(char c) {
  skip_space();
  if (rest.empty() || rest.front() != c)
    return false;
  rest.remove_prefix(1);
  return true;
}

bool Input::expect(char c) {
  if (!take(c))
    ok = false;
  return ok;
}

std::string_view Input::word() {
  skip_space();
  std::size_t n = 0;
  while (n < rest.size() && is_word(rest[n]))
    ++n;
  std::string_view found = rest.substr(0, n);
  rest.remove_prefix(n);
  if (n == 0)
    ok = false;
  return found;
}

std::string Input::quoted() {
  std::string out;
  if (!expect('"'))
    return out;
  while (!rest.empty() && rest.front() != '"') {
    char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\') {
      out += c;
      continue;
    }
    if (rest.empty())
      break;
    char escaped = rest.front();
    rest.remove_prefix(1);
    if (escaped == 'x' && rest.size() >= 2 && hex_digit(rest[0]) >= 0 && hex_digit(rest[1]) >= 0) {
      out += static_cast<char>(hex_digit(rest[0]) * 16 + hex_digit(rest[1]));
      rest.remove_prefix(2);
    } else {
      out += escaped == 'n' ? '\n' : escaped;
    }
  }
  expect('"');
  return out;
}

void Input::skip_value() {
  int depth = 0;
  do {
    skip_space();
    if (rest.empty() || !ok) {
      ok = false;
      return;
    }
    char c = rest.front();
    if (c == '"') {
      quoted();
    } else if (is_word(c)) {
      word();
      skip_space();
      if (!rest.empty() && rest.front() == '{') // a variant: tag{...}
        continue;
    } else {
      rest.remove_prefix(1);
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    }
  } while (depth > 0 || (!rest.empty() && rest.front() == '{'));
}

} // namespace troupe::text

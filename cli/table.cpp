#include "cli/table.hpp"

#include "base/assert.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

} // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm')
        ++i;
      continue;
    }
    width += continues(text[i]) ? 0 : 1;
  }
  return width;
}

std::string clipped(std::string_view text, std::size_t width) {
  if (display_width(text) <= width)
    return std::string(text);
  std::size_t shown = 0;
  std::size_t end = 0;
  while (end < text.size() && (shown + 1 < width || continues(text[end]))) {
    shown += continues(text[end]) ? 0 : 1;
    ++end;
  }
  while (end < text.size() && continues(text[end]))
    ++end;
  return std::string(text.substr(0, end)).append(width > 0 ? "…" : "");
}

void TextTable::row(std::vector<std::string> cells) {
  TROUPE_ASSERT(cells.size() == columns_.size(), "a table row needs one cell per column");
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(display_width(columns_[c].name));
    for (const auto& row : rows_)
      widths[c] = std::max(widths[c], display_width(row[c]));
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& cell = cell_of(c);
      const std::string fill(widths[c] - display_width(cell), ' ');
      text.append(c > 0 ? "  " : "");
      columns_[c].align == Align::right ? text.append(fill).append(cell) : text.append(cell).append(fill);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out.append(text).append("\n");
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].name; });
  for (const auto& row : rows_)
    line([&](std::size_t c) -> const std::string& { return row[c]; });
  return out;
}

} // namespace troupe

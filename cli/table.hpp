// Aligned columns of text for screens and benches. Widths count characters as a terminal shows them (UTF-8,
// one column each), not bytes. Plain value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Columns that `text` takes on a terminal; escape sequences take none.
std::size_t display_width(std::string_view text);
/// At most `width` columns of it; what is cut is shown as "…".
std::string clipped(std::string_view text, std::size_t width);

class TextTable {
public:
  enum class Align : unsigned char { left, right };
  struct Column {
    std::string name;
    Align align = Align::left;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column.
  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Header and rows, each indented by `indent` and ended by a newline; no blanks at line ends.
  std::string text(std::size_t indent = 0) const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace troupe

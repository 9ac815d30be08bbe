// Reads CSV, plain or gzip. gzread does both; its stream is cut into lines of bounded length here.
#include "data/dataset.hpp"

#include "base/assert.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

namespace troupe::data {

namespace {

constexpr std::size_t max_line_bytes = 4 << 20;
constexpr std::size_t max_columns = 1 << 20;

struct CloseGz {
  void operator()(gzFile file) const { ::gzclose(file); }
};

/// Lines of a plain or compressed file, without their ends; "\r\n" counts as one end.
class Lines {
public:
  static result<Lines> open(const std::string& path) {
    Lines lines(path);
    errno = 0;
    lines.file_.reset(::gzopen(path.c_str(), "rbe"));
    if (!lines.file_)
      return fail_errno(Errc::invalid, "data file " + path, errno != 0 ? errno : ENOMEM);
    ::gzbuffer(lines.file_.get(), 1 << 17);
    return lines;
  }

  /// False at the end of the file.
  result<bool> next(std::string_view& line) {
    ++number_;
    line_.clear();
    for (;;) {
      const auto* start = buffer_.data() + at_;
      const auto* end = static_cast<const char*>(std::memchr(start, '\n', filled_ - at_));
      const auto count = (end != nullptr ? static_cast<std::size_t>(end - start) : filled_ - at_);
      if (line_.size() + count > max_line_bytes)
        return fail(Errc::invalid, here(1) + "line longer than 4 MiB");
      line_.append(start, count);
      at_ += count;
      if (end != nullptr) {
        ++at_;
        break;
      }
      TROUPE_ASSIGN(const bool more, fill());
      if (!more) {
        if (line_.empty())
          return false;
        break;
      }
    }
    if (!line_.empty() && line_.back() == '\r')
      line_.pop_back();
    line = line_;
    return true;
  }

  std::uint64_t number() const { return number_; }
  /// "digits.csv.gz:12:3: "
  std::string here(std::size_t column) const {
    return path_ + ':' + std::to_string(number_) + ':' + std::to_string(column) + ": ";
  }

private:
  explicit Lines(std::string path) : path_(std::move(path)), buffer_(1 << 16, '\0') {}

  result<bool> fill() {
    errno = 0;
    const int n = ::gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    const char* text = ::gzerror(file_.get(), &code);
    if (n < 0 || (n == 0 && code != Z_OK && code != Z_STREAM_END))
      return code == Z_ERRNO ? tl::unexpected<Error>(fail_errno(Errc::invalid, here(1) + "read", errno))
                             : fail(Errc::invalid, here(1) + "damaged or cut short: " + text);
    filled_ = static_cast<std::size_t>(n);
    at_ = 0;
    return n > 0;
  }

  std::string path_;
  std::unique_ptr<gzFile_s, CloseGz> file_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::string line_;
  std::uint64_t number_ = 0;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

bool parse_number(std::string_view text, double& value) {
  if (!text.empty() && text.front() == '+')
    text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// Straight into the bytes of the fields: a data set is in memory once.
struct Table {
  std::vector<std::byte> features; // f32
  std::vector<std::byte> labels;   // i32
  std::size_t columns = 0; // in the file, label included
  std::uint64_t rows = 0;
};

// Stores the value of one cell; false when it is out of range.
bool put_label(std::byte* to, double value) {
  if (value != std::floor(value) || std::abs(value) > std::numeric_limits<std::int32_t>::max())
    return false;
  const auto label = static_cast<std::int32_t>(value);
  std::memcpy(to, &label, sizeof label);
  return true;
}

bool put_feature(std::byte* to, double value) {
  const auto feature = static_cast<float>(value);
  std::memcpy(to, &feature, sizeof feature);
  return std::isfinite(feature);
}

// Most cells are short whole numbers: reading them here is several times faster than the general way. Returns the end
// of the cell, or nullptr when it is anything else.
const char* short_number(const char* at, const char* end, double& value) {
  const char* const first = at;
  std::uint32_t number = 0;
  while (at != end && static_cast<unsigned char>(*at - '0') < 10)
    number = number * 10 + static_cast<std::uint32_t>(*at++ - '0');
  if (at == first || at - first > 9 || (at != end && *at != ','))
    return nullptr;
  value = number;
  return at;
}

std::size_t count_cells(std::string_view line) {
  std::size_t cells = 1;
  for (const char c : line)
    cells += c == ',';
  return cells;
}

bool is_header(std::string_view line) {
  for (std::size_t begin = 0; begin <= line.size();) {
    const auto end = std::min(line.find(',', begin), line.size());
    double ignored = 0;
    if (parse_number(trim(line.substr(begin, end - begin)), ignored))
      return false;
    begin = end + 1;
  }
  return true;
}

result<void> add_line(Table& table, const Lines& lines, std::string_view line, const CsvOptions& options) {
  const auto cells = count_cells(line);
  if (table.columns == 0) {
    if (cells > max_columns)
      return fail(Errc::invalid, lines.here(1) + "more than 1048576 columns");
    if (cells < (options.label == LabelColumn::none ? 1u : 2u))
      return fail(Errc::invalid, lines.here(1) + "needs at least one feature beside the label");
    table.columns = cells;
  }
  if (cells != table.columns)
    return fail(Errc::invalid, lines.here(1) + std::to_string(cells) + " columns, the first row has " +
                                 std::to_string(table.columns));
  const auto label = options.label == LabelColumn::none ? 0 : options.label == LabelColumn::first ? 1 : cells;
  const auto features = table.features.size();
  table.features.resize(features + (cells - (label != 0)) * sizeof(float));
  table.labels.resize(table.labels.size() + (label != 0) * sizeof(std::int32_t));
  auto* next_feature = table.features.data() + features;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t column = 1; column <= cells; ++column) {
    double value = 0;
    const char* cell_end = short_number(at, end, value);
    if (cell_end == nullptr) {
      cell_end = std::find(at, end, ',');
      const auto cell = trim({at, static_cast<std::size_t>(cell_end - at)});
      if (!parse_number(cell, value))
        return fail(Errc::invalid, lines.here(column) + "not a number: \"" + std::string(cell.substr(0, 40)) + '"');
    }
    if (column == label) {
      if (!put_label(table.labels.data() + table.labels.size() - sizeof(std::int32_t), value))
        return fail(Errc::invalid, lines.here(column) + "the label is not a whole number of 32 bits");
    } else {
      if (!put_feature(next_feature, value * options.scale))
        return fail(Errc::invalid, lines.here(column) + "not a finite number in 32 bits");
      next_feature += sizeof(float);
    }
    at = cell_end + 1;
  }
  ++table.rows;
  return {};
}

} // namespace

result<LabelColumn> parse_label_column(std::string_view text) {
  if (text == "none")
    return LabelColumn::none;
  if (text == "first")
    return LabelColumn::first;
  if (text == "last")
    return LabelColumn::last;
  return fail(Errc::invalid,
              "unknown label column \"" + std::string(text) + "\"; known are \"none\", \"first\", \"last\"");
}

result<Dataset> read_csv(const std::string& path, const CsvOptions& options) {
  TROUPE_ASSIGN(auto lines, Lines::open(path));
  Table table;
  std::string_view line;
  bool empty_line = false;
  for (;;) {
    TROUPE_ASSIGN(const bool more, lines.next(line));
    if (!more)
      break;
    if (lines.number() == 1 && is_header(line) && !trim(line).empty())
      continue;
    if (empty_line)
      return fail(Errc::invalid, path + ':' + std::to_string(lines.number() - 1) + ":1: empty line");
    empty_line = trim(line).empty();
    if (empty_line)
      continue;
    TROUPE_TRY(add_line(table, lines, line, options));
    if (table.features.size() + table.labels.size() > options.max_bytes)
      return fail(Errc::exhausted, lines.here(1) + "the data set is larger than the limit of " +
                                     std::to_string(options.max_bytes) + " bytes");
  }
  if (table.rows == 0)
    return fail(Errc::invalid, path + ": no rows");
  const bool labelled = options.label != LabelColumn::none;
  const auto columns = static_cast<std::int64_t>(table.columns) - (labelled ? 1 : 0);
  std::vector<Field> fields;
  fields.push_back({"features", DType::f32, {columns}, std::move(table.features)});
  if (labelled)
    fields.push_back({"label", DType::i32, {}, std::move(table.labels)});
  return Dataset(table.rows, std::move(fields));
}

} // namespace troupe::data

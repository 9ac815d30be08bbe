// A data set in memory: named fields with one entry per row, read once at the start and then only read. Errors of a
// reader name file, line and column. Memory is bounded by Limits::bytes. Immutable after reading, so any thread.
#pragma once

#include "base/errors.hpp"
#include "troupe/dtype.hpp"
#include "troupe/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::data {

struct Field {
  std::string name;
  DType dtype = DType::f32;               ///< f32 or i32
  std::vector<std::int64_t> sample_shape; ///< of one row; {} is a scalar
  std::vector<std::byte> bytes;           ///< [rows, sample_shape...] row-major

  std::size_t sample_elements() const;
  std::size_t sample_bytes() const { return sample_elements() * element_size(dtype); }
};

class Dataset {
public:
  Dataset() = default;
  /// Asserts that every field has `rows` entries and that names differ.
  Dataset(std::uint64_t rows, std::vector<Field> fields);

  std::uint64_t rows() const { return rows_; }
  const std::vector<Field>& fields() const { return fields_; }
  const Field* find(std::string_view name) const; ///< nullptr when there is none
  /// Bytes of all fields of one row.
  std::size_t sample_bytes() const;
  /// XXH3 over names, dtypes, shapes and bytes: equal on every host that reads the same data the same way.
  std::uint64_t hash() const { return hash_; }
  /// The rows listed, in that order.
  Dataset select(std::span<const SampleId> rows) const;

private:
  std::uint64_t rows_ = 0;
  std::vector<Field> fields_;
  std::uint64_t hash_ = 0;
};

enum class LabelColumn : std::uint8_t { none, first, last };
result<LabelColumn> parse_label_column(std::string_view text);

struct CsvOptions {
  LabelColumn label = LabelColumn::last;
  double scale = 1;                       ///< features are multiplied by it
  std::uint64_t max_bytes = 8ULL << 30;   ///< of the fields in memory
};

/// Rows of comma separated numbers, the same count in each; plain, or gzip when the content says so. Fields:
/// "features" f32 [rows, columns], and "label" i32 [rows] unless label is none. An empty last line and one header
/// line of words are skipped.
result<Dataset> read_csv(const std::string& path, const CsvOptions& options);

enum class Part : std::uint8_t { all, train, test };
result<Part> parse_part(std::string_view text);

struct SplitOptions {
  Part part = Part::all;
  std::uint64_t test = 0;   ///< rows of the test part
  std::uint64_t seed = 1;
};

/// Rows of one part, ascending. Exactly `test` rows are test rows, shared out over the labels by largest remainder
/// (ties to the lower label) and drawn within a label by a permutation keyed by (seed, label). Without a field
/// "label" all rows count as one label.
result<std::vector<SampleId>> split_rows(const Dataset& dataset, const SplitOptions& options);
result<Dataset> split(const Dataset& dataset, const SplitOptions& options);

} // namespace troupe::data

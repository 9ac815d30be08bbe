#include "data/dataset.hpp"
#include "data/sample_order.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <map>

namespace troupe::data {

namespace {

struct Class {
  std::int64_t label = 0;
  std::vector<SampleId> rows;
  std::uint64_t test = 0;
  std::uint64_t remainder = 0;
};

std::vector<Class> by_label(const Dataset& dataset) {
  std::map<std::int64_t, Class> classes;
  const auto* label = dataset.find("label");
  const bool labelled = label != nullptr && label->dtype == DType::i32 && label->sample_elements() == 1;
  const auto* values = labelled ? reinterpret_cast<const std::int32_t*>(label->bytes.data()) : nullptr;
  for (SampleId row = 0; row < dataset.rows(); ++row) {
    const std::int64_t key = labelled ? values[row] : 0;
    auto& found = classes[key];
    found.label = key;
    found.rows.push_back(row);
  }
  std::vector<Class> list;
  for (auto& [key, found] : classes)
    list.push_back(std::move(found));
  return list;
}

// Largest remainder (Hamilton): everybody gets the floor of its exact share, the rest go to the largest remainders.
void share_out(std::vector<Class>& classes, std::uint64_t test, std::uint64_t rows) {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t given = 0;
  for (auto& c : classes) {
    const auto exact = static_cast<Wide>(c.rows.size()) * test;
    c.test = static_cast<std::uint64_t>(exact / rows);
    c.remainder = static_cast<std::uint64_t>(exact % rows);
    given += c.test;
  }
  std::vector<Class*> order;
  for (auto& c : classes)
    order.push_back(&c);
  std::stable_sort(order.begin(), order.end(),
                   [](const Class* a, const Class* b) { return a->remainder > b->remainder; });
  for (std::size_t i = 0; given < test; ++i, ++given)
    ++order[i]->test;
}

} // namespace

result<Part> parse_part(std::string_view text) {
  if (text == "all")
    return Part::all;
  if (text == "train")
    return Part::train;
  if (text == "test")
    return Part::test;
  return fail(Errc::invalid, "unknown part \"" + std::string(text) + "\"; known are \"all\", \"train\", \"test\"");
}

result<std::vector<SampleId>> split_rows(const Dataset& dataset, const SplitOptions& options) {
  std::vector<SampleId> chosen;
  if (options.part == Part::all) {
    for (SampleId row = 0; row < dataset.rows(); ++row)
      chosen.push_back(row);
    return chosen;
  }
  if (options.test >= dataset.rows())
    return fail(Errc::invalid, "split: " + std::to_string(options.test) + " test rows asked for, the data set has " +
                                 std::to_string(dataset.rows()) + " in all");
  auto classes = by_label(dataset);
  share_out(classes, options.test, dataset.rows());
  for (const auto& c : classes) {
    // A stream of its own per label, so that a label's choice does not depend on the other labels.
    const auto label = static_cast<std::uint64_t>(c.label);
    const auto key = options.seed ^ checksum(&label, sizeof label);
    std::vector<SampleId> order(c.rows.size());
    SampleOrder(OrderKind::permuted, c.rows.size(), key).fill(0, order);
    for (std::uint64_t i = 0; i < c.rows.size(); ++i)
      if ((i < c.test) == (options.part == Part::test))
        chosen.push_back(c.rows[order[i]]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

result<Dataset> split(const Dataset& dataset, const SplitOptions& options) {
  TROUPE_ASSIGN(auto rows, split_rows(dataset, options));
  if (options.part == Part::all)
    return dataset;
  return dataset.select(rows);
}

} // namespace troupe::data

#include "actors/trainer/step_views.hpp"

#include "actors/trainer/nearest.hpp"
#include "base/checksum.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace troupe {

namespace {

constexpr std::size_t norm_block = 4096;
constexpr std::size_t norm_lanes = 8;

template <class Parts>
[[noreturn]] void throw_unknown(std::string_view kind, std::string_view name, const Parts& parts) {
  std::vector<std::string_view> names;
  for (const auto& part : parts)
    names.push_back(part.name);
  throw std::out_of_range(no_such_name(kind, name, names));
}

double block_sum_of_squares(const float* x, std::size_t n) {
  double lane[norm_lanes] = {};
  std::size_t i = 0;
  for (; i + norm_lanes <= n; i += norm_lanes)
    for (std::size_t j = 0; j < norm_lanes; ++j)
      lane[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  for (std::size_t j = 0; i < n; ++i, ++j)
    lane[j] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return tree_sum(lane);
}

} // namespace

const LeafPart& StepGradients::part(std::string_view name, bool statistic) const {
  const auto& index = statistic ? model_->statistic_index() : model_->gradient_index();
  const auto& parts = statistic ? model_->statistics() : model_->gradients();
  if (auto found = index.find(name); found != index.end())
    return parts[found->second];
  throw_unknown(statistic ? "statistic" : "parameter", name, parts);
}

Tensor StepGradients::view(const LeafPart& part) const {
  return Tensor(&part.name, DType::f32, &part.shape, reinterpret_cast<std::byte*>(leaf_ + part.offset));
}

Tensor StepGradients::of(std::string_view parameter) {
  return view(part(parameter, false));
}

ConstTensor StepGradients::of(std::string_view parameter) const {
  return view(part(parameter, false));
}

Tensor StepGradients::stat(std::string_view name) {
  return view(part(name, true));
}

ConstTensor StepGradients::stat(std::string_view name) const {
  return view(part(name, true));
}

Tensor StepGradients::virtual_state(std::string_view name) {
  if (!next_virtual_)
    throw std::logic_error("virtual_state() belongs to gradient(): the mean has none");
  for (const auto& part : model_->virtual_parts())
    if (part.entry->name == name)
      return Tensor(&part.entry->name, part.entry->dtype, &part.entry->item_shape,
                    next_virtual_ + part.offset);
  std::vector<std::string_view> names;
  for (const auto& part : model_->virtual_parts())
    names.push_back(part.entry->name);
  throw std::out_of_range(no_such_name("virtual_state", name, names));
}

void StepGradients::ready(std::string_view parameter) {
  part(parameter, false); // overlap comes with buckets; the name is checked from the first day
}

StepBatch::StepBatch(const data::Dataset& dataset, std::uint64_t seed, std::uint64_t capacity)
    : dataset_(&dataset), seed_(seed), buffer_(dataset, capacity) {
  for (const auto& field : dataset.fields()) {
    Shape shape{0};
    shape.insert(shape.end(), field.sample_shape.begin(), field.sample_shape.end());
    shapes_.push_back(std::move(shape));
  }
}

void StepBatch::point(Step step, std::uint64_t epoch, std::uint32_t phase, std::uint32_t virtual_worker,
                      bool evaluation) {
  step_ = step;
  epoch_ = epoch;
  phase_ = phase;
  virtual_worker_ = virtual_worker;
  evaluation_ = evaluation;
  for (auto& shape : shapes_)
    shape[0] = static_cast<std::int64_t>(buffer_.size());
}

ConstTensor StepBatch::field(std::string_view name) const {
  const auto& fields = dataset_->fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == name)
      return ConstTensor(&fields[i].name, fields[i].dtype, &shapes_[i], buffer_.field(i).data());
  throw_unknown("field", name, fields);
}

Random StepBatch::random() const {
  return Random(seed_, evaluation_ ? "evaluate" : "gradient", {step_.value, virtual_worker_, phase_});
}

void* StepBatch::stream() const {
  throw NotYet("Batch::stream(): devices are not there yet");
}

double tree_sum(std::span<double> values) {
  if (values.empty())
    return 0;
  for (std::size_t width = 1; width < values.size(); width *= 2)
    for (std::size_t i = 0; i + width < values.size(); i += 2 * width)
      values[i] += values[i + width];
  return values[0];
}

double sum_of_squares(std::span<const float> values) {
  const auto blocks = (values.size() + norm_block - 1) / norm_block;
  // The tree over blocks without an array of them: a stack of finished subtrees, one per level.
  double level[48];
  std::uint64_t filled = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    double sum = block_sum_of_squares(values.data() + b * norm_block,
                                      std::min(norm_block, values.size() - b * norm_block));
    unsigned l = 0;
    for (; filled >> l & 1; ++l)
      sum = level[l] + sum;
    level[l] = sum;
    filled = b + 1;
  }
  double total = 0;
  bool any = false;
  for (unsigned l = 0; l < 48; ++l)
    if (filled >> l & 1) {
      total = any ? level[l] + total : level[l];
      any = true;
    }
  return total;
}

void StepFactsView::point(const StepFacts& facts, std::span<const float> mean) {
  facts_ = facts;
  mean_ = mean;
  norm_.reset();
}

double StepFactsView::global_norm() const {
  if (!norm_)
    norm_ = std::sqrt(sum_of_squares(mean_));
  return *norm_;
}

Random StepFactsView::random(std::string_view tensor) const {
  return Random(seed_, "update", {facts_.step.value, checksum(tensor.data(), tensor.size()), facts_.phase});
}

} // namespace troupe

#include "actors/trainer/model_state.hpp"

#include "actors/trainer/nearest.hpp"
#include "base/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace troupe {

namespace {

constexpr std::size_t floats_per_line = 16;
constexpr std::size_t most_bytes = std::size_t{1} << 46;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::string_view kind_name(StateKind kind) {
  constexpr std::string_view names[] = {"parameter", "buffer", "scalar", "virtual_state"};
  return names[static_cast<unsigned>(kind)];
}

template <class Names>
[[noreturn]] void throw_unknown(std::string_view kind, std::string_view name, const Names& parts) {
  std::vector<std::string_view> names;
  for (const auto& part : parts)
    names.push_back(part->name);
  throw std::out_of_range(no_such_name(kind, name, names));
}

} // namespace

StateMemory::StateMemory(std::size_t bytes)
    : data_(
        static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 64), std::align_val_t{64}))) {
  std::memset(data_.get(), 0, bytes);
}

void StateMemory::Free::operator()(std::byte* p) const {
  ::operator delete[](p, std::align_val_t{64});
}

ModelState::ModelState(std::uint64_t seed, std::uint32_t virtual_workers)
    : seed_(seed), virtual_workers_(virtual_workers) {}

void ModelState::check_name(const std::string& name, const Shape& shape) const {
  if (closed_)
    throw std::logic_error(
      fmt::format("'{}' is registered after build() ended: state is registered in build only", name));
  if (name.empty())
    throw std::invalid_argument("a tensor needs a name");
  if (name.size() > 200)
    throw std::invalid_argument(fmt::format("name '{}…' is longer than 200 bytes", name.substr(0, 60)));
  if (name.starts_with("troupe/"))
    throw std::invalid_argument(
      fmt::format("'{}': names that start with 'troupe/' belong to the runtime", name));
  for (unsigned char c : name)
    if (c < 0x20 || c == 0x7f)
      throw std::invalid_argument(fmt::format("'{}' has a control character in it", name));
  if (index_.contains(name) || statistic_index_.contains(name))
    throw std::invalid_argument(fmt::format("'{}' is registered twice", name));
  if (shape.size() > 7)
    throw std::invalid_argument(
      fmt::format("'{}' has {} dimensions, at most 7 are possible", name, shape.size()));
  std::size_t bytes = 8;
  for (auto size : shape) {
    if (size < 0)
      throw std::invalid_argument(fmt::format("'{}' has a negative size, {}", name, size));
    if (size > 0 && bytes > most_bytes / static_cast<std::size_t>(size))
      throw std::invalid_argument(fmt::format("'{}' is too large", name));
    bytes *= std::max<std::size_t>(1, static_cast<std::size_t>(size));
  }
}

StateEntry& ModelState::add(std::string name, StateKind kind, DType dtype, Shape item_shape, Place place) {
  check_name(name, item_shape);
  if (place != Place::host)
    throw NotYet(
      fmt::format("{} '{}': state on a device is not there yet, use Place::host", kind_name(kind), name));
  if (dtype == DType::f16 || dtype == DType::bf16)
    throw NotYet(
      fmt::format("{} '{}': {} state is not there yet, use f32", kind_name(kind), name, to_string(dtype)));
  if (kind == StateKind::parameter && dtype != DType::f32 && dtype != DType::f64)
    throw NotYet(
      fmt::format("parameter '{}': parameters of {} are not there yet, use f32", name, to_string(dtype)));
  auto shape = item_shape;
  if (kind == StateKind::virtual_state)
    shape.insert(shape.begin(), virtual_workers_);
  const auto item_bytes = element_count(item_shape) * size_of(dtype);
  const auto bytes = element_count(shape) * size_of(dtype);
  auto entry = std::unique_ptr<StateEntry>(new StateEntry{
    std::move(name), kind, dtype, std::move(shape), std::move(item_shape), StateMemory(bytes), item_bytes});
  entry->tensor = Tensor(&entry->name, dtype, &entry->shape, entry->memory.data());
  index_.emplace(entry->name, entries_.size());
  entries_.push_back(std::move(entry));
  return *entries_.back();
}

void ModelState::initialise(StateEntry& entry, const Initialiser& init) {
  if (!init)
    return;
  const auto key = checksum(entry.name.data(), entry.name.size());
  if (entry.kind != StateKind::virtual_state) {
    Random random(seed_, "build", {key});
    init(entry.tensor, random);
    return;
  }
  for (std::uint32_t v = 0; v < virtual_workers_; ++v) {
    Random random(seed_, "build virtual", {key, v});
    init(Tensor(&entry.name, entry.dtype, &entry.item_shape, entry.memory.data() + v * entry.item_bytes),
         random);
  }
}

Tensor ModelState::parameter(std::string name, Shape shape, Initialiser init, DType dtype, Place place) {
  auto& entry = add(std::move(name), StateKind::parameter, dtype, std::move(shape), place);
  initialise(entry, init);
  gradient_index_.emplace(entry.name, gradients_.size());
  gradients_.push_back({entry.name, entry.shape, gradient_floats_, entry.tensor.size()});
  gradient_floats_ = round_up(gradient_floats_ + entry.tensor.size(), floats_per_line);
  return entry.tensor;
}

Tensor ModelState::buffer(std::string name, Shape shape, Initialiser init, DType dtype, Place place) {
  auto& entry = add(std::move(name), StateKind::buffer, dtype, std::move(shape), place);
  initialise(entry, init);
  return entry.tensor;
}

Scalar ModelState::scalar(std::string name, double initial) {
  auto& entry = add(std::move(name), StateKind::scalar, DType::f64, {}, Place::host);
  entry.tensor.f64()[0] = initial;
  return Scalar(entry.tensor);
}

Tensor ModelState::sharded(std::string name, Shape shape, Initialiser, DType, Place) {
  check_name(name, shape);
  throw NotYet(
    fmt::format("sharded '{}': state split over the workers is not there yet, use buffer()", name));
}

void ModelState::virtual_state(std::string name, Shape shape, Initialiser init, DType dtype, Place place) {
  initialise(add(std::move(name), StateKind::virtual_state, dtype, std::move(shape), place), init);
}

void ModelState::statistic(std::string name, Shape shape) {
  check_name(name, shape);
  const auto count = element_count(shape);
  statistic_index_.emplace(name, statistics_.size());
  statistics_.push_back({std::move(name), std::move(shape), 0, count});
}

void ModelState::close() {
  if (gradients_.empty())
    throw std::invalid_argument("build() registered no parameter");
  closed_ = true;
  std::ranges::sort(entries_, {}, [](const auto& entry) -> const std::string& { return entry->name; });
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    auto& entry = *entries_[i];
    index_[entry.name] = i;
    if (entry.kind == StateKind::virtual_state) {
      virtual_parts_.push_back({&entry, virtual_bytes_});
      virtual_bytes_ = round_up(virtual_bytes_ + entry.item_bytes, 64);
    }
  }
  leaf_floats_ = gradient_floats_;
  for (auto& part : statistics_) {
    part.offset = leaf_floats_;
    leaf_floats_ = round_up(leaf_floats_ + part.count, floats_per_line);
  }
}

const StateEntry& ModelState::find(std::string_view name) const {
  if (auto found = index_.find(name); found != index_.end())
    return *entries_[found->second];
  throw_unknown("tensor", name, entries_);
}

Tensor ModelState::tensor(std::string_view name) {
  return find(name).tensor;
}

ConstTensor ModelState::tensor(std::string_view name) const {
  return find(name).tensor;
}

ConstTensor ModelState::virtual_state_of(std::string_view name, std::uint32_t virtual_worker) const {
  const auto& entry = find(name);
  if (entry.kind != StateKind::virtual_state)
    throw std::invalid_argument(
      fmt::format("'{}' is a {}, not a virtual_state", name, kind_name(entry.kind)));
  if (virtual_worker >= virtual_workers_)
    throw std::out_of_range(fmt::format("virtual worker {} of {}", virtual_worker, virtual_workers_));
  return ConstTensor(&entry.name, entry.dtype, &entry.item_shape,
                     entry.memory.data() + virtual_worker * entry.item_bytes);
}

std::vector<checkpoint::PieceSpec> ModelState::pieces() const {
  std::vector<checkpoint::PieceSpec> all;
  for (const auto& entry : entries_)
    all.push_back({entry->name, entry->dtype, entry->shape, true});
  return all;
}

std::uint64_t ModelState::layout_hash() const {
  Hasher hash;
  hash.add(std::uint64_t{virtual_workers_});
  for (const auto& entry : entries_) {
    hash.add(entry->name);
    hash.add(static_cast<std::uint64_t>(entry->kind) << 8 | static_cast<std::uint64_t>(entry->dtype));
    hash.add(entry->shape.data(), entry->shape.size() * sizeof(std::int64_t));
  }
  for (const auto* parts : {&gradients_, &statistics_})
    for (const auto& part : *parts) {
      hash.add(part.name);
      hash.add(part.offset);
      hash.add(part.count);
    }
  return hash.digest();
}

} // namespace troupe

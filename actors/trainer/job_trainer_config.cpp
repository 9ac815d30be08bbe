#include "actors/trainer/job_trainer_config.hpp"

#include "actors/trainer/nearest.hpp"

#include <fmt/format.h>

#include <charconv>

namespace troupe {

namespace {

template <class T>
bool parse(const std::string& text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string_view kind_name(TrainerValueKind kind) {
  constexpr std::string_view names[] = {"a boolean",          "an integer",        "a number",       "a text",
                                        "a list of integers", "a list of numbers", "a list of texts"};
  return names[static_cast<unsigned>(kind)];
}

bool is_empty_list(const TrainerValue& value) {
  return value.kind >= TrainerValueKind::integers && value.list.empty();
}

} // namespace

const TrainerValue* JobTrainerConfig::find(std::string_view key) const {
  if (!known_.contains(key))
    known_.emplace(key);
  const TrainerValue* found = nullptr;
  for (const auto& value : job_->trainer)
    if (value.key == key)
      found = &value; // a later one comes from --set and wins
  return found;
}

void JobTrainerConfig::throw_type(const TrainerValue& value, std::string_view wanted) const {
  throw ConfigError(fmt::format("{}: [trainer] {} must be {}, not {}", value.where, value.key, wanted,
                                kind_name(value.kind)));
}

bool JobTrainerConfig::has(std::string_view key) const {
  return find(key) != nullptr;
}

std::int64_t JobTrainerConfig::integer(std::string_view key, std::int64_t fallback) const {
  const auto* value = find(key);
  if (!value)
    return fallback;
  std::int64_t out = 0;
  if (value->kind != TrainerValueKind::integer || !parse(value->value, out))
    throw_type(*value, "an integer");
  return out;
}

double JobTrainerConfig::number(std::string_view key, double fallback) const {
  const auto* value = find(key);
  if (!value)
    return fallback;
  double out = 0;
  if ((value->kind != TrainerValueKind::number && value->kind != TrainerValueKind::integer) ||
      !parse(value->value, out))
    throw_type(*value, "a number");
  return out;
}

bool JobTrainerConfig::boolean(std::string_view key, bool fallback) const {
  const auto* value = find(key);
  if (!value)
    return fallback;
  if (value->kind != TrainerValueKind::boolean)
    throw_type(*value, "true or false");
  return value->value == "true";
}

std::string JobTrainerConfig::text(std::string_view key, std::string fallback) const {
  const auto* value = find(key);
  if (!value)
    return fallback;
  if (value->kind != TrainerValueKind::text)
    throw_type(*value, "a text in quotes");
  return value->value;
}

std::vector<std::int64_t> JobTrainerConfig::integers(std::string_view key,
                                                     std::vector<std::int64_t> fallback) const {
  const auto* value = find(key);
  if (!value)
    return fallback;
  std::vector<std::int64_t> out;
  bool right = value->kind == TrainerValueKind::integers || is_empty_list(*value);
  for (const auto& item : value->list)
    right = right && parse(item, out.emplace_back());
  if (!right)
    throw_type(*value, "a list of integers");
  return out;
}

std::vector<double> JobTrainerConfig::numbers(std::string_view key, std::vector<double> fallback) const {
  const auto* value = find(key);
  if (!value)
    return fallback;
  std::vector<double> out;
  bool right = value->kind == TrainerValueKind::numbers || value->kind == TrainerValueKind::integers ||
               is_empty_list(*value);
  for (const auto& item : value->list)
    right = right && parse(item, out.emplace_back());
  if (!right)
    throw_type(*value, "a list of numbers");
  return out;
}

std::vector<std::string> JobTrainerConfig::texts(std::string_view key, std::vector<std::string> fallback) const {
  const auto* value = find(key);
  if (!value)
    return fallback;
  if (value->kind != TrainerValueKind::texts && !is_empty_list(*value))
    throw_type(*value, "a list of texts");
  return value->list;
}

std::string JobTrainerConfig::where(std::string_view key) const {
  const TrainerValue* found = nullptr;
  for (const auto& value : job_->trainer)
    if (value.key == key)
      found = &value;
  return found ? found->where : fmt::format("[trainer] {} (not set)", key);
}

void JobTrainerConfig::check_all_read() const {
  std::vector<std::string_view> names(known_.begin(), known_.end());
  for (const auto& value : job_->trainer)
    if (!known_.contains(value.key))
      throw ConfigError(fmt::format("{}: unknown {}", value.where,
                                    no_such_name("key", value.key, names).substr(3) + " in [trainer]"));
}

} // namespace troupe

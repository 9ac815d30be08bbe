#include "actors/trainer/nearest.hpp"

#include <algorithm>
#include <vector>

namespace troupe {

namespace {

constexpr std::size_t most_listed = 12;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

} // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  auto best_distance = name.size() / 3 + 2;
  for (auto candidate : candidates) {
    const auto distance = edit_distance(name.substr(0, 200), candidate.substr(0, 200));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string no_such_name(std::string_view kind, std::string_view name,
                         std::span<const std::string_view> candidates) {
  auto text = "no " + std::string(kind) + " '" + std::string(name) + "'";
  if (auto near = nearest_name(name, candidates); !near.empty())
    return text + ": did you mean '" + std::string(near) + "'?";
  if (candidates.empty())
    return text + ": there is none";
  text += ": there are";
  for (std::size_t i = 0; i < candidates.size() && i < most_listed; ++i)
    text += (i ? ", '" : " '") + std::string(candidates[i]) + "'";
  return candidates.size() > most_listed ? text + ", …" : text;
}

} // namespace troupe

#include "actors/kernel/replay.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// The part around position `at`.
std::string excerpt(const std::string& text, std::size_t at) {
  constexpr std::size_t before = 60;
  constexpr std::size_t length = 200;
  const std::size_t begin = at > before ? at - before : 0;
  std::string part = begin > 0 ? "…" : "";
  part += text.substr(begin, length);
  if (begin + length < text.size())
    part += "…";
  return part;
}

} // namespace

std::string difference_of(const std::vector<std::string>& recorded, const std::vector<std::string>& made) {
  const std::size_t common = std::min(recorded.size(), made.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (recorded[i] == made[i])
      continue;
    const auto [a, b] = std::mismatch(recorded[i].begin(), recorded[i].end(), made[i].begin(), made[i].end());
    const auto at = static_cast<std::size_t>(a - recorded[i].begin());
    return "  recorded " + std::to_string(i + 1) + ": " + excerpt(recorded[i], at) + "\n  now      " +
           std::to_string(i + 1) + ": " + excerpt(made[i], at);
  }
  if (recorded.size() > common)
    return "  recorded " + std::to_string(common + 1) + ": " + excerpt(recorded[common], 0) + "\n  now: nothing more";
  if (made.size() > common)
    return "  recorded: nothing more\n  now      " + std::to_string(common + 1) + ": " + excerpt(made[common], 0);
  return {};
}

} // namespace troupe

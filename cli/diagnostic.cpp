#include "cli/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j)
    d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// Characters that take a column: bytes that do not continue a UTF-8 sequence. A tab stays a tab.
std::string padding(std::string_view before) {
  std::string pad;
  for (char c : before) {
    if (c == '\t')
      pad += '\t';
    else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
      pad += ' ';
  }
  return pad;
}

} // namespace

std::string render(const Diagnostic& d) {
  std::string text;
  if (!d.file.empty())
    text += d.line > 0 ? fmt::format("{}:{}: ", d.file, d.line) : d.file + ": ";
  text += d.message;
  if (d.source.empty()) {
    if (!d.hint.empty())
      text.append("\n  ").append(d.hint);
    return text;
  }
  text += d.line > 0 ? fmt::format("\n{:>4} | {}", d.line, d.source) : fmt::format("\n     | {}", d.source);
  if (d.width == 0) {
    if (!d.hint.empty())
      text.append("\n     | ").append(d.hint);
    return text;
  }
  const auto column = std::min<std::size_t>(d.column, d.source.size());
  const auto marked = std::string_view(d.source).substr(column, d.width);
  const auto carets = std::max<std::size_t>(padding(marked).size(), 1);
  text += fmt::format("\n     | {}{}", padding(std::string_view(d.source).substr(0, column)),
                      std::string(carets, '^'));
  if (!d.hint.empty())
    text.append(" ").append(d.hint);
  return text;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const auto& candidate : candidates) {
    const auto d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  if (!best.empty() || word.size() < 3)
    return best;
  // The same beginning, a part of the name, or the name with more around it.
  for (const auto& candidate : candidates)
    if (word.size() >= 4 && candidate.starts_with(word.substr(0, 4)))
      return candidate;
  for (const auto& candidate : candidates)
    if (candidate.find(word) != std::string::npos ||
        (candidate.size() >= 3 && word.find(candidate) != std::string_view::npos))
      return candidate;
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto best = nearest(word, candidates);
  return best.empty() ? std::string{} : fmt::format("did you mean '{}'?", best);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words)
    text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

} // namespace troupe

// An error in something a person wrote: where it stands, the line itself with a caret under the culprit, what
// is wrong and the nearest right thing. Plain value; render() gives the text that is printed, without a
// newline at the end:
//
//   digits.toml:7: unknown key 'virtal' in [workers]
//      7 | virtal = 8
//        | ^^^^^^ did you mean 'virtual'?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct Diagnostic {
  std::string file;         ///< as the user named it; "--set", "--chaos"; empty: no place at all
  std::uint32_t line = 0;   ///< from 1; 0: the file as a whole
  std::string source;       ///< the line; empty: not shown
  std::uint32_t column = 0; ///< of the culprit, bytes from 0
  std::uint32_t width = 0;  ///< bytes; 0: no caret
  std::string message;
  std::string hint; ///< after the caret; may be empty
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

std::string render(const Diagnostic& d);

/// The candidate that looks most like `word` (edit distance with transpositions, case ignored), or empty when
/// none is near enough to be meant. The first of equals.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean 'virtual'?", or empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// "a, b, c".
std::string joined(const std::vector<std::string>& words);

} // namespace troupe

// "did you mean …?" for names the user mistyped. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The candidate with the smallest edit distance, if that is at most a third of the name's length + 1; else
/// "".
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// "no tensor 'w3': did you mean 'w2'?" or "no tensor 'w3': there are 'w1', 'w2'".
std::string no_such_name(std::string_view kind, std::string_view name,
                         std::span<const std::string_view> candidates);

} // namespace troupe

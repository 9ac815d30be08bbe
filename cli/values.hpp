// Durations, sizes and cadences as people write them in the job file, in chaos specs and on the command line,
// and the same back as text. Pure functions; what format_… writes, parse_… reads to the same value.
#pragma once

#include "actors/job_config.hpp"
#include "base/errors.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// "150us", "30s", "1.5m", "2h", "500ms", "10ns", and "0". Never negative; the unit touches the number or one
/// blank stands between. Errc::invalid says what was wrong.
result<Duration> parse_duration(std::string_view text);
/// The shortest exact text: "30s", "1500ms", "0s".
std::string format_duration(Duration d);

/// "64MiB", "4KiB", "1GiB", "1000000B", decimal "MB" too, and a bare number of bytes.
result<std::uint64_t> parse_size(std::string_view text);
std::string format_size(std::uint64_t bytes);

/// "auto", "never", "50 steps", "1 step", "2 epochs", or a duration.
result<Cadence> parse_cadence(std::string_view text);
std::string format_cadence(const Cadence& c);

/// "3 per 60s".
result<FailureBudget> parse_budget(std::string_view text);
std::string format_budget(const FailureBudget& b);

/// A whole number without sign; underscores between digits as in TOML.
result<std::uint64_t> parse_count(std::string_view text);

/// "1,184".
std::string with_commas(std::uint64_t number);

std::string_view trimmed(std::string_view text);

} // namespace troupe

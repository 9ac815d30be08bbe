// TOML as a flat list of keys with their places, in the order of the file: the one part of the tree that
// knows the TOML library. Knows no settings. Pure functions.
#pragma once

#include "actors/job_config.hpp"
#include "cli/diagnostic.hpp"
#include "cli/settings.hpp"

#include <tl/expected.hpp>

namespace troupe {

struct TomlEntry {
  std::string section; ///< empty: the key stands outside of every section
  std::string key;     ///< keys of deeper tables are joined with dots
  RawValue raw;
  TrainerValue trainer;      ///< the same, for [trainer]: key, kind, value, list
  std::string trainer_error; ///< why it cannot be one ("must be …"); empty: it can
  Diagnostic section_place;  ///< no messages in these
  Diagnostic key_place;
  Diagnostic value_place;
};

/// A section without keys is one entry with an empty key and `raw.type` table. Syntax errors come as complete
/// diagnostics.
tl::expected<std::vector<TomlEntry>, Diagnostic> read_toml(std::string_view text, const std::string& file);

/// "section.key=value". The value is read as TOML where it is TOML, else as a bare string.
tl::expected<TomlEntry, Diagnostic> read_override(const std::string& text);

} // namespace troupe

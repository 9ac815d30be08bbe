// The one table of everything that can be set in a job file: section, key, kind, range, whether it may change
// when a job is resumed, what it does and why its default is what it is. The parser, --set, the report's
// `config` and the page docs/configuration.md are all driven by it; defaults stand in actors/job_config.hpp.
// To add a setting: a field there, a row here, and `troupe docs configuration > docs/configuration.md`.
// Constant data, any thread.
#pragma once

#include "actors/job_config.hpp"
#include "base/errors.hpp"

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

enum class SettingKind : std::uint8_t { text, path, flag, count, number, duration, cadence, budget, choice };

/// Where a setting's value lives in a JobConfig.
using SettingSlot =
  std::variant<std::string*, bool*, std::uint64_t*, std::uint32_t*, Duration*, Cadence*, NonFinite*,
               DataOrder*, LabelAt*, MetricMode*, CommBackend*, ParametersMode*, double*, FailureBudget*>;

struct Setting {
  std::string_view section = {};
  std::string_view key = {};
  SettingKind kind = SettingKind::text;
  std::string_view lowest = {}; ///< numbers and durations, in the file's notation; empty: open
  std::string_view highest = {};
  std::vector<std::string_view> choices = {}; ///< choice: values there are; cadence: kinds that are allowed
  std::vector<std::string_view> later = {};   ///< choice: values the design has and this version refuses
  bool required = false;
  bool resume = false;            ///< may change when a job is resumed
  std::string_view fallback = {}; ///< shown instead of the default when that is computed
  std::string_view doc = {};      ///< one or two sentences
  std::string_view reason = {};   ///< of the default and the range
  SettingSlot (*slot)(JobConfig&) = nullptr;
};

struct Section {
  std::string_view name;
  std::string_view doc = {};
};

std::span<const Section> sections();
std::span<const Setting> settings();
const Setting* find_setting(std::string_view section, std::string_view key);
std::vector<std::string> section_names();
std::vector<std::string> key_names(std::string_view section);

/// A value as it was written, before it has a type.
struct RawValue {
  enum class Type : std::uint8_t { boolean, integer, number, string, array, table, date, untyped };
  Type type = Type::untyped; ///< untyped: from the command line, takes whatever type fits
  std::string text;          ///< without quotes
};

/// Writes the value into its field. Errc::invalid with the whole reason, Errc::unsupported for what this
/// version lacks; the place is the caller's to add.
result<void> assign(const Setting& setting, JobConfig& config, const RawValue& value);

/// The value in the file's notation, without quotes.
std::string value_text(const Setting& setting, const JobConfig& config);
/// Every setting of every section, [trainer] too, in the file's notation.
std::map<std::string, std::map<std::string, std::string>> config_values(const JobConfig& config);
/// Hash of what may not change on resume.
std::uint64_t resume_hash(const JobConfig& config);

/// The whole page docs/configuration.md.
std::string configuration_page();

} // namespace troupe

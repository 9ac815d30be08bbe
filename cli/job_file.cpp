#include "cli/job_file.hpp"

#include "cli/settings.hpp"
#include "cli/toml_reader.hpp"
#include "cli/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace troupe {

namespace {

namespace fs = std::filesystem;
using Checked = tl::expected<void, Diagnostic>;
constexpr std::uintmax_t largest_file = 1 << 20;

tl::unexpected<Diagnostic> refuse(Diagnostic place, std::string message, std::string hint = {}) {
  place.message = std::move(message);
  place.hint = std::move(hint);
  return tl::make_unexpected(std::move(place));
}

std::string absolute(const fs::path& base, const std::string& path) {
  return path.empty() ? path : (base / path).lexically_normal().string();
}

Checked unknown_section(const TomlEntry& entry) {
  const auto hint = did_you_mean(entry.section, section_names());
  return refuse(entry.section_place, fmt::format("unknown section [{}]", entry.section),
                hint.empty() ? fmt::format("there are {}", joined(section_names())) : hint);
}

Checked unknown_key(const TomlEntry& entry) {
  if (entry.section.empty()) {
    std::string hint = "keys belong to a section, such as [job]";
    for (const auto& s : settings())
      if (s.key == entry.key)
        hint = fmt::format("it belongs under [{}]", s.section);
    return refuse(entry.key_place, fmt::format("key '{}' stands outside of every section", entry.key), hint);
  }
  auto hint = did_you_mean(entry.key, key_names(entry.section));
  for (const auto& s : settings())
    if (s.key == entry.key)
      hint = fmt::format("did you mean [{}] {}?", s.section, s.key);
  if (hint.empty())
    hint = fmt::format("there are {}", joined(key_names(entry.section)));
  return refuse(entry.key_place, fmt::format("unknown key '{}' in [{}]", entry.key, entry.section), hint);
}

/// One key of the file or of --set into the configuration.
Checked apply(JobFile& job, const TomlEntry& entry, const std::string& base) {
  const auto name = entry.section + "." + entry.key;
  const bool known_section = entry.section == "trainer" || !key_names(entry.section).empty();
  if (known_section && entry.key.empty())
    return {}; // a section without keys
  if (entry.section == "trainer") {
    if (!entry.trainer_error.empty())
      return refuse(entry.value_place, fmt::format("[trainer] {} {}", entry.key, entry.trainer_error));
    auto value = entry.trainer;
    value.where = entry.value_place.line > 0
                    ? fmt::format("{}:{}", entry.value_place.file, entry.value_place.line)
                    : fmt::format("--set {}", name);
    value.line = entry.value_place.line;
    auto& all = job.config.trainer;
    std::erase_if(all, [&](const TrainerValue& old) { return old.key == value.key; });
    all.push_back(std::move(value));
    job.places[name] = entry.value_place;
    return {};
  }
  if (!entry.section.empty() && !known_section)
    return unknown_section(entry);
  const auto* setting = find_setting(entry.section, entry.key);
  if (setting == nullptr)
    return unknown_key(entry);
  if (auto done = assign(*setting, job.config, entry.raw); !done)
    return refuse(entry.value_place,
                  fmt::format("[{}] {} {}", entry.section, entry.key, done.error().context));
  if (setting->kind == SettingKind::path && setting->key != "module") {
    auto* path = std::get<std::string*>(setting->slot(job.config));
    *path = absolute(base, *path);
  }
  job.places[name] = entry.value_place;
  return {};
}

Checked required_keys(const JobFile& job) {
  for (const auto& s : settings())
    if (s.required && !job.places.contains(fmt::format("{}.{}", s.section, s.key))) {
      Diagnostic d;
      d.file = job.config.file;
      const auto example = s.key == "virtual" ? "8" : s.key == "module" ? "\"libmine.so\"" : "\"train.csv\"";
      return refuse(d, fmt::format("[{}] {} is missing", s.section, s.key),
                    fmt::format("add under [{}]:  {} = {}", s.section, s.key, example));
    }
  return {};
}

std::string similar_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  const auto dir = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(dir, ignored))
    if (entry.path().extension() == ".toml")
      names.push_back(
        (path.has_parent_path() ? dir / entry.path().filename() : entry.path().filename()).string());
  std::sort(names.begin(), names.end());
  return did_you_mean(path.string(), names);
}

} // namespace

Diagnostic JobFile::error_at(std::string_view key, std::string message, std::string hint) const {
  Diagnostic d;
  if (const auto found = places.find(key); found != places.end())
    d = found->second;
  else
    d.file = config.file;
  d.message = std::move(message);
  d.hint = std::move(hint);
  return d;
}

std::string JobFile::where(std::string_view key) const {
  const auto found = places.find(key);
  if (found == places.end())
    return config.file;
  const auto& place = found->second;
  return place.line > 0 ? fmt::format("{}:{}", place.file, place.line) : place.file;
}

std::vector<std::string> module_directories() {
  std::vector<std::string> dirs;
  if (const char* path = std::getenv("TROUPE_MODULE_PATH"); path != nullptr) {
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, ':');)
      if (!part.empty())
        dirs.push_back(part);
  }
  std::error_code ignored;
  const auto here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  dirs.push_back((here / ".." / TROUPE_LIBDIR / "troupe").lexically_normal());
  // In a build tree modules lie in a folder each, under examples/ beside the command or one above it.
  for (const auto& root : {here / "examples", here.parent_path() / "examples"}) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(root, ignored))
      if (entry.is_directory(ignored) && entry.path().extension() != ".p")
        found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    dirs.insert(dirs.end(), found.begin(), found.end());
  }
  return dirs;
}

ParsedJob parse_job(std::string_view text, const std::string& file, const JobFileOptions& options) {
  JobFile job;
  job.config.file = file;
  auto entries = read_toml(text, file);
  if (!entries)
    return tl::make_unexpected(entries.error());
  std::error_code ignored;
  const auto here = fs::absolute(options.working_dir, ignored);
  const auto base = fs::absolute(fs::path(file), ignored).parent_path();
  for (const auto& entry : *entries)
    if (auto done = apply(job, entry, base.string()); !done)
      return tl::make_unexpected(done.error());
  for (const auto& text_of : options.overrides) {
    auto entry = read_override(text_of);
    if (!entry)
      return tl::make_unexpected(entry.error());
    if (auto done = apply(job, *entry, here.string()); !done)
      return tl::make_unexpected(done.error());
  }
  if (options.workers) {
    auto entry = *read_override(fmt::format("workers.start={}", *options.workers));
    entry.value_place.file = "--workers";
    entry.value_place.source.clear();
    if (auto done = apply(job, entry, here.string()); !done)
      return tl::make_unexpected(done.error());
  }
  if (auto done = required_keys(job); !done)
    return tl::make_unexpected(done.error());
  if (auto done = check_job(job, options); !done)
    return tl::make_unexpected(done.error());
  job.config.hash = resume_hash(job.config);
  return job;
}

ParsedJob load_job(const std::string& path, const JobFileOptions& options) {
  Diagnostic d;
  d.file = path;
  std::error_code ec;
  const auto status = fs::status(path, ec);
  if (!fs::exists(status))
    return refuse(d, "No such file or directory", similar_file(path));
  if (fs::is_directory(status))
    return refuse(d, "is a directory, not a job file");
  if (fs::is_regular_file(status) && fs::file_size(path, ec) > largest_file)
    return refuse(d, fmt::format("is larger than {}: not a job file", format_size(largest_file)));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || (text.str().empty() && !fs::is_regular_file(status)))
    return refuse(d, "cannot be read");
  return parse_job(text.str(), path, options);
}

} // namespace troupe

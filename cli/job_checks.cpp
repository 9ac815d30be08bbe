#include "cli/job_file.hpp"
#include "cli/settings.hpp"
#include "cli/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace troupe {

namespace {

namespace fs = std::filesystem;
using Checked = tl::expected<void, Diagnostic>;

/// What check_job needs from each of its parts: the first complaint ends it.
class Checks {
public:
  Checks(JobFile& job, const JobFileOptions& options) : job_(job), c_(job.config), options_(options) {}

  Checked run() {
    defaults();
    for (auto step : {&Checks::name, &Checks::length, &Checks::workers, &Checks::evaluation, &Checks::limits,
                      &Checks::not_yet, &Checks::files})
      if (auto ok = (this->*step)(); !ok)
        return ok;
    return {};
  }

private:
  bool given(std::string_view key) const { return job_.places.contains(key); }

  Checked refuse(std::string_view key, std::string message, std::string hint = {}) const {
    return tl::make_unexpected(job_.error_at(key, std::move(message), std::move(hint)));
  }

  /// The one of two contradicting keys that was written; the later named one if both were.
  std::string_view culprit(std::string_view a, std::string_view b) const {
    return given(b) || !given(a) ? b : a;
  }

  void defaults() {
    if (!given("job.name"))
      c_.job.name = fs::path(c_.file).stem().string();
    std::error_code ignored;
    if (!given("job.dir") || c_.job.dir.empty())
      c_.job.dir =
        (fs::absolute(options_.working_dir, ignored) / (c_.job.name + ".troupe-run")).lexically_normal();
    if (c_.checkpoint.dir.empty())
      c_.checkpoint.dir = (fs::path(c_.job.dir) / "checkpoints").string();
    if (!given("workers.max"))
      c_.workers.max = c_.workers.virtual_workers;
    if (!given("workers.start"))
      c_.workers.start = given("workers.max") ? c_.workers.max : c_.workers.min;
  }

  Checked name() {
    const auto& name = c_.job.name;
    const auto fine = [](char ch) {
      return std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_' || ch == '-' || ch == '.';
    };
    if (name.empty() || name.size() > 64 || name.front() == '.' ||
        !std::all_of(name.begin(), name.end(), fine))
      return refuse("job.name",
                    fmt::format("[job] name '{}' must be 1 to 64 of the characters a-z A-Z 0-9 _ - .", name),
                    "it is part of file names");
    return {};
  }

  Checked length() {
    if (c_.job.steps == 0 && c_.job.epochs == 0)
      return refuse(given("job.steps") ? "job.steps" : "job.epochs", "the job would never end",
                    "give [job] steps or epochs, as `epochs = 10`");
    return {};
  }

  Checked workers() {
    const auto& w = c_.workers;
    if (w.max > w.virtual_workers)
      return refuse("workers.max",
                    fmt::format("[workers] max = {} is more than virtual = {}: a worker runs at least "
                                "one virtual worker",
                                w.max, w.virtual_workers));
    if (w.min > w.max)
      return refuse(culprit("workers.max", "workers.min"),
                    fmt::format("[workers] min = {} is more than max = {}{}", w.min, w.max,
                                given("workers.max") ? "" : " (which is `virtual` unless given)"));
    if (w.start < w.min || w.start > w.max)
      return refuse(culprit("workers.min", "workers.start"),
                    fmt::format("[workers] start = {} must lie between min = {} and max = {}{}", w.start,
                                w.min, w.max,
                                given("workers.max") ? "" : " (which is `virtual` unless given)"));
    return {};
  }

  Checked evaluation() {
    const auto& e = c_.evaluation;
    if (!e.path.empty() && c_.data.test > 0)
      return refuse("evaluation.path", "[evaluation] path and [data] test both name the evaluation data",
                    "keep one of them");
    if (e.path.empty() && c_.data.test == 0)
      for (auto key : {"evaluation.every", "evaluation.metric", "evaluation.patience"})
        if (given(key) && e.every.kind != CadenceKind::never)
          return refuse(
            key, fmt::format("[evaluation] {} without evaluation data", std::string_view(key).substr(11)),
            "give [evaluation] path or [data] test");
    if (e.patience > 0 && e.metric.empty())
      return refuse("evaluation.patience", "[evaluation] patience needs a metric to watch",
                    "add  metric = \"…\"");
    return {};
  }

  Checked limits() {
    const auto& l = c_.limits;
    if (l.lost_after < 4 * l.heartbeat)
      return refuse(culprit("limits.heartbeat", "limits.lost_after"),
                    fmt::format("[limits] lost_after = {} must be at least four times heartbeat = {}",
                                format_duration(l.lost_after), format_duration(l.heartbeat)),
                    "a single late heartbeat is not a death");
    if (l.hang < l.lost_after)
      return refuse(culprit("limits.lost_after", "limits.hang"),
                    fmt::format("[limits] hang = {} must not be less than lost_after = {}",
                                format_duration(l.hang), format_duration(l.lost_after)));
    if (l.master_grace < l.lost_after)
      return refuse(culprit("limits.lost_after", "limits.master_grace"),
                    fmt::format("[limits] master_grace = {} must not be less than lost_after = {}",
                                format_duration(l.master_grace), format_duration(l.lost_after)));
    const auto& r = c_.recovery;
    if (r.backoff > r.backoff_most)
      return refuse(culprit("recovery.backoff_most", "recovery.backoff"),
                    fmt::format("[recovery] backoff = {} is more than backoff_most = {}",
                                format_duration(r.backoff), format_duration(r.backoff_most)));
    return {};
  }

  Checked not_yet() {
    if (!c_.job.deterministic)
      return refuse("job.deterministic", "[job] deterministic = false (relaxed mode) is not in this version");
    if (c_.checkpoint.local)
      return refuse("checkpoint.local", "[checkpoint] local = true is not in this version");
    if (c_.checkpoint.peer_copies > 0)
      return refuse("checkpoint.peer_copies",
                    "[checkpoint] peer_copies is not in this version; it must be 0");
    if (!c_.console.listen.empty())
      return refuse("console.listen", "[console] listen is not in this version",
                    "`troupe status` shows a running job");
    return {};
  }

  Checked files() {
    std::error_code ignored;
    std::vector<fs::path> candidates{fs::absolute(c_.file, ignored).parent_path() / c_.job.module};
    if (job_.places.at("job.module").line == 0)
      candidates.insert(candidates.begin(), fs::absolute(options_.working_dir, ignored) / c_.job.module);
    for (const auto& dir : options_.module_dirs)
      candidates.push_back(fs::path(dir) / c_.job.module);
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const fs::path& p) { return fs::is_regular_file(p, ignored); });
    if (found != candidates.end())
      c_.job.module = found->lexically_normal().string();
    else if (options_.check_files)
      return refuse("job.module", fmt::format("there is no module '{}'", c_.job.module),
                    looked_in(candidates));
    if (!options_.check_files)
      return {};
    for (auto [key, path] : {std::pair{"data.path", &c_.data.path},
                             {"evaluation.path", &c_.evaluation.path},
                             {"job.init_from", &c_.job.init_from}})
      if (!path->empty() && !fs::exists(*path, ignored))
        return refuse(key, fmt::format("there is no file '{}'", *path), how_to_fetch(*path));
    return {};
  }

  /// A job file that comes with a script for its data says so.
  std::string how_to_fetch(const std::string& path) const {
    std::error_code ignored;
    const auto script = fs::path(c_.file).parent_path() / "fetch-data";
    const auto place = job_.places.find("data.path");
    const bool in_file = place != job_.places.end() && place->second.line > 0;
    return in_file && path == c_.data.path && fs::exists(script, ignored)
             ? fmt::format("{} {} fetches it", script.string(), path)
             : std::string{};
  }

  static std::string looked_in(const std::vector<fs::path>& candidates) {
    std::vector<std::string> dirs;
    for (const auto& candidate : candidates) {
      auto dir = candidate.lexically_normal().parent_path().string();
      if (std::find(dirs.begin(), dirs.end(), dir) == dirs.end())
        dirs.push_back(std::move(dir));
    }
    return fmt::format("looked in {}", joined(dirs));
  }

  JobFile& job_;
  JobConfig& c_;
  const JobFileOptions& options_;
};

} // namespace

Checked check_job(JobFile& job, const JobFileOptions& options) {
  return Checks(job, options).run();
}

} // namespace troupe

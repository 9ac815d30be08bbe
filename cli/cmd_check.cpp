// `troupe check`: prints what was tried with a trainer and what differed.
#include "actors/worker/check.hpp"
#include "cli/commands.hpp"
#include "cli/job_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace troupe {

namespace {

int refuse(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return exit_usage;
}

} // namespace

int cmd_check(const CheckOptions& options) {
  if (options.target.ends_with(".so"))
    return refuse("troupe: checking a module without a job file is not in this version; give its job file");
  JobFileOptions parse;
  parse.overrides = options.set;
  parse.module_dirs = module_directories();
  const auto job = load_job(options.target, parse);
  if (!job)
    return refuse(render(job.error()));
  const auto data = read_job_data(job->config);
  if (!data)
    return refuse(render(job->error_at("data.path", data.error().context)));
  TrainerCheckOptions what;
  what.steps = options.steps;
  what.kill_at = std::min<std::uint64_t>(what.kill_at, options.steps - 1);
  const auto report = check_trainer(job->config, *data, what, [](const TrainerCheckCase& one) {
    std::printf("%-36s  %s\n", one.name.c_str(), one.finding.c_str());
    if (!one.hint.empty())
      std::printf("  %s\n", one.hint.c_str());
    std::fflush(stdout);
  });
  if (!report)
    return refuse(render(job->error_at("job.module", report.error().context)));
  if (report->passed)
    std::printf("%s keeps the promises: the same bits in every case (%llu steps, model digest %s)\n",
                job->config.job.name.c_str(), static_cast<unsigned long long>(report->steps),
                report->model_digest.c_str());
  else
    std::printf("%s does not keep the promises: failures would show in its result\n",
                job->config.job.name.c_str());
  return report->passed ? exit_done : exit_failed;
}

} // namespace troupe

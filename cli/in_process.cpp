#include "cli/in_process.hpp"

#include "actors/trainer/module.hpp"
#include "actors/worker/in_process.hpp"
#include "cli/commands.hpp"
#include "cli/process_setup.hpp"
#include "cli/report.hpp"
#include "cli/screen.hpp"
#include "cli/settings.hpp"
#include "cli/terminal.hpp"
#include "data/batch_plan.hpp"
#include "troupe/version.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

namespace troupe {

namespace {

RunReport report_of(const JobConfig& config, const InProcessResult& ran, std::uint64_t total_steps,
                    Duration wall) {
  RunReport r;
  r.job = config.job.name;
  r.seed = config.job.seed;
  r.steps = ran.end.step.value;
  r.total_steps = total_steps;
  r.samples = ran.samples;
  r.epochs = ran.finished_epochs;
  r.metrics = {ran.metrics.begin(), ran.metrics.end()};
  r.workers = {1, 1};
  r.generations = 1;
  r.samples_by_count = ran.samples_by_count;
  r.skipped = ran.skipped_steps;
  r.modes.assign(ran.modes.begin(), ran.modes.end());
  r.modes.emplace_back("in one process");
  r.wall_s = std::chrono::duration<double>(wall).count();
  r.goodput.useful = r.wall_s;
  r.goodput.total = r.wall_s;
  r.dir = config.job.dir;
  r.version = TROUPE_VERSION;
  r.config = config_values(config);
  r.host = this_host();
  switch (ran.end.kind) {
  case EngineEnd::Kind::finished:
    r.result = "done";
    r.model_digest = fmt::format("{:016x}", ran.end.model_digest);
    break;
  case EngineEnd::Kind::stopped:
    r.result = "interrupted";
    r.cause = ran.end.cause;
    break;
  case EngineEnd::Kind::failed:
    r.result = "failed";
    r.cause = ran.end.failure.what;
    break;
  }
  return r;
}

} // namespace

int run_job_in_process(const JobFile& job, const RunOptions& options) {
  const auto& config = job.config;
  if (!options.chaos.empty())
    return complain("--chaos needs worker processes: leave out --in-process", exit_usage);
  auto module = Module::load(config.job.module);
  if (!module)
    return complain(module.error().context, exit_usage);
  auto data = read_job_data(config);
  if (!data)
    return complain(data.error().context, exit_failed);
  std::unique_ptr<Trainer> trainer;
  try {
    trainer = module->make();
  } catch (const std::exception& e) {
    return complain(e.what(), exit_failed);
  }
  std::atomic<bool> stop{false};
  SignalThread signals([&](int, int) { stop.store(true); });
  const data::BatchPlan plan(data->train.rows(), config.workers.virtual_workers, config.workers.micro_batch);
  const auto total = plan.total_steps(config.job.steps, config.job.epochs);
  Screen screen(STDERR_FILENO, terminal_facts(STDERR_FILENO), options.quiet);
  RunView view;
  view.job = config.job.name;
  view.total_steps = total;
  view.workers = view.target = 1;
  view.generation = 1;
  InProcessHooks hooks;
  hooks.stop = &stop;
  hooks.committed = [&](const StepRow& row) {
    view.step = row.step.value + 1;
    view.has_loss = true;
    view.loss = row.loss_weight > 0 ? row.loss_sum / row.loss_weight : row.loss_sum;
    screen.progress(view, monotonic_now());
  };
  const auto begin = monotonic_now();
  const auto ran = run_in_process(config, *trainer, *data, hooks);
  const auto report = report_of(config, ran, total, monotonic_now() - begin);
  if (!options.report.empty())
    if (auto written = write_report(options.report, report); !written)
      return complain(written.error().context, exit_failed);
  screen.final(report.result == "failed" ? failure_screen(report, screen.style())
                                         : summary_screen(report, "", screen.style()));
  return exit_status(report);
}

} // namespace troupe

#include "actors/worker/check.hpp"

#include "actors/trainer/module.hpp"
#include "actors/worker/check_run.hpp"
#include "base/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace troupe {

namespace {

/// First place where a run differs from the reference.
struct Difference {
  std::uint32_t slot = 0;
  std::uint64_t step = 0;
  std::size_t piece = 0;
};

std::optional<Difference> compare(const CheckRun::Result& reference, const CheckRun::Result& run,
                                  std::uint64_t steps, std::size_t pieces) {
  for (std::uint64_t step = 0; step <= steps; ++step)
    for (std::size_t piece = 0; piece < pieces; ++piece)
      for (std::uint32_t slot = 0; slot < run.workers; ++slot) {
        const auto sum = run.checksum(slot, step, piece);
        if (sum != 0 && sum != reference.checksum(0, step, piece))
          return Difference{slot, step, piece};
      }
  return std::nullopt;
}

std::string index_text(const checkpoint::PieceSpec& spec, std::size_t element) {
  std::string text;
  for (auto d = spec.shape.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(spec.shape[d]);
    text = std::to_string(element % size) + (text.empty() ? "" : ", ") + text;
    element /= size;
  }
  return "[" + text + "]";
}

class Checker {
public:
  Checker(const JobConfig& job, const JobData& data, const TrainerCheckOptions& options,
          const std::function<void(const TrainerCheckCase&)>& on_case)
      : job_(job), data_(data), options_(options), on_case_(on_case) {
    options_.steps = std::max<std::uint64_t>(2, options.steps);
    options_.kill_at = std::clamp<std::uint64_t>(options.kill_at, 1, options_.steps - 1);
    options_.workers = std::clamp<std::uint32_t>(
      options.workers, 1, std::min(job.workers.virtual_workers, CheckRun::most_workers));
    job_.job.steps = options_.steps;
    job_.job.epochs = 0;
    job_.job.digest_every = 0; // divergence is found by comparing, not by an abort
    job_.checkpoint.snapshot_every = {CadenceKind::steps, 1, {}};
    job_.evaluation.every = {CadenceKind::never, 0, {}};
  }

  result<TrainerCheckReport> run() {
    CheckRun runs(job_, data_, [&]() -> result<std::unique_ptr<Trainer>> {
      TROUPE_ASSIGN(auto module, Module::load(job_.job.module));
      try {
        return module.make();
      } catch (const std::exception& error) {
        return fail(Errc::invalid, fmt::format("the trainer's constructor threw: {}", error.what()));
      }
    });
    TROUPE_ASSIGN(probe_, runs.probe());
    CheckScript script;
    const auto reference = runs.run(script, probe_);
    report_.steps = options_.steps;
    if (!judge_alone("1 worker", reference))
      return report_;
    report_.model_digest = hex64(reference.slot(0).model_digest);

    script.salt = 2;
    if (!judge(
          "1 worker, once more", reference, runs.run(script, probe_),
          "two runs of one worker differ: rand(), the time, uninitialised memory, or threads? Random numbers "
          "come from "
          "batch.random() and info.random(name)"))
      return report_; // nothing else can be told from such a trainer
    many_workers(runs, reference);
    if (options_.workers >= 2) {
      script.workers = 2;
      script.killed = {1};
      script.kill_at = options_.kill_at;
      script.salt = 10;
      judge(fmt::format("worker 1 of 2 killed at step {}", options_.kill_at), reference,
            runs.run(script, probe_),
            "an optimizer counter outside the model? Register everything that update() changes");
    }
    script.workers = std::min<std::uint32_t>(2, options_.workers);
    script.killed.clear();
    for (std::uint32_t s = 0; s < script.workers; ++s)
      script.killed.push_back(s);
    script.kill_at = options_.kill_at;
    script.salt = 20;
    judge(fmt::format("all killed and resumed at step {}", options_.kill_at), reference,
          runs.run(script, probe_),
          "an optimizer counter outside the model? Register everything that update() changes");
    report_.passed = std::ranges::all_of(report_.cases, &TrainerCheckCase::passed);
    return report_;
  }

private:
  void many_workers(CheckRun& runs, const CheckRun::Result& reference) {
    std::string sizes = "1";
    TrainerCheckCase all;
    for (std::uint32_t n = 2; n <= options_.workers; ++n) {
      sizes += ", " + std::to_string(n);
      CheckScript script;
      script.workers = n;
      script.salt = n + 2;
      all = examine(
        reference, runs.run(script, probe_),
        "gradient() depends on which virtual workers run in one process: a sum kept between calls, a static "
        "variable, or info.members()?");
      if (!all.passed)
        break;
    }
    all.name = sizes + " workers";
    if (options_.workers > 1)
      add(std::move(all));
  }

  bool add(TrainerCheckCase one) {
    if (on_case_)
      on_case_(one);
    report_.cases.push_back(std::move(one));
    return report_.cases.back().passed;
  }

  bool judge(std::string name, const CheckRun::Result& reference, const CheckRun::Result& run,
             std::string hint) {
    auto one = examine(reference, run, std::move(hint));
    one.name = std::move(name);
    return add(std::move(one));
  }

  /// The reference has nothing to be compared with, but it must finish and keep gradient() pure.
  bool judge_alone(std::string name, const CheckRun::Result& run) {
    TrainerCheckCase one;
    one.name = std::move(name);
    one.passed = look_inside(run, one);
    if (one.passed)
      one.finding = fmt::format("{} steps", options_.steps);
    return add(std::move(one));
  }

  /// Failures, and writes in gradient(): findings that need no comparison.
  bool look_inside(const CheckRun::Result& run, TrainerCheckCase& one) const {
    for (std::uint32_t s = 0; s < run.workers; ++s)
      if (const auto& slot = run.slot(s); slot.wrote_in_gradient) {
        one.finding = fmt::format("gradient() changed the registered state '{}' at step {}",
                                  slot.wrote_to.get(), slot.wrote_in_gradient - 1);
        one.hint = "an aborted step is computed again: change state in update(); statistics go through "
                   "out.stat(name), "
                   "recurrent state through out.virtual_state(name)";
        return false;
      }
    if (!run.finished()) {
      one.finding = run.cause;
      one.hint = "the trainer failed while it was checked";
      return false;
    }
    return true;
  }

  TrainerCheckCase examine(const CheckRun::Result& reference, const CheckRun::Result& run,
                           std::string hint) const {
    TrainerCheckCase one;
    const auto different = compare(reference, run, options_.steps, probe_.pieces.size());
    if (different && !wrote_in_gradient(run)) {
      one.finding = describe(reference, run, *different);
      one.hint = std::move(hint);
      return one;
    }
    if (!look_inside(run, one))
      return one;
    for (std::uint32_t s = 0; s < run.workers; ++s)
      if (run.slot(s).evaluation != reference.slot(0).evaluation) {
        one.finding = "differ: the metrics of the evaluation";
        one.hint = "evaluate() depends on how its samples are cut, or on something outside the model?";
        return one;
      }
    one.passed = true;
    one.finding = "same bits";
    return one;
  }

  static bool wrote_in_gradient(const CheckRun::Result& run) {
    for (std::uint32_t s = 0; s < run.workers; ++s)
      if (run.slot(s).wrote_in_gradient)
        return true;
    return false;
  }

  std::string describe(const CheckRun::Result& reference, const CheckRun::Result& run,
                       const Difference& d) const {
    const auto& spec = probe_.layout.bank.pieces()[*probe_.layout.bank.find(probe_.pieces[d.piece])];
    auto text = fmt::format("differ: tensor '{}' ", spec.name);
    text += d.step == 0 ? "from build() on" : fmt::format("from step {} on", d.step - 1);
    const auto a = reference.bytes(0, d.step, d.piece);
    const auto b = run.bytes(d.slot, d.step, d.piece);
    const auto size = element_size(spec.dtype);
    for (std::size_t i = 0; i * size < a.size(); ++i)
      if (std::memcmp(a.data() + i * size, b.data() + i * size, size) != 0)
        return text + ", first at " + index_text(spec, i);
    return text;
  }

  JobConfig job_;
  const JobData& data_;
  TrainerCheckOptions options_;
  const std::function<void(const TrainerCheckCase&)>& on_case_;
  CheckProbe probe_;
  TrainerCheckReport report_;
};

} // namespace

result<TrainerCheckReport> check_trainer(const JobConfig& job, const JobData& data,
                                         const TrainerCheckOptions& options,
                                         const std::function<void(const TrainerCheckCase&)>& on_case) {
  return Checker(job, data, options, on_case).run();
}

} // namespace troupe

#include "actors/worker/job_data.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

// Nobody means more, and the ledger keeps a bit per row for each epoch that a step touches.
constexpr std::uint64_t most_epochs_a_step = 1024;

data::CsvOptions csv_options(const DataSettings& settings) {
  data::CsvOptions options;
  options.label = settings.label == LabelAt::none    ? data::LabelColumn::none
                  : settings.label == LabelAt::first ? data::LabelColumn::first
                                                     : data::LabelColumn::last;
  options.scale = settings.scale;
  return options;
}

} // namespace

result<JobData> read_job_data(const JobConfig& job) {
  JobData out;
  const auto options = csv_options(job.data);
  TROUPE_ASSIGN(auto all, data::read_csv(job.data.path, options));
  if (job.data.test > 0) {
    TROUPE_ASSIGN(out.train, data::split(all, {data::Part::train, job.data.test, job.data.split_seed}));
    if (job.evaluation.path.empty()) {
      TROUPE_ASSIGN(out.evaluation, data::split(all, {data::Part::test, job.data.test, job.data.split_seed}));
    }
  } else {
    out.train = std::move(all);
  }
  if (!job.evaluation.path.empty()) {
    TROUPE_ASSIGN(out.evaluation, data::read_csv(job.evaluation.path, options));
  }
  if (out.train.rows() == 0)
    return fail(Errc::invalid, job.data.path + ": no rows to train on");
  const auto batch = std::uint64_t{job.workers.virtual_workers} * job.workers.micro_batch;
  if (batch / out.train.rows() >= most_epochs_a_step)
    return fail(Errc::invalid,
                fmt::format("workers.micro_batch = {}: a step of {} samples ({} virtual workers) is more than {} times "
                            "the {} rows of {}; make it smaller",
                            job.workers.micro_batch, batch, job.workers.virtual_workers, most_epochs_a_step,
                            out.train.rows(), job.data.path));
  if (out.evaluation && out.evaluation->rows() == 0)
    out.evaluation.reset();
  return out;
}

} // namespace troupe

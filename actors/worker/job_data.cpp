#include "actors/worker/job_data.hpp"

namespace troupe {

namespace {

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
  if (out.evaluation && out.evaluation->rows() == 0)
    out.evaluation.reset();
  return out;
}

} // namespace troupe

// The [trainer] table behind troupe::Config. Getters check the type and remember which keys were asked for;
// after build, unknown_key() finds one that nobody read. Errors are ConfigError and name file, line and key.
// Used during build on the trainer's thread only.
#pragma once

#include "actors/job_config.hpp"
#include "troupe/config.hpp"

#include <functional>
#include <set>

namespace troupe {

class JobTrainerConfig final : public Config {
public:
  /// Keeps a reference: the job's configuration outlives it.
  explicit JobTrainerConfig(const JobConfig& job) : job_(&job) {}

  bool has(std::string_view key) const override;
  std::int64_t integer(std::string_view key, std::int64_t fallback) const override;
  double number(std::string_view key, double fallback) const override;
  bool boolean(std::string_view key, bool fallback) const override;
  std::string text(std::string_view key, std::string fallback) const override;
  std::vector<std::int64_t> integers(std::string_view key, std::vector<std::int64_t> fallback) const override;
  std::vector<double> numbers(std::string_view key, std::vector<double> fallback) const override;
  std::vector<std::string> texts(std::string_view key, std::vector<std::string> fallback) const override;
  std::string where(std::string_view key) const override;
  std::uint64_t seed() const override { return job_->job.seed; }
  std::uint32_t virtual_workers() const override { return job_->workers.virtual_workers; }
  std::uint64_t micro_batch() const override { return job_->workers.micro_batch; }

  /// Throws ConfigError for the first key of [trainer] that build() never asked for.
  void check_all_read() const;

private:
  const TrainerValue* find(std::string_view key) const; ///< marks it as known
  [[noreturn]] void throw_type(const TrainerValue& value, std::string_view wanted) const;

  const JobConfig* job_;
  mutable std::set<std::string, std::less<>> known_;
};

} // namespace troupe

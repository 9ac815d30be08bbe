// Trainers of a few lines, each with one feature, over a small data set made of numbers; for the tests of the
// engine.
#pragma once

#include "actors/job_config.hpp"
#include "actors/worker/job_data.hpp"
#include "troupe/trainer.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace troupe::testing {

constexpr std::size_t width = 6;

inline data::Dataset numbers(std::uint64_t rows, std::uint64_t seed) {
  Random random(seed, "numbers");
  data::Field x{"x", DType::f32, {width}, {}};
  data::Field y{"y", DType::f32, {}, {}};
  x.bytes.resize(rows * width * 4);
  y.bytes.resize(rows * 4);
  for (std::uint64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const auto value = static_cast<float>(random.normal());
      std::memcpy(x.bytes.data() + (r * width + i) * 4, &value, 4);
      sum += value * static_cast<float>(i + 1);
    }
    std::memcpy(y.bytes.data() + r * 4, &sum, 4);
  }
  std::vector<data::Field> fields;
  fields.push_back(std::move(x));
  fields.push_back(std::move(y));
  return data::Dataset(rows, std::move(fields));
}

inline JobData small_data() {
  JobData data;
  data.train = numbers(53, 1);
  data.evaluation = numbers(19, 2);
  return data;
}

inline JobConfig small_job(std::uint64_t steps = 12) {
  JobConfig job;
  job.job.steps = steps;
  job.job.seed = 7;
  job.job.digest_every = 4;
  job.workers.virtual_workers = 5; // no power of two: blocks are not aligned
  job.workers.micro_batch = 3;
  job.checkpoint.snapshot_every = {CadenceKind::steps, 1, {}};
  job.evaluation.every = {CadenceKind::steps, 4, {}};
  return job;
}

/// Least squares with momentum; a registered counter; keyed noise in gradient and update.
class Linear : public Trainer {
public:
  void build(Model& model, const Config&) override {
    weights_ = model.parameter("weights", {width}, normal(0.5));
    speed_ = model.buffer("speed", {width});
    count_ = model.scalar("count");
  }
  Loss gradient(const Model&, const Batch& batch, Gradients& out) override {
    return add_gradient(batch, out["weights"].f32(), 0.01F);
  }
  void update(Model&, const Gradients& mean, const StepInfo& info) override {
    count_.set(count_.get() + 1);
    auto random = info.random("weights");
    descend(mean["weights"].f32(),
            0.05F / static_cast<float>(count_.get()) + static_cast<float>(random.uniform()) * 1e-3F);
    norm_ = info.global_norm();
  }
  void evaluate(const Model&, const Batch& batch, Metrics& metrics) override {
    double loss = 0;
    for (std::size_t s = 0; s < batch.size(); ++s)
      loss += std::pow(miss(batch, s), 2);
    metrics.add("loss", loss, static_cast<double>(batch.size()));
  }
  double norm() const { return norm_; }

protected:
  double miss(const Batch& batch, std::size_t s) const {
    const auto* x = batch.f32("x").data() + s * width;
    float sum = -batch.f32("y")[s];
    for (std::size_t i = 0; i < width; ++i)
      sum += weights_.f32()[i] * x[i];
    return sum;
  }
  Loss add_gradient(const Batch& batch, std::span<float> out, float noise) const {
    Loss loss{0, static_cast<double>(batch.size())};
    auto random = batch.random();
    for (std::size_t s = 0; s < batch.size(); ++s) {
      const auto error = miss(batch, s);
      loss.sum += 0.5 * error * error;
      for (std::size_t i = 0; i < width; ++i)
        out[i] += static_cast<float>(error) * batch.f32("x")[s * width + i] +
                  noise * static_cast<float>(random.normal());
    }
    return loss;
  }
  void descend(std::span<const float> mean, float rate) {
    for (std::size_t i = 0; i < width; ++i) {
      speed_.f32()[i] = 0.9F * speed_.f32()[i] + mean[i];
      weights_.f32()[i] -= rate * speed_.f32()[i];
    }
  }

  Tensor weights_;
  Tensor speed_;
  Scalar count_;
  double norm_ = 0;
};

/// Two updates per step; the second sees what the first did, and the virtual state goes through both.
class TwoPhases : public Linear {
public:
  void build(Model& model, const Config& config) override {
    Linear::build(model, config);
    other_ = model.parameter("other", {2}, uniform(1));
    model.virtual_state("memory", {2}, constant(1));
  }
  std::vector<std::string> phases() const override { return {"first", "second"}; }
  Loss gradient(const Model& model, const Batch& batch, Gradients& out) override {
    auto next = out.virtual_state("memory").f32();
    const auto now = model.virtual_state_of("memory", batch.virtual_worker()).f32();
    next[0] = 0.5F * next[0] + now[1] + static_cast<float>(batch.phase());
    next[1] = next[1] * 0.25F + static_cast<float>(batch.ids()[0]);
    if (batch.phase() == 0)
      return add_gradient(batch, out["weights"].f32(), 0);
    out["other"].f32()[0] += weights_.f32()[0] + next[0];
    return {1, 1};
  }
  void update(Model&, const Gradients& mean, const StepInfo& info) override {
    if (info.phase() == 0)
      descend(mean["weights"].f32(), 0.01F);
    else
      for (std::size_t i = 0; i < 2; ++i)
        other_.f32()[i] -= 0.1F * mean["other"].f32()[i];
  }

private:
  Tensor other_;
};

/// A running mean of the samples, reduced like a gradient.
class WithStatistic : public Linear {
public:
  void build(Model& model, const Config& config) override {
    Linear::build(model, config);
    running_ = model.buffer("running", {width});
    model.statistic("mean", {width});
  }
  Loss gradient(const Model&, const Batch& batch, Gradients& out) override {
    auto mean = out.stat("mean").f32();
    for (std::size_t s = 0; s < batch.size(); ++s)
      for (std::size_t i = 0; i < width; ++i)
        mean[i] += batch.f32("x")[s * width + i];
    return add_gradient(batch, out["weights"].f32(), 0);
  }
  void update(Model& model, const Gradients& mean, const StepInfo& info) override {
    Linear::update(model, mean, info);
    for (std::size_t i = 0; i < width; ++i)
      running_.f32()[i] = 0.9F * running_.f32()[i] + 0.1F * mean.stat("mean").f32()[i];
  }

private:
  Tensor running_;
};

} // namespace troupe::testing

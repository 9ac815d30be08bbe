// A trainer whose times and sizes the job file sets, for benches and tests of recovery and overhead: how long
// `build` and each `gradient` take, how much memory the process keeps resident, and failures that happen once
// per process. What it learns is one vector; its bits follow the rules, whatever the pace.
#include <troupe/trainer.hpp>

#include <chrono>
#include <limits>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock; // tidy: allow(clock) sees public headers only

class Paced final : public troupe::Trainer {
public:
  void build(troupe::Model& model, const troupe::Config& config) override {
    pace_ = std::chrono::microseconds(config.integer("gradient_us", 0)); // of one virtual worker, computing
    throw_once_ = config.integer("throw_once_at", -1); // in `update` of this step, in life 1
    nan_once_ = config.integer("nan_once_at", -1);
    keep_resident(static_cast<std::size_t>(config.integer("ballast_mib", 0)) << 20);
    const auto width = config.integer("width", 1000);
    weights_ = model.parameter("weights", {width}, troupe::uniform(1));
    count_ = model.scalar("count");
    const auto build = std::chrono::milliseconds(config.integer("build_ms", 0));
    std::this_thread::sleep_for(build); // tidy: allow(sleep) a slow build is what was asked for
  }

  troupe::Loss gradient(const troupe::Model&, const troupe::Batch& batch, troupe::Gradients& out) override {
    const auto until = Clock::now() + pace_;
    auto slope = out["weights"].f32();
    const auto weights = weights_.f32();
    for (auto id : batch.ids())
      for (std::size_t i = 0; i < slope.size(); ++i)
        slope[i] += weights[i] - static_cast<float>((id + i) % 17);
    while (Clock::now() < until) {
    }
    if (static_cast<std::int64_t>(batch.step().value) == nan_once_) {
      nan_once_ = -1;
      slope[0] = std::numeric_limits<float>::quiet_NaN();
    }
    return {1, static_cast<double>(batch.size())};
  }

  void update(troupe::Model&, const troupe::Gradients& mean, const troupe::StepInfo& info) override {
    // A life that began later has a count that is behind the step's or not its own; only the first one counts
    // along.
    if (static_cast<std::int64_t>(info.step().value) == throw_once_ && lived_ == info.step().value)
      throw std::runtime_error("told to throw once");
    ++lived_;
    count_.set(count_.get() + 1);
    const auto slope = mean["weights"].f32();
    for (std::size_t i = 0; i < slope.size(); ++i)
      weights_.f32()[i] -= 0.1F * slope[i];
  }

private:
  void keep_resident(std::size_t bytes) {
    if (bytes == 0)
      return;
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw std::runtime_error("no memory for the ballast");
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < bytes; at += 4096)
      static_cast<char*>(memory)[at] = 1;
  }

  troupe::Tensor weights_;
  troupe::Scalar count_;
  std::chrono::microseconds pace_{};
  std::int64_t throw_once_ = -1;
  std::int64_t nan_once_ = -1;
  std::uint64_t lived_ = 0; // steps of this process; decides when to fail, never what is learned
};

} // namespace

TROUPE_TRAINER(Paced)

// A small trainer with one flaw of choice ([trainer] flaw), for the tests of plain errors and of `troupe check`. It
// fits one vector to numbers made of the sample ids, so it needs no particular data.
#include <troupe/trainer.hpp>

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

class Flawed : public troupe::Trainer {
public:
  void build(troupe::Model& model, const troupe::Config& config) override {
    flaw_ = config.text("flaw", "none");
    from_step_ = static_cast<std::uint64_t>(config.integer("from_step", 3));
    if (flaw_ == "build throws")
      throw std::runtime_error("the flaw of build");
    weights_ = model.parameter("weights", {width}, troupe::normal(0.1));
    seen_ = model.buffer("seen", {1});
  }

  troupe::Loss gradient(const troupe::Model&, const troupe::Batch& batch, troupe::Gradients& out) override {
    if (flaw_ == "gradient throws" && batch.step().value >= from_step_)
      throw std::runtime_error("the flaw of gradient");
    auto weights = weights_.f32();
    auto slope = out["weights"].f32();
    troupe::Loss loss;
    for (auto id : batch.ids()) {
      auto k = static_cast<std::size_t>(id % width);
      float noise = flaw_ == "rand" ? static_cast<float>(rand() % 7) : 0.0F; // tidy: allow(random) the flaw itself
      float miss = weights[k] - std::sqrt(static_cast<float>(id % 97)) * 0.1F - noise;
      slope[k] += miss;
      loss.sum += 0.5 * static_cast<double>(miss) * static_cast<double>(miss);
      loss.weight += 1;
    }
    if (flaw_ == "state in gradient")
      seen_.f32()[0] += static_cast<float>(batch.size());
    return loss;
  }

  void update(troupe::Model&, const troupe::Gradients& mean, const troupe::StepInfo& info) override {
    if (flaw_ == "update throws" && info.step().value >= from_step_)
      throw std::runtime_error("the flaw of update");
    ++updates_;
    float rate = flaw_ == "counter" ? 1.0F / static_cast<float>(updates_) : 0.5F;
    auto weights = weights_.f32();
    auto slope = mean["weights"].f32();
    for (std::size_t k = 0; k < width; ++k)
      weights[k] -= rate * slope[k];
  }

private:
  static constexpr std::size_t width = 8;
  std::string flaw_;
  std::uint64_t from_step_ = 0;
  troupe::Tensor weights_;
  troupe::Tensor seen_;
  std::uint64_t updates_ = 0;
};

} // namespace

TROUPE_TRAINER(Flawed)

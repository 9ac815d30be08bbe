// A trainer in thirty lines: fits y = w · x + b to rows of numbers by gradient descent. A job file names the
// data (plane.toml, plane.csv: four columns of x, then y as an integer).
#include <troupe/trainer.hpp>

class Plane : public troupe::Trainer {
public:
  void build(troupe::Model& model, const troupe::Config& config) override {
    weights_ = model.parameter("weights", {5}, troupe::normal(0.1)); // w and, last, b
    rate_ = static_cast<float>(config.number("learning_rate", 0.1));
  }

  troupe::Loss gradient(const troupe::Model&, const troupe::Batch& batch, troupe::Gradients& out) override {
    auto x = batch.f32("features");
    auto y = batch.i32("label");
    auto slope = out["weights"].f32();
    double loss = 0;
    for (std::size_t s = 0; s < batch.size(); ++s) {
      const float error = predict(&x[s * 4]) - static_cast<float>(y[s]);
      loss += 0.5 * error * error;
      for (std::size_t i = 0; i < 4; ++i)
        slope[i] += error * x[s * 4 + i];
      slope[4] += error;
    }
    return {loss, static_cast<double>(batch.size())};
  }

  void update(troupe::Model&, const troupe::Gradients& mean, const troupe::StepInfo&) override {
    for (std::size_t i = 0; i < 5; ++i)
      weights_.f32()[i] -= rate_ * mean["weights"].f32()[i];
  }

  void evaluate(const troupe::Model&, const troupe::Batch& batch, troupe::Metrics& metrics) override {
    for (std::size_t s = 0; s < batch.size(); ++s) {
      const float error = predict(&batch.f32("features")[s * 4]) - static_cast<float>(batch.i32("label")[s]);
      metrics.add("squared_error", error * error, 1);
    }
  }

private:
  float predict(const float* x) const {
    auto w = weights_.f32();
    return ((w[0] * x[0] + w[1] * x[1]) + (w[2] * x[2] + w[3] * x[3])) + w[4];
  }

  troupe::Tensor weights_;
  float rate_ = 0;
};

TROUPE_TRAINER(Plane)

// Handwritten digits, 8 x 8 pixels: a multi-layer perceptron 64 - hidden - 10 with ReLU and softmax cross
// entropy, trained with Adam. Plain C++ without threads. All state is registered, Adam's moments and step
// counter too, so the job may lose any worker at any instruction. Every sum has a fixed order, so the bits
// depend on nothing but the job.
#include <troupe/trainer.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace {

using troupe::Batch;
using troupe::ConstTensor;
using troupe::Gradients;
using troupe::Model;
using troupe::StepInfo;
using troupe::Tensor;

constexpr std::size_t pixels = 64;
constexpr std::size_t classes = 10;

/// Dot product in eight lanes: vectorises, and the order of additions is fixed.
float dot(const float* a, const float* b, std::size_t n) {
  std::array<float, 8> lane{};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; ++j)
      lane[j] += a[i + j] * b[i + j];
  for (std::size_t j = 0; i < n; ++i, ++j)
    lane[j] += a[i] * b[i];
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/// y += a * x
void add_scaled(float* __restrict y, const float* __restrict x, float a, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] += a * x[i];
}

class Digits final : public troupe::Trainer {
public:
  void build(Model& model, const troupe::Config& config) override {
    const auto hidden = config.integer("hidden", 128);
    if (hidden <= 0)
      throw troupe::ConfigError("hidden must be a positive number, got " + std::to_string(hidden) + " (" +
                                config.where("hidden") + ")");
    hidden_ = static_cast<std::size_t>(hidden);
    learning_rate_ = static_cast<float>(config.number("learning_rate", 0.002));
    beta1_ = config.number("beta1", 0.9);
    beta2_ = config.number("beta2", 0.999);
    epsilon_ = static_cast<float>(config.number("epsilon", 1e-8));
    weight_decay_ = static_cast<float>(config.number("weight_decay", 0.01));

    add(model, 0, "w1", {64, hidden}, troupe::normal(std::sqrt(2.0 / pixels)));
    add(model, 1, "b1", {hidden}, troupe::zeros());
    add(model, 2, "w2", {10, hidden}, troupe::normal(std::sqrt(2.0 / static_cast<double>(hidden))));
    add(model, 3, "b2", {10}, troupe::zeros());
    steps_ = model.scalar("adam/steps");
    activation_.resize(hidden_);
    error_.resize(hidden_);
  }

  troupe::Loss gradient(const Model&, const Batch& batch, Gradients& out) override {
    const auto features = batch.f32("features");
    const auto labels = batch.i32("label");
    auto* dw1 = out["w1"].f32().data();
    auto* db1 = out["b1"].f32().data();
    auto* dw2 = out["w2"].f32().data();
    auto* db2 = out["b2"].f32().data();
    double loss = 0;
    for (std::size_t s = 0; s < batch.size(); ++s) {
      const float* x = features.data() + s * pixels;
      const auto label = static_cast<std::size_t>(labels[s]);
      auto p = forward(x);
      loss += cross_entropy(p, label);
      p[label] -= 1; // derivative of the loss by the logits
      std::fill(error_.begin(), error_.end(), 0.0F);
      for (std::size_t o = 0; o < classes; ++o) {
        db2[o] += p[o];
        add_scaled(dw2 + o * hidden_, activation_.data(), p[o], hidden_);
        add_scaled(error_.data(), parameter_[2].f32().data() + o * hidden_, p[o], hidden_);
      }
      for (std::size_t h = 0; h < hidden_; ++h)
        error_[h] = activation_[h] > 0 ? error_[h] : 0;
      add_scaled(db1, error_.data(), 1, hidden_);
      for (std::size_t i = 0; i < pixels; ++i)
        if (x[i] != 0) // half of the pixels are white
          add_scaled(dw1 + i * hidden_, error_.data(), x[i], hidden_);
    }
    return {loss, static_cast<double>(batch.size())};
  }

  void update(Model&, const Gradients& mean, const StepInfo& info) override {
    const double t = steps_.get() + 1;
    steps_.set(t);
    const auto correction1 = static_cast<float>(1 / (1 - std::pow(beta1_, t)));
    const auto correction2 = static_cast<float>(1 / (1 - std::pow(beta2_, t)));
    // Cosine from the learning rate to a tenth of it.
    const double done = static_cast<double>(info.step().value) / static_cast<double>(info.total_steps());
    const auto rate =
      learning_rate_ * static_cast<float>(0.1 + 0.9 * 0.5 * (1 + std::cos(3.14159265358979323846 * done)));
    for (std::size_t k = 0; k < parameter_.size(); ++k) {
      const float decay = k % 2 == 0 ? weight_decay_ : 0; // not on biases
      adam(parameter_[k].f32().data(), first_[k].f32().data(), second_[k].f32().data(),
           mean[parameter_[k].name()].f32().data(), parameter_[k].size(), rate, decay, correction1,
           correction2);
    }
  }

  void evaluate(const Model&, const Batch& batch, troupe::Metrics& metrics) override {
    const auto features = batch.f32("features");
    const auto labels = batch.i32("label");
    double correct = 0;
    double loss = 0;
    for (std::size_t s = 0; s < batch.size(); ++s) {
      const auto p = forward(features.data() + s * pixels);
      const auto label = static_cast<std::size_t>(labels[s]);
      const auto guess = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
      correct += guess == label ? 1 : 0;
      loss += cross_entropy(p, label);
    }
    const auto count = static_cast<double>(batch.size());
    metrics.add("test_accuracy", correct, count);
    metrics.add("test_loss", loss, count);
  }

private:
  void add(Model& model, std::size_t k, const std::string& name, troupe::Shape shape,
           troupe::Initialiser init) {
    parameter_[k] = model.parameter(name, shape, std::move(init));
    first_[k] = model.buffer("adam/m/" + name, shape);
    second_[k] = model.buffer("adam/v/" + name, shape);
  }

  /// Probabilities of the classes; leaves the hidden layer in activation_.
  std::array<float, classes> forward(const float* x) {
    const float* w1 = parameter_[0].f32().data();
    const float* b1 = parameter_[1].f32().data();
    const float* w2 = parameter_[2].f32().data();
    const float* b2 = parameter_[3].f32().data();
    std::copy_n(b1, hidden_, activation_.begin());
    for (std::size_t i = 0; i < pixels; ++i)
      if (x[i] != 0)
        add_scaled(activation_.data(), w1 + i * hidden_, x[i], hidden_);
    for (auto& a : activation_)
      a = a > 0 ? a : 0;
    std::array<float, classes> p;
    for (std::size_t o = 0; o < classes; ++o)
      p[o] = b2[o] + dot(w2 + o * hidden_, activation_.data(), hidden_);
    const float largest = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (auto& v : p) {
      v = std::exp(v - largest);
      sum += v;
    }
    for (auto& v : p)
      v /= sum;
    return p;
  }

  static double cross_entropy(const std::array<float, classes>& p, std::size_t label) {
    return -std::log(std::max(static_cast<double>(p[label]), 1e-30));
  }

  void adam(float* __restrict w, float* __restrict m, float* __restrict v, const float* __restrict g,
            std::size_t n, float rate, float decay, float correction1, float correction2) const {
    const auto b1 = static_cast<float>(beta1_);
    const auto b2 = static_cast<float>(beta2_);
    const float epsilon = epsilon_;
    for (std::size_t i = 0; i < n; ++i) {
      m[i] = b1 * m[i] + (1 - b1) * g[i];
      v[i] = b2 * v[i] + (1 - b2) * (g[i] * g[i]);
      w[i] -= rate * (m[i] * correction1 / (std::sqrt(v[i] * correction2) + epsilon) + decay * w[i]);
    }
  }

  std::size_t hidden_ = 0;
  float learning_rate_ = 0;
  double beta1_ = 0;
  double beta2_ = 0;
  float epsilon_ = 0;
  float weight_decay_ = 0;
  std::array<Tensor, 4> parameter_; // w1 [64, hidden], b1 [hidden], w2 [10, hidden], b2 [10]
  std::array<Tensor, 4> first_;     // Adam's moments, same shapes
  std::array<Tensor, 4> second_;
  troupe::Scalar steps_;          // Adam's step counter: state like any other
  std::vector<float> activation_; // scratch of one call; nothing in it outlives the call
  std::vector<float> error_;
};

} // namespace

TROUPE_TRAINER(Digits)

// Softmax regression on the digits, as small as a trainer gets: weights [10, 65] (the last column is the
// bias), plain gradient descent. Shared by the examples that show something else than a model.
#pragma once

#include <troupe/trainer.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace example {

constexpr std::size_t pixels = 64;
constexpr std::size_t classes = 10;
constexpr std::size_t row = pixels + 1;

inline std::array<float, classes> probabilities(const float* weights, const float* x) {
  std::array<float, classes> p;
  for (std::size_t o = 0; o < classes; ++o) {
    const float* w = weights + o * row;
    p[o] = w[pixels];
    for (std::size_t i = 0; i < pixels; ++i)
      p[o] += w[i] * x[i];
  }
  const float largest = *std::max_element(p.begin(), p.end());
  float sum = 0;
  for (auto& v : p)
    sum += v = std::exp(v - largest);
  for (auto& v : p)
    v /= sum;
  return p;
}

/// Adds the gradient of the batch's summed loss to `out` and returns that loss.
inline troupe::Loss add_gradient(const float* weights, const troupe::Batch& batch, float* out) {
  const auto features = batch.f32("features");
  const auto labels = batch.i32("label");
  double loss = 0;
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const float* x = features.data() + s * pixels;
    const auto label = static_cast<std::size_t>(labels[s]);
    auto p = probabilities(weights, x);
    loss -= std::log(std::max(static_cast<double>(p[label]), 1e-30));
    p[label] -= 1;
    for (std::size_t o = 0; o < classes; ++o) {
      for (std::size_t i = 0; i < pixels; ++i)
        out[o * row + i] += p[o] * x[i];
      out[o * row + pixels] += p[o];
    }
  }
  return {loss, static_cast<double>(batch.size())};
}

inline void descend(std::span<float> weights, std::span<const float> mean, float rate) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] -= rate * mean[i];
}

inline double correct(const float* weights, const troupe::Batch& batch) {
  const auto features = batch.f32("features");
  const auto labels = batch.i32("label");
  double count = 0;
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const auto p = probabilities(weights, features.data() + s * pixels);
    count += std::max_element(p.begin(), p.end()) - p.begin() == labels[s] ? 1 : 0;
  }
  return count;
}

} // namespace example

// SPDX-License-Identifier: Apache-2.0
// A batch of generated samples, a small model, and a comparison of its gradients with finite
// differences of the loss.
#pragma once

#include "learning/encoder.hpp"
#include "learning/loss.hpp"
#include "linked_operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace learning_tests {

using namespace learning;

/// Generated samples of `shape` with various lengths, among them 1.
template <class T>
struct generated_batch {
  explicit generated_batch(sample_shape batch_shape, index_t size = 4) : shape(batch_shape) {
    random_stream const random(11, 5);
    std::uint64_t draw_index = 0;
    for (index_t b = 0; b < size; ++b) {
      lengths.push_back(b == 1 ? 1 : batch_shape.length - b % 3);
      labels.push_back(static_cast<std::int32_t>(random.below(draw_index++, batch_shape.outputs)));
      targets.push_back(static_cast<T>(random.unit(draw_index++)));
      for (index_t n = 0; n < batch_shape.length; ++n) {
        bool const valid = n < lengths.back();
        if (batch_shape.features == 0)
          tokens.push_back(
              valid ? static_cast<std::int32_t>(random.below(draw_index++, batch_shape.vocabulary))
                    : 0);
        for (index_t f = 0; f < batch_shape.features; ++f)
          features.push_back(valid ? static_cast<T>(random.normal(draw_index++)) : T(0));
      }
    }
  }
  batch<T> view() const {
    auto const size = static_cast<index_t>(labels.size());
    return {size,          shape,         tokens.data(), features.data(), {lengths.data(), size},
            labels.data(), targets.data()};
  }

  sample_shape shape;
  std::vector<std::int32_t> tokens, labels;
  std::vector<T> features, targets;
  std::vector<index_t> lengths;
};

/// Runs forward and backward of a model as a trainer does.
template <class T>
class model_runner {
 public:
  model_runner(model<T>& model, batch<T> const& input, unsigned threads = 1)
      : threads_(threads),
        input_(input),
        model_(model),
        context_{threads_, memory_},
        dy_(static_cast<std::size_t>(input.size * input.shape.outputs)) {
    context_.seed = 3, context_.pass = 2;
    compute_gradients();  // only measures the memory
    memory_.allocate();
  }

  memory& stack() { return memory_; }
  /// Computes the gradients of the loss into the model's gradient array. Returns the loss.
  double compute_gradients() {
    std::fill(model_.params().gradients().begin(), model_.params().gradients().end(), T(0));
    double const result = compute_loss();
    model_.backward(context_, input_, output_matrix(dy_.data()));
    return result;
  }
  /// Computes the loss.
  double compute_loss(bool training = true) {
    memory_.clear();
    context_.training = training;
    matrix<T> const y = output_matrix(context_.keep(input_.size * input_.shape.outputs));
    model_.forward(context_, input_, y);
    if (memory_.is_counting()) return 0;
    y_.assign(y.data, y.data + y.rows * y.columns);
    return loss<T>(input_, y, output_matrix(dy_.data()), input_.size).mean_loss();
  }
  std::vector<T> const& outputs() const { return y_; }

 private:
  matrix<T> output_matrix(T* data) const { return {data, input_.size, input_.shape.outputs}; }

  thread_pool threads_;
  memory memory_;
  batch<T> input_;
  model<T>& model_;
  context<T> context_;
  std::vector<T> dy_, y_;
};

/// Compares every gradient of a model with central differences of the loss.
inline void check_gradients(model<double>& model, batch<double> const& input) {
  model_runner<double> runner(model, input);
  runner.compute_gradients();
  std::vector<double> const gradients = model.params().gradients();
  for (auto const& entry : model.params().entries()) {
    CAPTURE(std::string(entry.name));
    double largest = 0;
    for (index_t i = 0; i < entry.size; ++i) {
      auto const n = static_cast<std::size_t>(entry.offset + i);
      double& value = model.params().values()[n];
      double const before = value;
      constexpr double step = 1e-5;  // balances truncation and rounding errors
      value = before + step;
      double const above = runner.compute_loss();
      value = before - step;
      double const below = runner.compute_loss();
      value = before;
      CAPTURE(i);
      CHECK(gradients[n] ==
            doctest::Approx((above - below) / (2 * step)).epsilon(1e-5).scale(1e-3));
      largest = std::max(largest, std::fabs(gradients[n]));
    }
    // A gradient of zeros was not computed.
    CHECK(largest > 1e-6);
  }
}

/// Checks that the uninitialized memory of padding rows affects neither outputs nor gradients.
inline void check_undefined_memory(model<double>& model, batch<double> const& input) {
  model_runner<double> runner(model, input);
  std::vector<double> results[2];
  for (double const padding_value : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    runner.stack().clear();
    auto const count = static_cast<index_t>(runner.stack().bytes() / sizeof(double));
    std::fill_n(runner.stack().keep<double>(count), count, padding_value);
    runner.compute_gradients();
    std::vector<double>& result = results[padding_value == 0 ? 0 : 1];
    result = model.params().gradients();
    result.insert(result.end(), runner.outputs().begin(), runner.outputs().end());
  }
  CHECK(results[0] == results[1]);  // fails for NaN
}

/// A small model of two layers that uses every component.
inline encoder_config small_encoder() {
  encoder_config config;
  config.width = 8, config.layers = 2, config.hidden = 12, config.head_hidden = 6;
  config.rules.dropout = 0.2;
  return config;
}
inline sample_shape small_tokens() { return {9, 0, 5, 3, 0}; }
inline sample_shape small_features() { return {9, 2, 0, 1, 0.1F}; }

}  // namespace learning_tests

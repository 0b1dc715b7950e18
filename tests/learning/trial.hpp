// SPDX-License-Identifier: Apache-2.0
// One batch of made-up samples, a model of a few thousand parameters, and its gradients held
// against differences of its loss.
#pragma once

#include "learning/encoder.hpp"
#include "learning/loss.hpp"
#include "linked_operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace learning_tests {

using namespace learning;

/// Samples of `shape`, with lengths that differ, among them 1.
template <class T>
struct made_up_batch {
  explicit made_up_batch(sample_shape s, index_t size = 4) : shape(s) {
    random_stream const random(11, 5);
    std::uint64_t place = 0;
    for (index_t b = 0; b < size; ++b) {
      lengths.push_back(b == 1 ? 1 : s.length - b % 3);
      labels.push_back(static_cast<std::int32_t>(random.below(place++, s.outputs)));
      targets.push_back(static_cast<T>(random.unit(place++)));
      for (index_t n = 0; n < s.length; ++n) {
        bool const valid = n < lengths.back();
        if (s.features == 0)
          tokens.push_back(valid ? static_cast<std::int32_t>(random.below(place++, s.vocabulary))
                                 : 0);
        for (index_t f = 0; f < s.features; ++f)
          numbers.push_back(valid ? static_cast<T>(random.normal(place++)) : T(0));
      }
    }
  }
  batch<T> view() const {
    auto const size = static_cast<index_t>(labels.size());
    return {size,          shape,         tokens.data(), numbers.data(), {lengths.data(), size},
            labels.data(), targets.data()};
  }

  sample_shape shape;
  std::vector<std::int32_t> tokens, labels;
  std::vector<T> numbers, targets;
  std::vector<index_t> lengths;
};

/// Runs steps of a model as a trainer does.
template <class T>
class trial {
 public:
  trial(model<T>& m, batch<T> const& in, unsigned threads = 1)
      : pool_(threads),
        in_(in),
        model_(m),
        call_{pool_, memory_},
        dy_(static_cast<std::size_t>(in.size * in.shape.outputs)) {
    call_.seed = 3, call_.step = 2;
    gradients();  // counts
    memory_.allocate();
  }

  memory& stack() { return memory_; }
  /// Of the loss, in the model's gradient array, which is set to 0 before. Returns the loss.
  double gradients() {
    std::fill(model_.learned().gradients().begin(), model_.learned().gradients().end(), T(0));
    double const result = forward();
    model_.backward(call_, in_, answers(dy_.data()));
    return result;
  }
  /// The loss alone.
  double forward(bool training = true) {
    memory_.clear();
    call_.training = training;
    matrix<T> const y = answers(call_.keep(in_.size * in_.shape.outputs));
    model_.forward(call_, in_, y);
    if (memory_.counting()) return 0;
    y_.assign(y.data, y.data + y.rows * y.columns);
    return loss<T>(in_, y, answers(dy_.data())).mean_loss();
  }
  std::vector<T> const& outputs() const { return y_; }

 private:
  matrix<T> answers(T* data) const { return {data, in_.size, in_.shape.outputs}; }

  thread_pool pool_;
  memory memory_;
  batch<T> in_;
  model<T>& model_;
  call<T> call_;
  std::vector<T> dy_, y_;
};

/// Holds every gradient of a model against a central difference of the loss.
inline void check_gradients(model<double>& m, batch<double> const& in) {
  trial<double> run(m, in);
  run.gradients();
  std::vector<double> const all = m.learned().gradients();
  for (auto const& entry : m.learned().entries()) {
    CAPTURE(std::string(entry.name));
    double largest = 0;
    for (index_t i = 0; i < entry.size; ++i) {
      auto const at = static_cast<std::size_t>(entry.at + i);
      double& value = m.learned().values()[at];
      double const before = value;
      constexpr double step = 1e-5;  // of the difference's error, cubed terms and rounding balance
      value = before + step;
      double const above = run.forward();
      value = before - step;
      double const below = run.forward();
      value = before;
      CAPTURE(i);
      CHECK(all[at] == doctest::Approx((above - below) / (2 * step)).epsilon(1e-5).scale(1e-3));
      largest = std::max(largest, std::fabs(all[at]));
    }
    // A gradient that is 0 everywhere is one that nobody formed.
    CHECK(largest > 1e-6);
  }
}

/// A model of two layers that has little of everything.
inline encoder_config small_encoder() {
  encoder_config with;
  with.width = 8, with.layers = 2, with.hidden = 12, with.head_hidden = 6;
  with.rules.dropout = 0.2;
  return with;
}
inline sample_shape small_tokens() { return {9, 0, 5, 3, 0}; }
inline sample_shape small_numbers() { return {9, 2, 0, 1, 0.1F}; }

}  // namespace learning_tests

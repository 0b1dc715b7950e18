// SPDX-License-Identifier: Apache-2.0
// Losses with the gradients of their means, and the number of correct outputs.
#pragma once

#include "learning/context.hpp"

#include <algorithm>
#include <cmath>

namespace learning {

/// Sums over a batch.
struct score {
  double loss = 0;
  index_t correct = 0, samples = 0;

  void add(score const& other) {
    loss += other.loss, correct += other.correct, samples += other.samples;
  }
  double mean_loss() const { return loss / static_cast<double>(std::max<index_t>(samples, 1)); }
  double accuracy() const {
    return static_cast<double>(correct) / static_cast<double>(std::max<index_t>(samples, 1));
  }
};

/// Cross entropy of `[batch, classes]` with the labels, `-log softmax(y)[label]`; the gradient is
/// that of the mean over `samples`, `(softmax(y) - one hot) / samples`. A sample is correct if its
/// first maximum is the label.
template <class T>
score cross_entropy(batch<T> const& input, matrix<T const> y, matrix<T> dy, index_t samples) {
  score total;
  for (index_t b = 0; b < y.rows; ++b) {
    T const* const row = y.row(b);
    index_t const label = input.labels[b];
    T const* const largest = std::max_element(row, row + y.columns);
    double sum = 0;
    for (index_t i = 0; i < y.columns; ++i) sum += std::exp(static_cast<double>(row[i] - *largest));
    total.loss += std::log(sum) - static_cast<double>(row[label] - *largest);
    total.correct += largest - row == label ? 1 : 0;
    for (index_t i = 0; i < y.columns; ++i) {
      double const probability = std::exp(static_cast<double>(row[i] - *largest)) / sum;
      dy.row(b)[i] =
          static_cast<T>((probability - (i == label ? 1 : 0)) / static_cast<double>(samples));
    }
  }
  total.samples = y.rows;
  return total;
}

/// Square error of `[batch, 1]` with the targets; the gradient is that of the mean over `samples`.
/// A sample is correct if its error is below the task's tolerance.
template <class T>
score square_error(batch<T> const& input, matrix<T const> y, matrix<T> dy, index_t samples) {
  score total;
  for (index_t b = 0; b < y.rows; ++b) {
    double const error = static_cast<double>(y.row(b)[0]) - static_cast<double>(input.targets[b]);
    total.loss += error * error;
    total.correct += std::fabs(error) < static_cast<double>(input.shape.tolerance) ? 1 : 0;
    dy.row(b)[0] = static_cast<T>(2 * error / static_cast<double>(samples));
  }
  total.samples = y.rows;
  return total;
}

template <class T>
score loss(batch<T> const& input, matrix<T const> y, matrix<T> dy, index_t samples) {
  return input.shape.classifies() ? cross_entropy(input, y, dy, samples)
                                  : square_error(input, y, dy, samples);
}

}  // namespace learning

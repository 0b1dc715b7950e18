// SPDX-License-Identifier: Apache-2.0
// Losses, means over a batch, with their gradients; and how many answers are right.
#pragma once

#include "learning/call.hpp"

#include <algorithm>
#include <cmath>

namespace learning {

/// Sums over a batch.
struct score {
  double loss = 0;
  index_t right = 0, samples = 0;

  void add(score const& other) {
    loss += other.loss, right += other.right, samples += other.samples;
  }
  double mean_loss() const { return loss / static_cast<double>(std::max<index_t>(samples, 1)); }
  double accuracy() const {
    return static_cast<double>(right) / static_cast<double>(std::max<index_t>(samples, 1));
  }
};

/// Cross entropy of `[batch, classes]` with the labels, `-log softmax(y)[label]`; the gradient is
/// `(softmax(y) - one hot) / batch`. Right is a sample whose first greatest output is its label.
template <class T>
score cross_entropy(batch<T> const& in, matrix<T const> y, matrix<T> dy) {
  score all;
  for (index_t b = 0; b < y.rows; ++b) {
    T const* const row = y.row(b);
    index_t const label = in.labels[b];
    T const* const greatest = std::max_element(row, row + y.columns);
    double sum = 0;
    for (index_t i = 0; i < y.columns; ++i)
      sum += std::exp(static_cast<double>(row[i] - *greatest));
    all.loss += std::log(sum) - static_cast<double>(row[label] - *greatest);
    all.right += greatest - row == label ? 1 : 0;
    for (index_t i = 0; i < y.columns; ++i) {
      double const share = std::exp(static_cast<double>(row[i] - *greatest)) / sum;
      dy.row(b)[i] = static_cast<T>((share - (i == label ? 1 : 0)) / static_cast<double>(y.rows));
    }
  }
  all.samples = y.rows;
  return all;
}

/// Mean square error of `[batch, 1]` with the targets. Right is a number nearer than the task's
/// tolerance.
template <class T>
score square_error(batch<T> const& in, matrix<T const> y, matrix<T> dy) {
  score all;
  for (index_t b = 0; b < y.rows; ++b) {
    double const error = static_cast<double>(y.row(b)[0]) - static_cast<double>(in.targets[b]);
    all.loss += error * error;
    all.right += std::fabs(error) < static_cast<double>(in.shape.tolerance) ? 1 : 0;
    dy.row(b)[0] = static_cast<T>(2 * error / static_cast<double>(y.rows));
  }
  all.samples = y.rows;
  return all;
}

template <class T>
score loss(batch<T> const& in, matrix<T const> y, matrix<T> dy) {
  return in.shape.classifies() ? cross_entropy(in, y, dy) : square_error(in, y, dy);
}

}  // namespace learning

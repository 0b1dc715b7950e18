// SPDX-License-Identifier: Apache-2.0
// Pooling: reduces the rows of a sample to one.
#pragma once

#include "learning/context.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace learning {

/// Row 0 (the class token), the mean or the maximum of the valid rows per channel, or all rows
/// concatenated, padding included. The gradient of a maximum goes to its first row.
enum class pooling { cls, mean, max, flatten };

template <class T>
class pool {
 public:
  pool(pooling kind, index_t rows, index_t width) : kind_(kind), rows_(rows), width_(width) {}

  index_t outputs() const { return kind_ == pooling::flatten ? rows_ * width_ : width_; }

  /// `[batch, rows, width]` -> `[batch, outputs]`. A sample without valid rows gives zeros.
  void forward(context<T>& c, tensor3<T const> x, matrix<T> y) {
    if (kind_ == pooling::max) argmax_ = c.template keep<std::int32_t>(y.rows * width_);
    each_sample(c, y.rows, [&](index_t b) {
      T const* const from = &x(b, 0, 0);
      T* const to = y.row(b);
      if (kind_ == pooling::cls || kind_ == pooling::flatten)
        return void(std::copy_n(from, outputs(), to));
      std::fill_n(to, width_, T(0));
      index_t const valid = c.valid_rows(b, rows_);
      if (kind_ == pooling::max) return reduce_max(from, valid, to, argmax_ + b * width_);
      for (index_t n = 0; n < valid; ++n)
        for (index_t i = 0; i < width_; ++i) to[i] += from[n * width_ + i];
      for (index_t i = 0; i < width_; ++i) to[i] *= share(valid);
    });
  }
  /// Writes dx except padding; `flatten` has no padding.
  void backward(context<T>& c, matrix<T const> dy, tensor3<T> dx) const {
    each_sample(c, dy.rows, [&](index_t b) {
      T const* const from = dy.row(b);
      T* const to = &dx(b, 0, 0);
      index_t const valid = c.valid_rows(b, rows_);
      if (kind_ != pooling::flatten) std::fill_n(to, valid * width_, T(0));
      if (kind_ == pooling::cls || kind_ == pooling::flatten)
        std::copy_n(from, outputs(), to);
      else if (kind_ == pooling::max)
        for (index_t i = 0; valid > 0 && i < width_; ++i)
          to[argmax_[b * width_ + i] * width_ + i] = from[i];
      else
        for (index_t n = 0; n < valid; ++n)
          for (index_t i = 0; i < width_; ++i) to[n * width_ + i] = from[i] * share(valid);
    });
  }

 private:
  template <class F>
  static void each_sample(context<T>& c, index_t samples, F const& f) {
    c.compute([&] {
      c.threads.parallel_for(static_cast<unsigned>(samples),
                             [&](unsigned b) { f(static_cast<index_t>(b)); });
    });
  }
  static T share(index_t valid) { return valid > 0 ? 1 / static_cast<T>(valid) : T(0); }
  void reduce_max(T const* from, index_t valid, T* to, std::int32_t* indices) const {
    for (index_t n = 0; n < valid; ++n)
      for (index_t i = 0; i < width_; ++i)
        if (n == 0 || from[n * width_ + i] > to[i])
          to[i] = from[n * width_ + i], indices[i] = static_cast<std::int32_t>(n);
  }

  pooling kind_;
  index_t rows_, width_;
  std::int32_t* argmax_ = nullptr;
};

}  // namespace learning

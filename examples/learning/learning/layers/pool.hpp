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

  /// `[batch, rows, width]` -> `[batch, outputs]`. Samples without valid rows become zeros.
  void forward(context<T>& c, tensor3<T const> x, matrix<T> y) {
    if (kind_ == pooling::max) argmax_ = c.template keep<std::int32_t>(y.rows * width_);
    for_each_sample(c, y.rows, [&](index_t b) {
      T const* const x_rows = &x(b, 0, 0);
      T* const y_row = y.row(b);
      if (kind_ == pooling::cls || kind_ == pooling::flatten)
        return void(std::copy_n(x_rows, outputs(), y_row));
      std::fill_n(y_row, width_, T(0));
      index_t const valid = c.valid_rows(b, rows_);
      if (kind_ == pooling::max) return reduce_max(x_rows, valid, y_row, argmax_ + b * width_);
      for (index_t n = 0; n < valid; ++n)
        for (index_t i = 0; i < width_; ++i) y_row[i] += x_rows[n * width_ + i];
      for (index_t i = 0; i < width_; ++i) y_row[i] *= weight(valid);
    });
  }
  /// Writes dx except padding; `flatten` has no padding.
  void backward(context<T>& c, matrix<T const> dy, tensor3<T> dx) const {
    for_each_sample(c, dy.rows, [&](index_t b) {
      T const* const dy_row = dy.row(b);
      T* const dx_rows = &dx(b, 0, 0);
      index_t const valid = c.valid_rows(b, rows_);
      if (kind_ != pooling::flatten) std::fill_n(dx_rows, valid * width_, T(0));
      if (kind_ == pooling::cls || kind_ == pooling::flatten)
        std::copy_n(dy_row, outputs(), dx_rows);
      else if (kind_ == pooling::max)
        for (index_t i = 0; valid > 0 && i < width_; ++i)
          dx_rows[argmax_[b * width_ + i] * width_ + i] = dy_row[i];
      else
        for (index_t n = 0; n < valid; ++n)
          for (index_t i = 0; i < width_; ++i) dx_rows[n * width_ + i] = dy_row[i] * weight(valid);
    });
  }

 private:
  template <class F>
  static void for_each_sample(context<T>& c, index_t samples, F const& f) {
    auto const count = static_cast<unsigned>(samples);
    c.compute([&] { c.threads.parallel_for(count, [&](unsigned b) { f(index_t{b}); }); });
  }
  // Returns the weight of a row in the mean.
  static T weight(index_t valid) { return valid > 0 ? 1 / static_cast<T>(valid) : T(0); }
  void reduce_max(T const* rows, index_t valid, T* maxima, std::int32_t* indices) const {
    for (index_t n = 0; n < valid; ++n)
      for (index_t i = 0; i < width_; ++i)
        if (n == 0 || rows[n * width_ + i] > maxima[i])
          maxima[i] = rows[n * width_ + i], indices[i] = static_cast<std::int32_t>(n);
  }

  pooling kind_;
  index_t rows_, width_;
  std::int32_t* argmax_ = nullptr;
};

}  // namespace learning

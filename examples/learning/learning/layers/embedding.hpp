// SPDX-License-Identifier: Apache-2.0
// Maps samples to rows: embeds tokens or features, prepends a class token, and adds positions.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/dropout.hpp"
#include "learning/layers/linear.hpp"
#include "learning/layers/parameter_scope.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace learning {

/// Positions: none, sines and cosines of `i / 10000^(2k / C)` in even and odd channels, or learned.
enum class positions { none, sinusoid, learned };

/// Row i of the result is `drop(table[token i] + position i)`; numeric features use `W x + b`
/// instead of the table. A class token is an additional row 0, initialized to zeros, which also has
/// a position.
template <class T>
class embedding {
 public:
  embedding(parameter_scope<T> const& scope, sample_shape input, bool class_token,
            positions position_kind)
      : width_(scope.width),
        rows_(input.length + (class_token ? 1 : 0)),
        class_rows_(class_token ? 1 : 0),
        drop_(scope.child("embedding")) {
    if (input.features > 0)
      input_layer_.emplace(scope.child("input"), input.features, width_);
    else
      table_ = scope.add("embedding.weight", {input.vocabulary, width_},
                         initializer::normal(scope.rules.token_deviation));
    if (class_token) class_ = scope.add("cls", {width_}, initializer::constant(0));
    if (position_kind == positions::learned)
      positions_ = scope.add("positions", {rows_, width_},
                             initializer::normal(scope.rules.position_deviation));
    if (position_kind == positions::sinusoid) compute_sinusoid();
  }

  /// Rows per sample, class token included.
  index_t rows() const { return rows_; }

  void forward(context<T>& c, batch<T> const& input, tensor3<T> x) const {
    if (input_layer_) embed_features(c, input, x);
    for_each_row(c, x, [&](index_t b, index_t n) {
      T* const row = &x(b, n, 0);
      if (n < class_rows_)
        std::copy_n(class_.value(), width_, row);
      else if (!input_layer_)
        std::copy_n(table_.value() + token(input, b, n) * width_, width_, row);
      if (T const* const row_position = position(n))
        for (index_t i = 0; i < width_; ++i) row[i] += row_position[i];
    });
    drop_.apply(c, flat(x));
  }
  /// Accumulates the parameter gradients. Overwrites dx.
  void backward(context<T>& c, batch<T> const& input, tensor3<T> dx) const {
    drop_.apply(c, flat(dx));
    reduce_over_samples(c, input.size, dx);
    if (input_layer_) {
      memory::scope const scope(c.stack);
      extents3 const e{input.size, rows_ - class_rows_, width_};
      tensor3<T> const rows = c.scratch(e);  // without class tokens
      c.compute([&] { std::fill_n(rows.data(), e.size(), T(0)); });
      for_each_row(c, dx, [&](index_t b, index_t n) {
        if (n >= class_rows_) std::copy_n(&dx(b, n, 0), width_, &rows(b, n - class_rows_, 0));
      });
      input_layer_->backward(c, input.feature_rows(), flat(rows));
    } else {
      c.reduce_rows(flat(dx), table_.size(), c.stack.is_counting() ? nullptr : table_.gradient(),
                    [&](index_t first, index_t count, T* partial) {
                      for (index_t r = first; r < first + count; ++r) {
                        index_t const b = r / rows_, n = r % rows_;
                        if (n < class_rows_) continue;
                        T* const row_gradient = partial + token(input, b, n) * width_;
                        for (index_t i = 0; i < width_; ++i) row_gradient[i] += dx(b, n, i);
                      }
                    });
    }
  }

 private:
  template <class F>
  void for_each_row(context<T>& c, tensor3<T> x, F const& f) const {
    c.for_each_row(flat(x), [&](index_t r) { f(r / rows_, r % rows_); });
  }
  index_t token(batch<T> const& input, index_t b, index_t n) const {
    return input.tokens[b * (rows_ - class_rows_) + n - class_rows_];
  }
  T const* position(index_t n) const {
    if (positions_.size() > 0) return positions_.value() + n * width_;
    return sinusoid_.empty() ? nullptr : sinusoid_.data() + n * width_;
  }
  void embed_features(context<T>& c, batch<T> const& input, tensor3<T> x) const {
    if (class_rows_ == 0) return input_layer_->forward(c, input.feature_rows(), flat(x));
    memory::scope const scope(c.stack);
    tensor3<T> const rows = c.scratch({input.size, rows_ - class_rows_, width_});
    input_layer_->forward(c, input.feature_rows(), flat(rows));
    for_each_row(c, x, [&](index_t b, index_t n) {
      if (n >= class_rows_) std::copy_n(&rows(b, n - class_rows_, 0), width_, &x(b, n, 0));
    });
  }
  // Accumulates the gradients of positions and class token in sample order.
  void reduce_over_samples(context<T>& c, index_t samples, tensor3<T> dx) const {
    c.each_tile(rows_, [&](index_t first, index_t count, index_t) {
      for (index_t b = 0; b < samples; ++b)
        for (index_t n = first; n < std::min(first + count, c.computed_rows(b, rows_)); ++n)
          for (index_t i = 0; i < width_; ++i) {
            if (positions_.size() > 0) positions_.gradient()[n * width_ + i] += dx(b, n, i);
            if (n < class_rows_) class_.gradient()[i] += dx(b, n, i);
          }
    });
  }
  void compute_sinusoid() {
    sinusoid_.resize(static_cast<std::size_t>(rows_ * width_));
    for (index_t n = 0; n < rows_; ++n)
      for (index_t i = 0; i < width_; ++i) {
        double const pair = static_cast<double>(i - i % 2) / static_cast<double>(width_);
        double const angle = static_cast<double>(n) * std::pow(1e4, -pair);
        sinusoid_[static_cast<std::size_t>(n * width_ + i)] =
            static_cast<T>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
  }

  index_t width_, rows_, class_rows_;
  dropout<T> drop_;
  std::optional<linear<T>> input_layer_;
  parameter<T> table_, class_, positions_;
  std::vector<T> sinusoid_;
};

}  // namespace learning

// SPDX-License-Identifier: Apache-2.0
// Multi-head linear attention: Linear Transformer, Performer, cosFormer and Random Feature
// Attention, which differ in their features and divisors.
#pragma once

#include "learning/mixers/multi_head.hpp"

#include <slicesort/linear_attention.hpp>
#include <slicesort/random_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace learning::mixers {

template <class Feature, class Divisor, class T>
class linear_attention_core : public qkv_core<T> {
 public:
  struct config {
    Feature feature{};
    Divisor divisor{};
    index_t rows = 0;  ///< random rows, for the features that have them; 0: D ln D
    ss::row_form form = ss::row_form::orthogonal_chi;
    std::uint64_t seed = 0;
  };

  linear_attention_core(parameter_scope<T> const& scope, head_shape shape, config const& options)
      : op_(options.feature, options.divisor), channels_(shape.channels) {
    if (!has_random_rows) return;
    auto const d = static_cast<double>(channels_);
    rows_ = options.rows > 0 ? options.rows
                             : std::max(index_t{1}, static_cast<index_t>(d * std::log(d)));
    random_.resize(static_cast<std::size_t>(rows_ * channels_));
    std::uint64_t const seed = random_stream(options.seed, stream_of(scope.name)).bits(0);
    ss::random_rows{seed, rows_, channels_, options.form}.write(
        tensor3<T>(random_.data(), {1, rows_, channels_}));
  }

  void forward(context<T>& c, head_tensors<T const> const& inputs, tensor4<T> y) {
    auto const scratch = scratch_of(c, y);
    c.compute([&] {
      op_.forward(c.exec(), with_random_rows(inputs), y, scratch,
                  ss::lengths(c.lengths, c.lengths));
    });
  }
  void backward(context<T>& c, tensor4<T const> dy, head_tensors<T const> const& inputs,
                tensor4<T const> y, head_tensors<T> const& grads) {
    auto const scratch = scratch_of(c, y);
    c.compute([&] {
      op_.backward(c.exec(), dy, with_random_rows(inputs), {grads.q, grads.k, grads.v}, scratch,
                   ss::lengths(c.lengths, c.lengths));
    });
  }

 private:
  static constexpr bool has_random_rows = std::is_same_v<Feature, ss::feature::random_exp> ||
                                          std::is_same_v<Feature, ss::feature::random_relu> ||
                                          std::is_same_v<Feature, ss::feature::random_fourier>;

  extents3 shape_of_rows() const {
    return has_random_rows ? extents3{1, rows_, channels_} : extents3{};
  }
  ss::linear_attention_inputs<T> with_random_rows(head_tensors<T const> const& inputs) const {
    return {inputs.q, inputs.k, inputs.v, {random_.data(), shape_of_rows()}};
  }
  ss::workspace scratch_of(context<T>& c, tensor4<T const> y) const {
    return workspace(
        c, op_.template workspace_bytes<T>(c.exec(), y.extents(), y.extents(), shape_of_rows()));
  }

  ss::linear_attention<Feature, Divisor> op_;
  index_t channels_, rows_ = 0;
  std::vector<T> random_;
};

/// `y = W_O (phi(Q) (phi(K)^T V)) / divisor`.
template <class Feature = ss::feature::elu_plus_one, class Divisor = ss::divisor::sum_plus,
          class T = float>
using linear_attention = multi_head<linear_attention_core<Feature, Divisor, T>>;

}  // namespace learning::mixers

// SPDX-License-Identifier: Apache-2.0
// Weights of the kernels in detail/attention/device that are functions of the score.
#pragma once

#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/device/weights.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/pointwise_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Weights of forward and backward. `Function` is prepared (prepare_score_function). Products are
// fused with 0, so that no compiler fuses them with a sum.
template <class Function, class T>
struct pointwise_weights {
  using element = T;
  using A = accumulator_t<T>;
  using stats = no_query_stats;
  static constexpr bool supports_dropout = false;

  Function function;
  bool per_key = false;  // true if the scale is 1 / (number of valid keys)

  template <class Block>
  SLICESORT_HD_INLINE A scale_of(Block& block, A scale, index_t keys) const {
    if (!per_key) return scale;
    return keys > 0 ? block.divide(A(1), static_cast<A>(keys)) : A(0);
  }

  template <int Rows>
  struct row_state {
    Function function;
    A factor;

    SLICESORT_HD_INLINE row_state(pointwise_weights const& weights, A scale, bool scales_scores)
        : function(weights.function), factor(scales_scores ? scale : A(1)) {}

    template <class Block, int Columns, class Outputs>
    SLICESORT_HD_INLINE void weigh(Block& block, register_tile<A, Rows, Columns>& s,
                                   Outputs&) const {
      SLICESORT_UNROLL
      for (int i = 0; i < s.count; ++i)
        s[i] = score_weight(function, block.fused_multiply_add(s[i], factor, A(0)));
    }
    template <class Block, class Scale, class Outputs>
    SLICESORT_HD_INLINE void finish(Block&, pointwise_weights const&, attention_task const&, int,
                                    index_t, Scale const&, Outputs&) const {}
  };

  template <class Block>
  SLICESORT_HD_INLINE weight_and_score_grad<A> weigh(Block& block, A product, A score_scale,
                                                     stats const*, A dweight) const {
    A const score = block.fused_multiply_add(product, score_scale, A(0));
    return {score_weight(function, score),
            block.fused_multiply_add(score_slope(function, score), dweight, A(0))};
  }
};

SLICESORT_DETAIL_END

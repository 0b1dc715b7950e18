// SPDX-License-Identifier: Apache-2.0
// Conversion of attention scores to softmax weights, and of weight gradients to score gradients:
// the `Weights` of the kernels in detail/attention/device.
#pragma once

#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/device/weights.hpp>
#include <slicesort/detail/attention/dropout.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>

SLICESORT_DETAIL_BEGIN

template <class A>
inline constexpr A log2_e = static_cast<A>(1.4426950408889634);

// Folds log2(e) into the scale for 16-bit types, which use exp2.
template <class T, class A>
SLICESORT_HD_INLINE A exp_factor_of(A scale) {
  return sizeof(T) == 2 ? scale * log2_e<A> : scale;
}
// Computes exp(x * scale) for x <= 0, where exp_factor = exp_factor_of(scale). Less accurate for
// 16-bit types, whose weights are rounded anyway.
template <class T, class Block, class A>
SLICESORT_HD_INLINE A exp_scaled(Block& block, A x, A exp_factor) {
  if constexpr (sizeof(T) == 2)
    return block.exp2(x * exp_factor);
  else
    return exp_at_most_one(block, x * exp_factor);
}

// Statistics of a query: maximum score, inverse sum of exponentials, and delta = <dy, y>. The
// inverse sum is 0 for queries that see no key and for padding.
template <class A>
struct alignas(16) query_stats {
  A max, inv_sum, delta, padding;
};

// Online softmax of the forward pass.
template <class T>
struct softmax_forward {
  using element = T;
  using A = accumulator_t<T>;
  static constexpr bool supports_dropout = true;

  tensor4<A> state{};  // [batch, heads, queries, 2]; empty if not saved
  dropout_config dropout{};

  template <class Block>
  static SLICESORT_HD_INLINE A scale_of(Block&, A scale, index_t) {
    return scale;
  }

  // Running maximum of each row, and sum of exponentials relative to it.
  template <int Rows>
  struct row_state {
    row_values<A, Rows> max, sum;
    bool scales;  // true if the exponential applies the scale of the scores
    A exp_factor;

    SLICESORT_HD_INLINE row_state(softmax_forward const&, A scale, bool scales_scores)
        : scales(scales_scores), exp_factor(exp_factor_of<T>(scales_scores ? scale : A(1))) {
      max.fill(minus_infinity<A>()), sum.fill(A(0));
    }

    // Turns S into P = exp(S - m) with the running maximum m, and rescales the outputs and the sum.
    template <class Block, int Columns, int OutputColumns>
    SLICESORT_HD_INLINE void weigh(Block& block, register_tile<A, Rows, Columns>& s,
                                   register_tile<A, Rows, OutputColumns>& out) {
      // fmax ignores NaN, but the sums propagate it.
      auto const max_of = [](A a, A b) { return std::fmax(a, b); };
      SLICESORT_UNROLL
      for (int row = 0; row < s.lane_rows; ++row) {
        A const new_max = row_max(block, s, row, max[row], max_of);
        A const base = new_max == minus_infinity<A>() ? A(0) : new_max;
        A const rescale = exp_scaled<T>(block, max[row] - base, exp_factor);
        max[row] = new_max;
        for_each_in_row(s, row,
                        [&](A& score) { score = exp_scaled<T>(block, score - base, exp_factor); });
        sum[row] = sum[row] * rescale + lane_row_sum(s, row);
        if (rescale != A(1)) scale_row(out, row, rescale);  // rare
      }
    }

    // Computes O = O / l and saves the state.
    template <class Block, class Scale, int OutputColumns>
    SLICESORT_HD_INLINE void finish(Block& block, softmax_forward const& weights,
                                    attention_task const& task, int first, index_t queries,
                                    Scale const& scale,
                                    register_tile<A, Rows, OutputColumns>& out) const {
      tile_lane const lane(block.rank());
      SLICESORT_UNROLL
      for (int i = 0; i < out.lane_rows; ++i) {
        A const row_sum = block.template reduce<4>(sum[i], [](A a, A b) { return a + b; });
        A const inv_sum =
            row_sum > A(0) ? A(1) / row_sum : row_sum - row_sum;  // 0, or NaN if row_sum is NaN
        scale_row(out, i,
                  weights.dropout.is_enabled() ? inv_sum * static_cast<A>(weights.dropout.scale)
                                               : inv_sum);
        index_t const row = task.first + first + lane.group + 8 * i;
        if (weights.state.data() != nullptr && task.channel == 0 && lane.thread_in_group == 0 &&
            row < queries) {
          bool const valid = row < task.queries;
          A const row_max = scales ? max[i] * scale() : max[i];
          save_statistics(
              weights.state, task.head, row,
              row_statistics<A>{valid ? row_max : minus_infinity<A>(), valid ? row_sum : A(0)});
        }
      }
    }
  };
};

// Weights of the backward pass, from the statistics of each query.
template <class T>
struct softmax_backward {
  using element = T;
  using A = accumulator_t<T>;
  using stats = query_stats<A>;
  static constexpr bool supports_dropout = true;

  stats const* query{};  // [batch, heads, queries]
  dropout_config dropout{};

  template <class Block>
  static SLICESORT_HD_INLINE A scale_of(Block&, A scale, index_t) {
    return scale;
  }
  // Clamps the score to the saved maximum, which it may exceed due to rounding.
  template <class Block>
  static SLICESORT_HD_INLINE weight_and_score_grad<A> weigh(Block& block, A product, A score_scale,
                                                            stats const* s, A dweight) {
    A const excess = block.multiply_add(product, score_scale, -s->max);
    A const weight =
        exp_scaled<T>(block, excess > A(0) ? A(0) : excess, exp_factor_of<T>(A(1))) * s->inv_sum;
    return {weight, weight * (dweight - s->delta)};
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Score tile of the host, and the arguments of its SIMD kernels. Rows are keys and lanes are
// queries, so the maximum and sum of a query stay in one lane.
#pragma once

#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline constexpr int tile_queries = 48;  // lanes per tile: three vectors of 16
inline constexpr int tile_keys = 128;    // maximum number of rows per tile

template <class A>
using lane_uint = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;

// Lanes [first, last) of a tile; both are multiples of product_columns.
struct lane_range {
  int first = 0, last = tile_queries;

  int count() const { return last - first; }
};

// Adds the bias and applies the mask. Lane c sees row r if first[c] <= r < last[c] and, with
// `allowed_bits`, bit c of allowed_bits[r] is set.
template <class A>
struct mask_scores_params {
  A* scores;
  int keys;
  struct bias_rows {
    A const* data;  // added to scale * scores; null without a bias
    index_t pitch;
  } bias;
  A scale;
  struct visibility {
    lane_uint<A> const *first, *last;
    std::uint64_t const* allowed_bits;  // null if only the ranges apply
    bool unmasked = false;              // true if every lane sees every row; requires a bias
  } mask;
  lane_range lanes{};
};

// One step of the online softmax: scores become exp(score - row_max).
template <class A>
struct online_softmax_params {
  A* scores;
  int keys;
  A *row_max, *row_sum;  // running statistics, [lane]
  A* rescale;            // factor for sums that used the previous maximum
  lane_range lanes{};
};

// Rule of the weights of scores: the softmax, or a function of each score, which is a policy of
// pointwise_attention, type-erased.
struct score_weights {
  enum class function_kind : unsigned char { softmax, laplace, squared_relu, custom };
  function_kind kind = function_kind::softmax;
  double mean = 0, deviation = 1;  // of laplace
  void const* function = nullptr;  // a user-defined function, and its evaluation
  void (*apply)(void const* function, void* scores, void* products, index_t count) = nullptr;

  bool are_softmax() const { return kind == function_kind::softmax; }
};

// Turns scores into weights f(score) and, if there are products, <dy, v> into f'(score) <dy, v>.
// Both are 0 where the score is -infinity.
template <class A>
struct weigh_scores_params {
  A *scores, *products;  // products may be null
  int keys;
  score_weights weights;
  lane_range lanes{};
};

// Turns scores into weights, and the products <dy, v> into score gradients.
template <class A>
struct score_grad_params {
  A *scores, *products;
  int keys;
  struct statistics {
    A const *row_max, *inv_sum;  // row_max; 1 / row_sum, 0 without keys
    A const* delta;              // <dy, y>
  } stats;
  struct dropout_mask {
    std::uint64_t const* keep = nullptr;  // bit c of keep[j]: row j, lane c; or null
    A scale = A(1);                       // factor of kept products
  } dropout{};
  lane_range lanes{};
};

// Computes the dropout mask: bit c of keep[j] is set if the weight of row j, lane c is kept.
struct keep_mask_params {
  std::uint64_t *keep, threshold;
  index_t const* keys;  // [rows]; null for consecutive keys from `key` on
  index_t key;
  int rows;
  struct counters {  // hash input of lane c, key j: first + c * query_step + j * counter_step
    std::uint64_t first, query_step;
  } counter;
};

// Adds rows of lanes to destination rows that are `pitch` apart. A pitch of -1 adds to diagonals.
template <class A>
struct add_rows_params {
  A const* from;
  int rows;
  A* to;
  index_t pitch;
  lane_range lanes{};  // need not be a multiple of the vector width
};

SLICESORT_DETAIL_END

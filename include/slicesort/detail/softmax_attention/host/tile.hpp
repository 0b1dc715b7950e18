// SPDX-License-Identifier: Apache-2.0
// A tile of scores on the host, and the arguments of its SIMD kernels. Rows are keys and lanes are
// queries, so a query's maximum and sum stay in one lane.
#pragma once

#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline constexpr int attention_queries = 48;  // lanes of a tile: three vectors of 16
inline constexpr int attention_keys = 128;    // rows of a tile, at most

template <class A>
using lane_uint = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;

// Lanes [first, last) of a tile; both are multiples of product_columns.
struct lane_range {
  int first = 0, last = attention_queries;

  int count() const { return last - first; }
};

// Adds the bias and applies the mask. Lane c may see rows [first[c], last[c]), among these the ones
// whose bit c of `allowed` is set.
template <class A>
struct mask_scores_call {
  A* scores;
  int keys;
  struct bias_rows {
    A const* data;  // added to scale * scores; null: no bias
    index_t pitch;
  } bias;
  A scale;
  struct visibility {
    lane_uint<A> const *first, *last;
    std::uint64_t const* allowed;  // null: no restriction
    bool unmasked = false;         // every lane sees every row; there is a bias
  } mask;
  lane_range lanes{};
};

// One step of the online softmax: scores become exp(score - row_max).
template <class A>
struct online_softmax_call {
  A* scores;
  int keys;
  A *row_max, *row_sum;  // running statistics, [lane]
  A* rescale;            // factor of sums that used the previous maximum
  lane_range lanes{};
};

// Turns scores into weights, and products dy v into score gradients.
template <class A>
struct dscore_call {
  A *scores, *products;
  int keys;
  struct statistics {
    A const *row_max, *inv_sum;  // 1 / row_sum; 0 without keys
    A const* delta;              // <dy, y>
  } stats;
  struct dropout {
    std::uint64_t const* keep = nullptr;  // bit c of keep[j]: row j of lane c; null: no dropout
    A scale = A(1);                       // of kept products
  } drop{};
  lane_range lanes{};
};

// Computes the keep mask of dropout: bit c of keep[j] for row j of lane c.
struct keep_mask_call {
  std::uint64_t *keep, threshold;
  index_t const* keys;  // [rows]; null: key, key + 1, ..
  index_t key;
  int rows;
  struct counters {  // hash input of query c and key j: first + c * query + j * counter_step
    std::uint64_t first, query;
  } counter;
};

// Adds rows of lanes to rows that are `pitch` apart. A pitch of -1 adds to diagonals.
template <class A>
struct add_rows_call {
  A const* from;
  int rows;
  A* to;
  index_t pitch;
  lane_range lanes{};  // need not be whole vectors
};

SLICESORT_DETAIL_END

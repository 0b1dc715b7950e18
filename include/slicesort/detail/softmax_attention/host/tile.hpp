// SPDX-License-Identifier: Apache-2.0
// A tile of attention on the host, and the arguments of its kernels. Rows are keys and lanes are
// queries, so that every query's maximum and sum stay in a lane, and keys and values are used in
// memory order.
#pragma once

#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline constexpr int attention_queries = 48;  // lanes of a tile: three vectors of 16
inline constexpr int attention_keys = 128;    // rows of a tile, at most

// Numbers as wide as an A.
template <class A>
using lane_uint = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;

// Lanes [first, last) of a tile, in whole blocks of columns.
struct lane_range {
  int first = 0, last = attention_queries;

  int count() const { return last - first; }
};

// The bias and the mask of a tile's scores. Lane c may look at the rows [first[c], last[c]), and
// among these at those whose bit c is set. With `all`, every lane may look at every row, and there
// is a bias.
template <class A>
struct mask_scores_call {
  A* scores;
  int keys;
  struct bias_rows {
    A const* data;  // to scale * scores; null: nothing is
    index_t pitch;  // from row to row
  } bias;
  A scale;
  struct visibility {
    lane_uint<A> const *first, *last;
    std::uint64_t const* allowed;  // null: all
    bool unmasked = false;
  } mask;
  lane_range lanes{};
};

// A tile's step of the online softmax: scores become exp(score - row_max).
template <class A>
struct online_softmax_call {
  A* scores;
  int keys;
  A *row_max, *row_sum;  // of every lane so far
  A* rescale;            // what becomes of sums that were formed with the maxima before
  lane_range lanes{};
};

// Scores and products dy v of a tile become weights and gradients of the scores.
template <class A>
struct dscore_call {
  A *scores, *products;
  int keys;
  struct statistics {
    A const *row_max, *inv_sum;  // 1 / row_sum; 0 where there is no key
    A const* delta;              // <dy, y>
  } stats;
  struct dropout {
    std::uint64_t const* keep = nullptr;  // bit c of kept[j]: of row j and lane c; null: all are
    A scale = A(1);                       // of products that are kept
  } drop{};
  lane_range lanes{};
};

// Which weights of a tile dropout keeps: bit c of to[j], of row j and lane c.
struct keep_mask_call {
  std::uint64_t *keep, threshold;
  index_t const* keys;  // of the rows; null: key, key + 1, ..
  index_t key;
  int rows;
  struct
      counters {  // what the hash of query c and key j mixes: first + c * query + j * counter_step
    std::uint64_t first, query;
  } counter;
};

// Adds rows of lanes to rows that are `pitch` apart: with a pitch of -1, to diagonals.
template <class A>
struct add_rows_call {
  A const* from;
  int rows;
  A* to;  // of lane 0
  index_t pitch;
  lane_range lanes{};  // any lanes
};

SLICESORT_DETAIL_END

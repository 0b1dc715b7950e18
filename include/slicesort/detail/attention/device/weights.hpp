// SPDX-License-Identifier: Apache-2.0
// Contract of the `Weights` of the kernels in this folder, which turn scores into weights.
//
// Forward and backward:
//   using element = T;
//   static constexpr bool supports_dropout;  // if true, a member dropout_config dropout
//   A scale_of(Block&, A scale, index_t keys) const;  // scale of a sample with `keys` valid keys
// Forward:
//   template <int Rows> struct row_state;    // state of the rows of a lane:
//     row_state(Weights const&, A scale, bool scales_scores);
//     void weigh(Block&, register_tile& s, register_tile& out);
//                     // turns scores, s * scale if scales_scores, else s, into weights; may
//                     // rescale the outputs
//     void finish(Block&, Weights const&, attention_task const&, int first, index_t queries,
//                 Scale const& scale, register_tile& out) const;
//                     // after the last key; `first` is the warp's first query, relative to the
//                     // block, and scale() the scale
// Backward:
//   using stats;                             // statistics of a query; no_query_stats if none
//   stats const* query;                      // [batch, heads, queries], if there are statistics
//   weight_and_score_grad<A> weigh(Block&, A product, A score_scale, stats const*,
//                                  A dweight) const;
//                     // for the score product * score_scale, from the gradient of the weight
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class A>
struct weight_and_score_grad {
  A weight, score_grad;
};

struct no_query_stats {};
template <class Weights>
inline constexpr bool has_query_stats = !std::is_same_v<typename Weights::stats, no_query_stats>;

// Address of the statistics of a query; null if there are none.
template <class Stats>
SLICESORT_HD_INLINE Stats const* stats_of_query(Stats const* stats, int query) {
  if constexpr (std::is_same_v<Stats, no_query_stats>)
    return (void)query, stats;
  else
    return &stats[query];
}

SLICESORT_DETAIL_END

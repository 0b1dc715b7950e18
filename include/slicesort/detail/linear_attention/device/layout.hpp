// SPDX-License-Identifier: Apache-2.0
// Workspace of linear_attention on a grid, for as many (sample, head) pairs as fit.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/linear_attention/device/backward.hpp>
#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/maxima.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/sums.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

SLICESORT_DETAIL_BEGIN

template <class A>
struct linear_grid_layout {
  index_t pairs;  // (sample, head) pairs computed at once
  linear_features<A> queries, keys;
  rescale_factors<A> factors;
  tile_sums<A> sums;  // S and Z, later U and u, later the partial dw of tiles
  // The rest is for backward only.
  A* d;        // [pair][query]: slopes of the divisors, later c
  A* g;        // [pair][query][value]
  A* running;  // causal [pair][query][feature]: Z of each query
  linear_gradients<A> query_gradients, key_gradients;
  A *partial_dw, *dw_sums;  // [pair][r][channel]; [head][r][channel]

  // Holds as many pairs as fit in `elements` elements, but at least one; holds none if the call has
  // none.
  linear_grid_layout(arena& memory, linear_attention_shape const& s, bool backward,
                     index_t elements) {
    arena counter;
    take(counter, s, backward, 1, true);
    // Always counts dw, so that the workspace of a call with dw also suffices without dw.
    auto const pair_elements = std::max<std::size_t>(counter.aligned_bytes() / sizeof(A), 1);
    auto const max_pairs =
        std::max<std::size_t>(static_cast<std::size_t>(elements) / pair_elements, 1);
    // Batch and heads are unbounded if there are no channels.
    std::size_t const total = std::min((amount(s.batch) * s.heads).number(),
                                       std::size_t{std::numeric_limits<index_t>::max()});
    std::size_t const rounds =
        total == 0 ? 1 : (total - 1) / max_pairs + 1;  // rounds of similar size
    take(memory, s, backward, static_cast<index_t>(total == 0 ? 0 : (total - 1) / rounds + 1),
         s.with_dw);
  }

 private:
  void take(arena& memory, linear_attention_shape const& s, bool backward, index_t count,
            bool with_dw) {
    feature_config const& f = s.feature;
    bool const random = is_random(f.kind), exp = f.has_maximum();
    bool const custom = f.kind == feature_kind::custom;
    bool const running_maximum = exp && s.causal, dw = with_dw && backward && random;
    pairs = count;
    auto const take_rows = [&](bool needed, index_t rows, index_t width = 1) {
      return memory.take<A>(needed ? amount(count) * rows * width : amount(0));
    };
    auto const features = [&](linear_features<A>& out, index_t rows) {
      out.phi = take_rows(!f.is_elementwise(), rows, f.count);
      out.slopes =
          take_rows(backward && random && f.kind != feature_kind::random_fourier, rows, f.count);
      out.z = take_rows(random || custom, rows, s.channels);
      out.norms = take_rows(random, rows);
      out.maxima = take_rows(exp, rows);
    };
    auto const gradients = [&](linear_gradients<A>& out, index_t rows) {
      out.phi = take_rows(backward, rows, f.count);
      out.sums = take_rows(backward && random, rows);
      out.x = take_rows(backward && (random || custom), rows, s.channels);
    };
    features(queries, s.queries);
    features(keys, s.keys);
    factors.from_tile_start = take_rows(running_maximum, s.keys);
    factors.to_end = take_rows(running_maximum, s.keys);
    factors.of_step = take_rows(running_maximum, s.keys);
    factors.of_tile = take_rows(running_maximum, divide_up(s.keys, index_t{linear_tile}));
    index_t const max_rows = backward ? std::max(s.queries, s.keys) : s.keys;
    index_t const tiles = std::max<index_t>(divide_up(max_rows, index_t{linear_tile}), 1);
    index_t const w_rows = dw ? f.w_rows : 0;
    // Reserves room for S and Z or for the partial dw, whichever is larger.
    amount const sum_size = amount(f.count) * s.values + f.count,
                 dw_size = amount(w_rows) * s.channels;
    amount const largest = sum_size.number() < dw_size.number() ? dw_size : sum_size;
    sums = {memory.take<A>(amount(count) * tiles * largest), tiles,
            static_cast<index_t>(sum_size.number()), f.count, s.values};
    d = take_rows(backward, s.queries);
    g = take_rows(backward, s.queries, s.values);
    running = take_rows(backward && s.causal, s.queries, f.count);
    gradients(query_gradients, s.queries);
    gradients(key_gradients, s.keys);
    partial_dw = take_rows(dw, w_rows, s.channels);
    dw_sums = memory.take<A>(dw ? amount(s.heads) * w_rows * s.channels : amount(0));
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// The workspace of linear_attention on a grid: what is formed of some pairs of a sample and a head
// at a time.
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
  index_t pairs;  // at once
  linear_features<A> queries, keys;
  linear_factors<A> factors;
  tile_sums<A> sums;  // S and Z, then U and u; then parts of a pair's part of dw
  // Backward:
  A* d;        // [pair][query]: slopes of divisors, and then c
  A* g;        // [pair][query][value]
  A* running;  // where causal [pair][query][feature]: Z of every query
  linear_gradients<A> query_gradients, key_gradients;
  A *w_parts, *w_sums;  // [pair][r][channel]; [head][r][channel]

  // As many pairs as have room in `elements` numbers, or one; none if there are none.
  linear_grid_layout(arena& a, linear_attention_shape const& s, bool backward, index_t elements) {
    arena one;
    take(one, s, backward, 1, true);
    // Whether dw is formed does not count, so that the workspace of a call that forms it has room
    // for one that does not.
    auto const each = std::max<std::size_t>(one.aligned_bytes() / sizeof(A), 1);
    std::size_t const many = static_cast<std::size_t>(elements) / each;
    auto const most = std::max<std::size_t>(many, 1);
    // Batch and heads may be any numbers if nothing has a channel.
    std::size_t const all = std::min((amount(s.batch) * s.heads).number(),
                                     std::size_t{std::numeric_limits<index_t>::max()});
    std::size_t const rounds = all == 0 ? 1 : (all - 1) / most + 1;  // of about as many
    take(a, s, backward, static_cast<index_t>(all == 0 ? 0 : (all - 1) / rounds + 1), s.with_dw);
  }

 private:
  void take(arena& a, linear_attention_shape const& s, bool backward, index_t count, bool with_dw) {
    feature_config const& f = s.feature;
    bool const random = is_random(f.kind), exp = f.has_maximum();
    bool const own = f.kind == feature_kind::own;
    bool const running_maximum = exp && s.causal, dw = with_dw && backward && random;
    pairs = count;
    auto const numbers = [&](bool wanted, index_t rows, index_t width = 1) {
      return a.take<A>(wanted ? amount(count) * rows * width : amount(0));
    };
    auto const features = [&](linear_features<A>& to, index_t rows) {
      to.phi = numbers(!f.of_elements(), rows, f.count);
      to.slopes =
          numbers(backward && random && f.kind != feature_kind::random_fourier, rows, f.count);
      to.z = numbers(random || own, rows, s.channels);
      to.number = numbers(random, rows);
      to.maxima = numbers(exp, rows);
    };
    auto const gradients = [&](linear_gradients<A>& to, index_t rows) {
      to.phi = numbers(backward, rows, f.count);
      to.sums = numbers(backward && random, rows);
      to.x = numbers(backward && (random || own), rows, s.channels);
    };
    features(queries, s.queries);
    features(keys, s.keys);
    factors.since_tile = numbers(running_maximum, s.keys);
    factors.to_end = numbers(running_maximum, s.keys);
    factors.of_step = numbers(running_maximum, s.keys);
    factors.of_tile = numbers(running_maximum, divide_up(s.keys, index_t{linear_tile}));
    index_t const longer = backward ? std::max(s.queries, s.keys) : s.keys;
    index_t const slots = std::max<index_t>(divide_up(longer, index_t{linear_tile}), 1);
    index_t const of_w = dw ? f.rows_of_w : 0;
    // Of the larger of two sizes: S and Z, and the parts of dw.
    amount const of_sums = amount(f.count) * s.values + f.count, of_dw = amount(of_w) * s.channels;
    amount const largest = of_sums.number() < of_dw.number() ? of_dw : of_sums;
    sums = {a.take<A>(amount(count) * slots * largest), slots,
            static_cast<index_t>(of_sums.number()), f.count, s.values};
    d = numbers(backward, s.queries);
    g = numbers(backward, s.queries, s.values);
    running = numbers(backward && s.causal, s.queries, f.count);
    gradients(query_gradients, s.queries);
    gradients(key_gradients, s.keys);
    w_parts = numbers(dw, of_w, s.channels);
    w_sums = a.take<A>(dw ? amount(s.heads) * of_w * s.channels : amount(0));
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Workspace of linear_attention on a grid, for as many (sample, head) pairs as fit. params.hpp
// defines S, Z, U, u, g, c and d.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/linear_attention/device/backward.hpp>
#include <slicesort/detail/linear_attention/device/carried_state.hpp>
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
  A* weight_sum_grads;  // [pair][query]: D'(d) / D(d), later c
  A* scaled_dy;         // [pair][query][value]: g
  A* running_z;         // causal [pair of k][query][feature]: Z of each query
  linear_gradients<A> query_gradients, key_gradients;
  A *partial_dw, *dw_sums;    // [pair of k][row of w][channel]; [head of k][row of w][channel]
  A* group_addends;           // causal with grouped heads, [pair][key][features or values]
  linear_carried<A> carried;  // calls with states, and results for grouped heads

  // Holds as many pairs of the call as fit in `max_elements`, but at least one.
  linear_grid_layout(arena& memory, linear_attention_shape const& s, bool backward,
                     index_t max_elements) {
    arena counter;
    take(counter, s, backward, 1, true);
    // Always counts dw, so that the workspace of a call with dw also suffices without dw.
    auto const pair_elements = std::max<std::size_t>(counter.aligned_bytes() / sizeof(A), 1);
    // Whole groups of heads, which backward sums over.
    auto const group = static_cast<std::size_t>(s.heads == 0 ? 1 : s.group());
    auto const whole_groups = [&](std::size_t n) {
      return std::max(n / group, std::size_t{1}) * group;
    };
    // In 32 bits, as divide_by_group requires.
    auto const max_pairs = whole_groups(
        std::min(static_cast<std::size_t>(max_elements) / pair_elements, std::size_t{0x7fffffff}));
    // Without channels, batch * heads may exceed the range of index_t.
    std::size_t const total = std::min((amount(s.batch) * s.heads).value(),
                                       std::size_t{std::numeric_limits<index_t>::max()});
    // Rounds of similar size.
    std::size_t const rounds = total == 0 ? 1 : (total - 1) / max_pairs + 1;
    std::size_t const count = total == 0 ? 0 : (total - 1) / rounds + 1;
    take(memory, s, backward, static_cast<index_t>((count + group - 1) / group * group), s.with_dw);
  }

 private:
  void take(arena& memory, linear_attention_shape const& s, bool backward, index_t count,
            bool with_dw) {
    feature_config const& feature = s.feature;
    bool const has_w = is_random(feature.kind), has_maximum = feature.has_maximum();
    bool const is_custom = feature.kind == feature_kind::custom;
    bool const has_running_maximum = has_maximum && s.causal;
    bool const computes_dw = with_dw && backward && has_w;
    pairs = count;
    index_t const kv_count = count / (s.heads == 0 ? 1 : s.group());
    auto const take_pairs = [&](index_t pairs_of_side, bool needed, index_t rows, index_t width) {
      return memory.take<A>(needed ? amount(pairs_of_side) * rows * width : amount(0));
    };
    auto const take_query_rows = [&](bool needed, index_t rows, index_t width = 1) {
      return take_pairs(count, needed, rows, width);
    };
    auto const take_kv_rows = [&](bool needed, index_t rows, index_t width = 1) {
      return take_pairs(kv_count, needed, rows, width);
    };
    auto const take_features = [&](linear_features<A>& out, index_t rows, auto const& take_rows) {
      out.phi = take_rows(!feature.is_elementwise() || s.with_state, rows, feature.count);
      out.slopes = take_rows(backward && has_w && feature.kind != feature_kind::random_fourier,
                             rows, feature.count);
      out.z = take_rows(has_w || is_custom, rows, s.channels);
      out.norms = take_rows(has_w, rows);
      out.maxima = take_rows(has_maximum, rows);
    };
    auto const take_gradients = [&](linear_gradients<A>& out, index_t rows, auto const& take_rows) {
      out.phi = take_rows(backward, rows, feature.count);
      out.sums = take_rows(backward && has_w, rows);
      out.x = take_rows(backward && (has_w || is_custom), rows, s.channels);
    };
    take_features(queries, s.queries, take_query_rows);
    take_features(keys, s.keys, take_kv_rows);
    factors.from_tile_start = take_kv_rows(has_running_maximum, s.keys);
    factors.to_tile_end = take_kv_rows(has_running_maximum, s.keys);
    factors.per_row = take_kv_rows(has_running_maximum, s.keys);
    factors.per_tile = take_kv_rows(has_running_maximum, divide_up(s.keys, index_t{linear_tile}));
    index_t const max_rows = backward ? std::max(s.queries, s.keys) : s.keys;
    index_t const tiles = std::max<index_t>(divide_up(max_rows, index_t{linear_tile}), 1);
    index_t const w_rows = computes_dw ? feature.w_rows : 0;
    // Reserves room for S and Z or for the partial dw, whichever is larger.
    amount const sum_size = amount(feature.count) * s.values + feature.count,
                 dw_size = amount(w_rows) * s.channels;
    amount const max_size = sum_size.value() < dw_size.value() ? dw_size : sum_size;
    sums = {memory.take<A>(amount(count) * tiles * max_size), tiles,
            static_cast<index_t>(sum_size.value()), feature.count, s.values};
    weight_sum_grads = take_query_rows(backward, s.queries);
    scaled_dy = take_query_rows(backward, s.queries, s.values);
    running_z = take_kv_rows(backward && s.causal, s.queries, feature.count);
    take_gradients(query_gradients, s.queries, take_query_rows);
    take_gradients(key_gradients, s.keys, take_kv_rows);
    partial_dw = take_kv_rows(computes_dw, w_rows, s.channels);
    dw_sums = memory.take<A>(computes_dw ? amount(s.kv_heads) * w_rows * s.channels : amount(0));
    bool const sums_groups = backward && s.causal && kv_count != count;
    group_addends = take_query_rows(sums_groups, s.keys, std::max(feature.count, s.values));
    take_carried(memory, s, count, kv_count, backward, sums_groups);
  }

  void take_carried(arena& memory, linear_attention_shape const& s, index_t count, index_t kv_count,
                    bool backward, bool sums_groups) {
    bool const needed = s.with_state;
    auto const take_numbers = [&] { return memory.take<index_t>(needed ? s.batch : 0); };
    auto const take_rows = [&](index_t pairs_of_side, index_t width, bool used = true) {
      return memory.take<A>(needed && used ? amount(pairs_of_side) * s.keys * width : amount(0));
    };
    auto const take_sums = [&](bool used) {
      return memory.take<A>(needed && used ? amount(kv_count) * sums.size : amount(0));
    };
    carried.lengths = take_numbers();
    carried.offsets = take_numbers();
    carried.first_rows = take_numbers();
    carried.q = take_rows(count, s.channels);
    carried.k = take_rows(kv_count, s.channels);
    carried.v = take_rows(kv_count, s.values);
    carried.dy = take_rows(count, s.values, backward);
    carried.results = needed        ? take_rows(count, std::max(s.channels, s.values))
                      : sums_groups ? memory.take<A>(amount(kv_count) * s.keys * s.values)
                                    : nullptr;
    carried.initial_sums = take_sums(true);
    carried.first_sums = take_sums(backward);
    carried.initial_maxima = memory.take<A>(needed && s.feature.has_maximum() ? kv_count : 0);
  }
};

SLICESORT_DETAIL_END

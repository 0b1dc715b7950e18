// SPDX-License-Identifier: Apache-2.0
// Attention with its map in memory: a matrix product (of the caller's choice), a softmax of rows,
// and another product. It takes as many heads of a sample at a time as the workspace holds maps
// for.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/softmax_attention/device/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/device/gemm.hpp>
#include <slicesort/detail/softmax_attention/device/map_sums.hpp>
#include <slicesort/detail/softmax_attention/device/query_stats.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/device/softmax_rows.hpp>
#include <slicesort/detail/softmax_attention/dropout.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class Mask>
struct device_implementation<materialized_attention_op<Mask>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, attention_shape const& s, arena& a) {
    (void)layout<T>(a, grid, s);
  }

  template <class Grid, class T, class State>
  static void forward(Grid const& grid, attention_forward<Mask, T, State> const& p, workspace w) {
    using A = accumulator_t<T>;
    attention_shape const s(p.in);
    if (s.queries == 0) return;
    arena a(w);
    layout<T> const m(a, grid, s);
    auto const drop = dropout_config::of(p.drop, s.heads);
    each_part(s, m.heads, [&](map_rows const& part) {
      products<T> const of{p.lengths, part, p.in, p.gemm};
      head_matrices<T> const weights = p.saving ? matrices(p.state, part) : map_of(m.second, part);
      of.multiply(grid, A(1), matrices(p.in.q, part), matrices(p.in.k, part).transposed(),
                  map_of(m.first, part), of.queries(), of.keys(), of.channels(),
                  grad_mode::overwrite);
      softmax_rows_kernel<Mask, T> rows{p.mask};
      rows.scale = static_cast<A>(p.scale);
      rows.rows = part;
      rows.products = m.first;
      rows.weights = weights;
      rows.kept = m.second;
      rows.drop = drop;
      rows.bias = p.in.bias;
      rows.lengths = p.lengths;
      grid.run(rows, part.blocks(), rows.max_threads);
      of.multiply(grid, static_cast<A>(drop.scale), drop.drops() ? map_of(m.second, part) : weights,
                  matrices(p.in.v, part), matrices(p.y, part), of.queries(), of.values(), of.keys(),
                  grad_mode::overwrite);
    });
  }

  template <class Grid, class T, class State>
  static void backward(Grid const& grid, attention_backward<Mask, T, State> const& p, workspace w) {
    using A = accumulator_t<T>;
    auto const s = p.shape();
    arena a(w);
    layout<T> const m(a, grid, s);
    auto const scale = static_cast<A>(p.scale);
    auto const drop = dropout_config::of(p.drop, s.heads);
    bool const by_pairs = p.to.dbias.data() != nullptr && s.dbias.form == bias_gradient::of_pairs,
               stored = p.to.dq.data() != nullptr || p.to.dk.data() != nullptr || by_pairs,
               scored = stored || p.to.dbias.data() != nullptr;
    query_stats_kernel<T> const stats{p.dy, p.y, {}, p.lengths, m.stats};
    if (scored && stats.blocks() > 0) grid.run(stats, stats.blocks(), stats.max_threads);
    each_part(s, m.heads, [&](map_rows const& part) {
      products<T> const of{p.lengths, part, p.in, p.gemm};
      auto const weights = matrices(p.state, part), dy = matrices(p.dy, part);
      if (p.to.dv.data() != nullptr) {
        head_matrices<T const> kept = weights;
        if (drop.drops() && s.queries > 0) {
          grid.run(drop_rows_kernel<T>{part, weights, m.second, drop}, part.blocks(),
                   drop_rows_kernel<T>::max_threads);
          kept = map_of(m.second, part);
        }
        of.multiply(grid, static_cast<A>(drop.scale), kept.transposed(), dy,
                    matrices(p.to.dv, part), of.keys(), of.values(), of.queries(), p.mode);
      }
      if (!scored) return;
      if (s.queries > 0) {
        of.multiply(grid, A(1), dy, matrices(p.in.v, part).transposed(), map_of(m.first, part),
                    of.queries(), of.keys(), of.values(), grad_mode::overwrite);
        dscore_map<T> const map{part, weights, m.first, m.stats + part.pair(0) * s.queries, drop};
        if (s.dbias.form != bias_gradient::of_pairs) add_dscores(grid, p, s, m, map);
        dscore_rows_kernel<T> rows{};
        rows.of = map;
        rows.dscores = m.second;
        if (by_pairs) rows.dbias = p.to.dbias;
        rows.mode = p.mode;
        if (stored) grid.run(rows, part.blocks(), rows.max_threads);
      }
      head_matrices<T const> const dscores = map_of(m.second, part);
      if (p.to.dq.data() != nullptr)
        of.multiply(grid, scale, dscores, matrices(p.in.k, part), matrices(p.to.dq, part),
                    of.queries(), of.channels(), of.keys(), p.mode);
      if (p.to.dk.data() != nullptr)
        of.multiply(grid, scale, dscores.transposed(), matrices(p.in.q, part),
                    matrices(p.to.dk, part), of.keys(), of.channels(), of.queries(), p.mode);
    });
    if (s.dbias.form == bias_gradient::relative) {
      distance_sums_kernel<T> sums{};
      sums.shape = s;
      sums.bands = {1, 1, s.queries, s.keys};
      sums.partial_sums = m.sums;
      sums.dbias = p.to.dbias;
      sums.mode = p.mode;
      if (sums.blocks() > 0) grid.run(sums, sums.blocks(), sums.max_threads);
    } else if (s.dbias.form == bias_gradient::shared && s.pairs() == 0) {
      add_dscores(grid, p, s, m, {no_heads(s)});
    }
  }

 private:
  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    index_t heads;  // at once
    A* first;       // a map of each
    T* second;      // another, or the same if A is T
    query_stats<A>* stats;
    A* sums;  // for a dbias that is shared, of its shape; that is relative, one of each head

    template <class Grid>
    layout(arena& a, Grid const& grid, attention_shape const& s) {
      index_t const map = std::max<index_t>(s.queries * s.keys, 1);
      index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
      heads = std::clamp<index_t>(chunk / map, 1, std::max<index_t>(s.heads, 1));
      index_t const elements = s.batch == 0 || s.heads == 0 ? 0 : heads * s.queries * s.keys;
      first = a.take<A>(elements);
      if constexpr (std::is_same_v<T, A>)
        second = first;
      else
        second = a.take<T>(elements);
      stats = a.take<query_stats<A>>(amount(s.batch) * s.heads * s.queries);
      amount numbers = 0;
      if (s.dbias.form == bias_gradient::shared)
        numbers = amount(s.dbias.groups()) * s.queries * s.keys;
      if (s.dbias.form == bias_gradient::relative)
        numbers = amount(s.batch) * s.heads * s.distances();
      sums = a.take<A>(numbers);
    }
  };

  // Adds gradients of scores, those of some heads, to a dbias that is relative or shared.
  template <class Grid, class T, class State>
  static void add_dscores(Grid const& grid, attention_backward<Mask, T, State> const& p,
                          attention_shape const& s, layout<T> const& m, dscore_map<T> const& map) {
    if (s.dbias.form == bias_gradient::relative) {
      diagonal_sums_kernel<T> const sums{map, m.sums};
      grid.run(sums, sums.blocks(), sums.max_threads);
      return;
    }
    shared_map_sums_kernel<T> sums{};
    sums.of = map;
    sums.sums = m.sums;
    sums.dbias = p.to.dbias;
    sums.mode = p.mode;
    sums.select(s);
    if (sums.blocks() > 0) grid.run(sums, sums.blocks(), sums.max_threads);
  }

  static map_rows no_heads(attention_shape const& s) {
    map_rows rows{};
    rows.queries = s.queries, rows.keys = s.keys, rows.all_heads = s.heads;
    return rows;
  }
  template <class F>
  static void each_part(attention_shape const& s, index_t heads, F const& f) {
    for (index_t b = 0; b < s.batch; ++b)
      for (index_t h = 0; h < s.heads; h += heads) {
        map_rows part = no_heads(s);
        part.sample = b, part.first_head = h;
        part.heads = std::min(heads, s.heads - h);
        f(part);
      }
  }

  template <class T>
  static head_matrices<T> matrices(tensor4<T> t, map_rows const& part) {
    strides4 const d = t.strides();
    T* const data = t.data() == nullptr ? nullptr : first_of(t, {part.sample, part.first_head});
    return {data, d.length, d.channels, d.heads};
  }
  // A map in the workspace.
  template <class T>
  static head_matrices<T> map_of(T* data, map_rows const& part) {
    return {data, part.keys, 1, part.queries * part.keys};
  }

  template <class T>
  struct products {
    attention_lengths lengths;
    map_rows part;
    attention_inputs<T> in;
    gemm_callback gemm;

    matrix_side queries() const { return {side_of::queries, part.queries}; }
    matrix_side keys() const { return {side_of::keys, part.keys}; }
    matrix_side channels() const { return {side_of::channels, in.q.extents().channels}; }
    matrix_side values() const { return {side_of::channels, in.v.extents().channels}; }

    template <class Grid, class Out>
    void multiply(Grid const& grid, accumulator_t<T> alpha, head_matrices<T const> a,
                  head_matrices<T const> b, head_matrices<Out> c, matrix_side rows,
                  matrix_side columns, matrix_side depth, grad_mode mode) const {
      multiply_heads_kernel<T, Out> all{};
      all.alpha = alpha;
      all.a = a, all.b = b, all.c = c;
      all.rows = rows, all.columns = columns, all.depth = depth;
      all.heads = part.heads;
      all.mode = mode;
      all.lengths = lengths;
      all.sample = part.sample;
      multiply_heads(grid, gemm, all);
    }
  };
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Forward kernel of decaying_sum. A thread computes one column of a pass, a tile of rows at a time:
// it loads the rows of the next tile before it computes a tile, so many loads are in flight.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/decaying_sum/device/column.hpp>
#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Computes y and the last states, or without y the states before every tile.
template <class T, bool Complex>
struct scan_rows_kernel {
  static constexpr int max_threads = 32;
  using A = accumulator_t<T>;

  decaying_sum_forward<T> params;
  A* states;       // scratch, [number][column]
  A* checkpoints;  // [tile][number][column], or null
  bool per_row;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = params.x.extents();
    index_t const columns = e.batch * e.channels,
                  index = block.index() * max_threads + block.rank();
    if (index >= columns) return;
    column_index const position = column_index_of(index, e.channels);
    index_t const valid = valid_rows(params.lengths, position.batch, e.length),
                  numbers = params.config.numbers();
    using column = decay_column<T, Complex>;
    column const c{position, {valid, params.config.reversed}, valid, per_row};
    if (e.length == 0) {  // there is no workspace
      for (index_t j = 0; j < numbers; j += column::parts)
        c.store(params.final_state, j, c.load(params.initial_state, position.batch, j, 0, 0));
      return;
    }
    column_numbers<A, Complex> const state{states + index, columns};
    for (index_t j = 0; j < numbers; j += column::parts)
      state.store(j, c.load(params.initial_state, position.batch, j, 0, 0));
    column_of<T const> const x(params.x, position);
    A next[std::size_t{column::tile_rows}];
    c.load_rows(x, 0, next);
    SLICESORT_NO_UNROLL
    for (index_t first = 0; first < valid; first += column::tile_rows) {
      A input[std::size_t{column::tile_rows}], sum[std::size_t{column::tile_rows}];
      SLICESORT_UNROLL
      for (int r = 0; r < column::tile_rows; ++r) {
        input[r] = next[r];
        sum[r] = 0;
      }
      c.load_rows(x, first + column::tile_rows, next);
      SLICESORT_NO_UNROLL
      for (index_t j = 0; j < numbers; j += column::parts) {
        auto s = state.load(j), a = per_row ? s : c.load_a(params.a, j, 0);
        auto const w = c.load_w(params.w, j);
        if (checkpoints != nullptr)
          column_numbers<A, Complex>{
              checkpoints + first / column::tile_rows * numbers * columns + index, columns}
              .store(j, s);
        SLICESORT_UNROLL
        for (int r = 0; r < column::tile_rows; ++r) {
          if (first + r >= valid) continue;
          if (per_row) a = c.load_a(params.a, j, first + r);
          s = c.next_state(block, a, s, input[r]);
          sum[r] = block.fused_multiply_add(w.re, s.re, sum[r]);
          if constexpr (Complex) sum[r] = block.fused_multiply_add(-w.im, s.im, sum[r]);
        }
        state.store(j, s);
      }
      if (checkpoints == nullptr) store_rows(c, first, sum);
    }
    for (index_t j = 0; j < numbers; j += column::parts)
      c.store(params.final_state, j, state.load(j));
    if (checkpoints == nullptr && !params.config.adds)
      c.clear_padding(column_of<T>(params.y, position), e.length);
  }

 private:
  SLICESORT_HD_INLINE void store_rows(decay_column<T, Complex> const& c, index_t first,
                                      A const* sum) const {
    column_of<T> const y(params.y, c.column);
    SLICESORT_UNROLL
    for (int r = 0; r < c.tile_rows; ++r)
      if (first + r < c.valid)
        store_or_accumulate_sum(params.config.adds ? grad_mode::accumulate : grad_mode::overwrite,
                                y[c.walk.row(first + r)], sum[r]);
  }
};

SLICESORT_DETAIL_END

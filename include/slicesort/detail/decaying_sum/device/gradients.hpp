// SPDX-License-Identifier: Apache-2.0
// Backward kernels of decaying_sum. A thread walks back over one column of a pass.
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

// Walks back: computes dx, da per row, the gradients of the initial states, and the sums of a
// sample for dw and for a constant a.
template <class T, bool Complex>
struct decay_gradients_kernel {
  static constexpr int max_threads = 32;
  using A = accumulator_t<T>;

  decaying_sum_backward<T> params;
  A* checkpoints;  // [tile][number][column]
  A* gradients;    // scratch, [number][column]
  double* sums;    // [sample][da, dw][number][channel]
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
    using number = typename column::number;
    constexpr int tile_rows = column::tile_rows;
    column const c{position, {valid, params.config.reversed}, valid, per_row};
    if (e.length == 0) {  // there is no workspace
      for (index_t j = 0; j < numbers; j += column::parts)
        c.store(params.dinitial_state, j, c.load(params.dfinal_state, position.batch, j, 0, 0));
      return;
    }
    column_numbers<A, Complex> const gradient{gradients + index, columns};
    double* const da_sums = sums + 2 * position.batch * numbers * e.channels + position.channel;
    column_numbers<double, Complex> const da_sum{da_sums, e.channels},
        dw_sum{da_sums + numbers * e.channels, e.channels};
    for (index_t j = 0; j < numbers; j += column::parts) {
      gradient.store(j, c.load(params.dfinal_state, position.batch, j, 0, 0));
      da_sum.store(j, {});
      dw_sum.store(j, {});
    }
    column_of<T const> const x(params.x, position), dy(params.dy, position);
    SLICESORT_NO_UNROLL
    for (index_t tile = divide_up(valid, decay_tile_rows) - 1; tile >= 0; --tile) {
      index_t const first = tile * tile_rows;
      A dx[std::size_t{tile_rows}];
      SLICESORT_UNROLL
      for (int r = 0; r < tile_rows; ++r) dx[r] = 0;
      column_numbers<A, Complex> const state{checkpoints + tile * numbers * columns + index,
                                             columns};
      SLICESORT_NO_UNROLL
      for (index_t j = 0; j < numbers; j += column::parts) {
        number const w = c.load_w(params.w, j);
        number before[std::size_t{tile_rows + 1}], a = c.load_a(params.a, j, first);
        A input[std::size_t{tile_rows}];  // again for every state, from the L1 cache
        c.load_rows(x, first, input);
        before[0] = state.load(j);
        SLICESORT_UNROLL
        for (int r = 0; r < tile_rows; ++r) {
          if (per_row && first + r < valid) a = c.load_a(params.a, j, first + r);
          before[r + 1] = c.next_state(block, a, before[r], input[r]);
        }
        number g = gradient.load(j), da{}, dw{};
        SLICESORT_UNROLL
        for (int r = tile_rows - 1; r >= 0; --r) {
          if (first + r >= valid) continue;
          A const output = static_cast<A>(dy[c.walk.row(first + r)]);
          number lam{block.fused_multiply_add(w.re, output, g.re), A(0)};
          dw.re = block.fused_multiply_add(output, before[r + 1].re, dw.re);
          if constexpr (Complex) {
            lam.im = block.fused_multiply_add(-w.im, output, g.im);
            dw.im = block.fused_multiply_add(-output, before[r + 1].im, dw.im);
          }
          dx[r] += lam.re;
          da = c.add_conjugate_product(block, lam, before[r], per_row ? number{} : da);
          if (per_row) {
            a = c.load_a(params.a, j, first + r);
            store_da(c, j, first + r, da);
          }
          g = c.decayed(block, a, lam);
        }
        gradient.store(j, g);
        add(dw_sum, j, dw);
        if (!per_row) add(da_sum, j, da);
      }
      if (params.dx.data() != nullptr) store_dx(c, first, dx);
    }
    for (index_t j = 0; j < numbers; j += column::parts)
      c.store(params.dinitial_state, j, gradient.load(j));
    if (params.dx.data() != nullptr && !params.config.adds)
      c.clear_padding(column_of<T>(params.dx, position), e.length);
    if (per_row && params.da.data() != nullptr && params.config.mode == grad_mode::overwrite)
      for (index_t j = 0; j < numbers; ++j)
        for (index_t n = valid; n < e.length; ++n)
          params.da(position.batch, j, n, position.channel) = T(0.0F);
  }

 private:
  SLICESORT_HD_INLINE void store_da(decay_column<T, Complex> const& c, index_t j, index_t step,
                                    decay_number<A> v) const {
    if (params.da.data() == nullptr) return;
    auto const store_part = [&](index_t number, A value) {
      store_or_accumulate_sum(params.config.mode,
                              params.da(c.column.batch, number, c.walk.row(step), c.column.channel),
                              value);
    };
    store_part(j, v.re);
    if constexpr (Complex) store_part(j + 1, v.im);
  }
  SLICESORT_HD_INLINE void store_dx(decay_column<T, Complex> const& c, index_t first,
                                    A const* values) const {
    column_of<T> const dx(params.dx, c.column);
    SLICESORT_UNROLL
    for (int r = 0; r < c.tile_rows; ++r)
      if (first + r < c.valid)
        store_or_accumulate_sum(params.config.adds ? grad_mode::accumulate : grad_mode::overwrite,
                                dx[c.walk.row(first + r)], values[r]);
  }
  SLICESORT_HD_INLINE static void add(column_numbers<double, Complex> const& sum, index_t j,
                                      decay_number<A> v) {
    decay_number<double> const old = sum.load(j);
    sum.store(j, {old.re + static_cast<double>(v.re), old.im + static_cast<double>(v.im)});
  }
};

// Sums the samples' gradients of a number. A thread computes one element.
template <class T>
struct sum_samples_kernel {
  static constexpr int max_threads = 128;

  double const* sums;  // [sample][2][number][channel]
  tensor4<T> target;   // [1, numbers, 1, channels]
  index_t samples;
  double scale;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const channels = target.extents().channels,
                  elements = target.extents().heads * channels,
                  element = block.index() * max_threads + block.rank();
    if (element >= elements) return;
    double total = 0;
    for (index_t b = 0; b < samples; ++b) total += sums[2 * b * elements + element];
    column_index const position = column_index_of(element, channels);
    store_or_accumulate_sum(mode, target(0, position.batch, 0, position.channel),
                            static_cast<accumulator_t<T>>(scale * total));
  }
};

SLICESORT_DETAIL_END

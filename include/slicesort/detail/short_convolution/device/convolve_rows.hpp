// SPDX-License-Identifier: Apache-2.0
// Kernels of short_convolution. Threads read rows through the L1 cache, because neighboring rows
// share all but one of their inputs.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/short_convolution/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Elements of a column in the accumulator's type; 0 for rows that are not valid.
template <class T>
struct padded_column {
  column_of<T const> column;
  index_t valid;

  SLICESORT_HD_INLINE accumulator_t<T> operator[](index_t row) const {
    return row >= 0 && row < valid ? static_cast<accumulator_t<T>>(column[row])
                                   : accumulator_t<T>(0);
  }
};

// Computes y[n] = sum over k of weights[k] * x[n + k - shift]. A block computes a tile of `width`
// columns, and `rows_per_thread` adjacent rows per thread.
template <class T>
struct convolve_rows_kernel {
  static constexpr int max_threads = 256, rows_per_thread = 8;
  using A = accumulator_t<T>;

  tensor3<T const> x;
  tensor3<T const> weights;
  tensor3<T> y;
  tensor1<index_t const> lengths;
  convolution_window window;
  bool reversed;  // true if the taps are in reverse order
  grad_mode mode;
  index_t column_tiles, row_tiles;
  int width;
  bool rows_adjacent;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = x.extents();
    thread_mapping const walk(block.rank(), block.size(), width, rows_adjacent);
    index_t const tile = block.index() / column_tiles, batch = tile / row_tiles;
    index_t const channel = (block.index() - tile * column_tiles) * width + walk.column;
    index_t const first =
        ((tile - batch * row_tiles) * walk.step + walk.first_row) * rows_per_thread;
    if (channel >= e.channels || first >= e.length) return;
    column_index const position{batch, channel};
    index_t const valid = valid_rows(lengths, batch, e.length);
    padded_column<T> const column{{x, position}, valid};
    index_t const group = channel / (e.channels / weights.extents().channels);
    A sum[rows_per_thread] = {};
    SLICESORT_NO_UNROLL
    for (index_t k = 0; k < window.taps; ++k) {
      auto const weight = static_cast<A>(weights(0, reversed ? window.taps - 1 - k : k, group));
      SLICESORT_UNROLL
      for (int r = 0; r < rows_per_thread; ++r)
        sum[r] = block.fused_multiply_add(weight, column[first + r + k - window.shift], sum[r]);
    }
    column_of<T> const output(y, position);
    SLICESORT_UNROLL
    for (int r = 0; r < rows_per_thread; ++r) {
      index_t const row = first + r;
      if (row < valid)
        store_or_accumulate_sum(mode, output[row], sum[r]);
      else if (row < e.length && mode == grad_mode::overwrite)
        output[row] = T(0.0F);
    }
  }
};

// Computes sums[segment][k] = sum over the segment's rows of dy[n] * x[n + k - shift]. A thread
// sums `taps_per_thread` adjacent taps of a column.
template <class T>
struct correlate_rows_kernel {
  static constexpr int max_threads = 256, taps_per_thread = 4;
  using A = accumulator_t<T>;

  tensor3<T const> dy;
  tensor3<T const> x;
  tensor1<index_t const> lengths;
  convolution_window window;
  double* sums;  // [sample][segment][tap][channel]
  index_t column_tiles, tap_groups, segments;
  int width;
  bool rows_adjacent;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = dy.extents();
    thread_mapping const walk(block.rank(), block.size(), width, rows_adjacent);
    index_t const block_groups = divide_up(tap_groups, index_t{walk.step});
    index_t const tile = block.index() / column_tiles, segment = tile / block_groups;
    index_t const channel = (block.index() - tile * column_tiles) * width + walk.column;
    index_t const first_tap =
        ((tile - segment * block_groups) * walk.step + walk.first_row) * taps_per_thread;
    if (channel >= e.channels || first_tap >= window.taps) return;
    index_t const batch = segment / segments,
                  begin = (segment - batch * segments) * convolution_segment_rows;
    index_t const valid = valid_rows(lengths, batch, e.length),
                  segment_end = begin + convolution_segment_rows,
                  end = segment_end < valid ? segment_end : valid;
    column_index const position{batch, channel};
    column_of<T const> const gradient(dy, position);
    padded_column<T> const column{{x, position}, valid};
    double total[taps_per_thread] = {};
    for (index_t first = begin; first < end; first += convolution_tile_rows) {
      index_t const tile_end =
          first + convolution_tile_rows < end ? first + convolution_tile_rows : end;
      A sum[taps_per_thread] = {};
      SLICESORT_NO_UNROLL
      for (index_t n = first; n < tile_end; ++n) {
        auto const g = static_cast<A>(gradient[n]);
        SLICESORT_UNROLL
        for (int k = 0; k < taps_per_thread; ++k)
          sum[k] = block.fused_multiply_add(g, column[n + first_tap + k - window.shift], sum[k]);
      }
      SLICESORT_UNROLL
      for (int k = 0; k < taps_per_thread; ++k) total[k] += static_cast<double>(sum[k]);
    }
    SLICESORT_UNROLL
    for (int k = 0; k < taps_per_thread; ++k)
      if (first_tap + k < window.taps)
        sums[(segment * window.taps + first_tap + k) * e.channels + channel] = total[k];
  }
};

// Sums the segments of each channel, then the channels of each group. A thread computes one weight
// gradient.
template <class T>
struct sum_segments_kernel {
  static constexpr int max_threads = 128;

  double const* sums;  // [segment][tap][channel]
  tensor3<T> dweights;
  index_t segments, channels;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const taps = dweights.extents().length, groups = dweights.extents().channels;
    index_t const element = block.index() * max_threads + block.rank();
    if (element >= taps * groups) return;
    index_t const tap = element / groups, group = element - tap * groups;
    index_t const group_channels = segments == 0 ? 0 : channels / groups;
    double total = 0;
    for (index_t c = 0; c < group_channels; ++c) {
      double sum = 0;
      for (index_t s = 0; s < segments; ++s)
        sum += sums[(s * taps + tap) * channels + group * group_channels + c];
      total += sum;
    }
    store_or_accumulate_sum(mode, dweights(0, tap, group), static_cast<accumulator_t<T>>(total));
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// short_convolution on the device. One kernel convolves, forward and for dx. Two more compute
// dweights: sums of segments of rows, and their sums.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/short_convolution/device/convolve_rows.hpp>
#include <slicesort/detail/short_convolution/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <>
struct device_implementation<short_convolution_op> {
  template <class T, class Grid>
  static void plan(Grid const&, convolution_shape const& shape, arena& memory) {
    (void)shape.take_weight_sums(memory);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, short_convolution_forward<T> const& params, workspace) {
    convolve(grid, params.x, params.weights, params.y, params.window, false, params.lengths,
             grad_mode::overwrite);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, short_convolution_backward<T> const& params, workspace w) {
    convolve(grid, params.dy, params.weights, params.dx, params.window.reversed(), true,
             params.lengths, params.mode);
    if (!params.needs_weight_gradient) return;
    arena memory(w);
    convolution_shape const shape = params.shape();
    double* const sums = shape.take_weight_sums(memory);
    if (!shape.extents.empty()) {
      correlate_rows_kernel<T> kernel{};
      kernel.dy = params.dy;
      kernel.x = params.x;
      kernel.lengths = params.lengths;
      kernel.window = params.window;
      kernel.sums = sums;
      kernel.segments = shape.segments();
      kernel.tap_groups = divide_up(shape.taps, index_t{kernel.taps_per_thread});
      set_columns(kernel, shape.extents.channels, params.dy.strides());
      index_t const taps_per_block = kernel.max_threads / kernel.width;
      grid.run(kernel,
               kernel.column_tiles * divide_up(kernel.tap_groups, taps_per_block) *
                   shape.segments() * shape.extents.batch,
               kernel.max_threads);
    }
    sum_segments_kernel<T> kernel{};
    kernel.sums = sums;
    kernel.dweights = params.dweights;
    kernel.segments = shape.extents.empty() ? 0 : shape.segments() * shape.extents.batch;
    kernel.channels = shape.extents.channels;
    kernel.mode = params.mode;
    index_t const elements = params.dweights.extents().size();
    if (elements > 0)
      grid.run(kernel, divide_up(elements, index_t{kernel.max_threads}), kernel.max_threads);
  }

 private:
  template <class Kernel>
  static void set_columns(Kernel& kernel, index_t channels, strides3 strides) {
    kernel.width = static_cast<int>(std::min<index_t>(bit_ceil(channels), warp_threads));
    kernel.column_tiles = divide_up(channels, index_t{kernel.width});
    kernel.rows_adjacent = rows_are_adjacent(strides);
  }

  template <class Grid, class T>
  static void convolve(Grid const& grid, tensor3<T const> x, tensor3<T const> weights, tensor3<T> y,
                       convolution_window window, bool reversed, tensor1<index_t const> lengths,
                       grad_mode mode) {
    extents3 const e = x.extents();
    if (e.empty()) return;
    convolve_rows_kernel<T> kernel{};
    kernel.x = x;
    kernel.weights = weights;
    kernel.y = y;
    kernel.lengths = lengths;
    kernel.window = window;
    kernel.reversed = reversed;
    kernel.mode = mode;
    set_columns(kernel, e.channels, x.strides());
    index_t const rows_per_block =
        index_t{kernel.rows_per_thread} * (kernel.max_threads / kernel.width);
    kernel.row_tiles = divide_up(e.length, rows_per_block);
    grid.run(kernel, kernel.column_tiles * kernel.row_tiles * e.batch, kernel.max_threads);
  }
};

SLICESORT_DETAIL_END

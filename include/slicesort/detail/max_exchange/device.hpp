// SPDX-License-Identifier: Apache-2.0
// max_exchange on a grid: one pass.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/max_exchange/device/exchange_rows.hpp>
#include <slicesort/detail/max_exchange/params.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <>
struct device_implementation<max_exchange_op> {
  template <class T, class Grid>
  static void plan(Grid const&, extents3 const&, arena&) {}

  template <class Grid, class T>
  static void forward(Grid const& grid, max_exchange_forward<T> const& p, workspace) {
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    shape const s = shape_of<T>(grid, e);
    max_exchange_kernel<T> kernel{};
    kernel.row = p.row;
    kernel.x = p.x;
    kernel.y = p.y;
    if (p.saving) kernel.maximum = index_rows(p.maximum);
    kernel.lengths = p.lengths;
    kernel.width = s.width;
    kernel.threads = s.threads;
    kernel.rows_adjacent = rows_are_adjacent(p.x.strides());
    grid.run(kernel, divide_up(e.batch * e.channels, s.width), s.threads);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, max_exchange_backward<T> const& p, workspace) {
    extents3 const e = p.dy.extents();
    if (e.empty()) return;
    shape const s = shape_of<T>(grid, e);
    exchange_rows_kernel<T> kernel{};
    kernel.row = p.row;
    kernel.dy = p.dy;
    kernel.maximum = index_rows(p.maximum);
    kernel.dx = p.dx;
    kernel.mode = p.mode;
    kernel.width = s.width;
    kernel.rows_adjacent = rows_are_adjacent(p.dx.strides());
    grid.run(kernel, divide_up(e.batch * e.channels, s.width), s.threads);
  }

 private:
  struct shape {
    int width, threads;
  };
  // Nothing but a few bytes for every thread is kept in shared memory.
  template <class T, class Grid>
  static shape shape_of(Grid const& grid, extents3 e) {
    permute_tuning const t = permute_tuning_of<T>(grid);
    int const width = std::min(tile_width(grid.info(), t, 0, e.length, e.batch * e.channels), 512);
    return {width, std::min(tile_threads(t, 0, e.length, width), 512)};
  }
};

SLICESORT_DETAIL_END

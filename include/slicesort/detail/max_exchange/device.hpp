// SPDX-License-Identifier: Apache-2.0
// max_exchange on the device: one forward and one backward kernel.
#pragma once

#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/max_exchange/device/exchange_rows.hpp>
#include <slicesort/detail/max_exchange/params.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <>
struct device_implementation<max_exchange_op> : needs_no_workspace {
  template <class Grid, class T>
  static void forward(Grid const& grid, transfer_forward<max_exchange_op, T> const& params,
                      workspace) {
    max_exchange_kernel<T> kernel{};
    kernel.row = params.config.row;
    kernel.x = params.x;
    kernel.y = params.y;
    if (params.saving) kernel.maximum = index_rows(params.state);
    kernel.lengths = params.lengths;
    run_on_columns(grid, kernel, params.x);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, transfer_backward<max_exchange_op, T> const& params,
                       workspace) {
    exchange_rows_kernel<T> kernel{};
    kernel.row = params.config.row;
    kernel.dy = params.dy;
    kernel.maximum = index_rows(params.state);
    kernel.dx = params.dx;
    kernel.mode = params.mode;
    run_on_columns(grid, kernel, params.dx);
  }
};

SLICESORT_DETAIL_END

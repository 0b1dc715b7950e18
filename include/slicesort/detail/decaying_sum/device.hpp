// SPDX-License-Identifier: Apache-2.0
// decaying_sum on the device. A thread walks the rows of a column: a scan that splits the length
// would be faster for few columns, but its sums, and so its bits, would depend on where a sequence
// is cut. Backward is three kernels: the states before every tile, the walk back, and sums over the
// samples.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/decaying_sum/device/gradients.hpp>
#include <slicesort/detail/decaying_sum/device/scan_rows.hpp>
#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Workspace of backward.
template <class T>
struct decay_device_layout {
  using A = accumulator_t<T>;
  A* checkpoints;  // states before every tile, [tile][number][column]
  A* gradients;    // of the states, [number][column]
  double* sums;    // [sample][da, dw][number][channel]

  decay_device_layout(arena& memory, decay_shape const& shape)
      : checkpoints(memory.take<A>(amount(shape.tiles()) * shape.numbers * shape.columns())),
        gradients(memory.take<A>(amount(shape.numbers) * shape.columns())),
        sums(shape.take_sums(memory)) {}
};

template <>
struct device_implementation<decaying_sum_op> {
  template <class T, class Grid>
  static void plan(Grid const&, decay_shape const& shape, arena& memory) {
    (void)decay_device_layout<T>(memory, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, decaying_sum_forward<T> const& params, workspace w) {
    arena memory(w);
    decay_device_layout<T> const layout(memory, params.shape());
    for (int pass = 0; pass < params.config.passes; ++pass)
      scan(grid, decay_pass(params, pass), layout);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, decaying_sum_backward<T> const& params, workspace w) {
    arena memory(w);
    decay_device_layout<T> const layout(memory, params.shape());
    for (int pass = 0; pass < params.config.passes; ++pass) {
      decaying_sum_backward<T> const pass_params = decay_pass(params, pass);
      decaying_sum_forward<T> recomputed{pass_params.config};
      recomputed.x = pass_params.x;
      recomputed.a = pass_params.a;
      recomputed.initial_state = pass_params.initial_state;
      recomputed.lengths = pass_params.lengths;
      scan(grid, recomputed, layout);
      with_number_type(params.config, [&](auto complex_tag) {
        decay_gradients_kernel<T, decltype(complex_tag)::value> kernel{};
        kernel.params = pass_params;
        kernel.checkpoints = layout.checkpoints;
        kernel.gradients = layout.gradients;
        kernel.sums = layout.sums;
        kernel.per_row = is_per_row(params.a, params.x.extents());
        run_on_columns(grid, kernel, params.x.extents());
      });
      sum_samples(grid, pass_params, layout.sums);
    }
  }

 private:
  template <class F>
  static void with_number_type(decay_config const& config, F const& f) {
    if (config.is_complex)
      f(std::true_type{});
    else
      f(std::false_type{});
  }
  // A sequence without rows has columns, too: their states are copied.
  template <class Grid, class Kernel>
  static void run_on_columns(Grid const& grid, Kernel const& kernel, extents3 e) {
    if (e.batch > 0 && e.channels > 0)
      grid.run(kernel, divide_up(e.batch * e.channels, index_t{kernel.max_threads}),
               kernel.max_threads);
  }

  // Computes y, or without y the checkpoints.
  template <class Grid, class T>
  static void scan(Grid const& grid, decaying_sum_forward<T> const& params,
                   decay_device_layout<T> const& layout) {
    with_number_type(params.config, [&](auto complex_tag) {
      scan_rows_kernel<T, decltype(complex_tag)::value> kernel{};
      kernel.params = params;
      kernel.states = layout.gradients;
      kernel.checkpoints = params.y.data() == nullptr ? layout.checkpoints : nullptr;
      kernel.per_row = is_per_row(params.a, params.x.extents());
      run_on_columns(grid, kernel, params.x.extents());
    });
  }

  // Computes dw and the gradient of a constant a.
  template <class Grid, class T>
  static void sum_samples(Grid const& grid, decaying_sum_backward<T> const& params,
                          double const* sums) {
    extents3 const e = params.x.extents();
    sum_samples_kernel<T> kernel{};
    kernel.samples = e.empty() ? 0 : e.batch;
    kernel.mode = params.config.mode;
    index_t const elements = params.config.numbers() * e.channels;
    auto const run = [&](tensor4<T> target, index_t first, double scale) {
      kernel.target = target;
      kernel.sums = kernel.samples == 0 ? nullptr : sums + first;
      kernel.scale = scale;
      if (elements > 0)
        grid.run(kernel, divide_up(elements, index_t{kernel.max_threads}), kernel.max_threads);
    };
    if (params.da.data() != nullptr && !is_per_row(params.da, e)) run(params.da, 0, 1);
    if (params.dw.data() != nullptr) run(params.dw, elements, params.config.is_complex ? 2 : 1);
  }
};

SLICESORT_DETAIL_END

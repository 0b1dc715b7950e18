// SPDX-License-Identifier: Apache-2.0
// sinkhorn on the device. Small matrices are computed by one kernel, large ones by a launch for
// each half-step.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/sinkhorn/device/large_matrix.hpp>
#include <slicesort/detail/sinkhorn/device/small_matrices.hpp>
#include <slicesort/detail/sinkhorn/half_steps.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <>
struct device_implementation<sinkhorn_op> {
  template <class T, class Grid>
  static void plan(Grid const& grid, sinkhorn_shape const& shape, arena& memory) {
    (void)layout<T>(memory, grid, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, sinkhorn_forward<T> const& params, workspace w) {
    run<false>(grid, params, params.y, {}, grad_mode::overwrite, w);
  }
  template <class Grid, class T>
  static void backward(Grid const& grid, sinkhorn_backward<T> const& params, workspace w) {
    run<true>(grid, params, params.dlogits, params.dy, params.mode, w);
  }

 private:
  // Backward's vectors of the samples that are processed at a time; forward uses a part of them.
  // Small matrices are processed in whole blocks.
  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    int forward_threads, backward_threads;  // of blocks of small matrices
    index_t samples_at_once;
    A* vectors;

    template <class Grid>
    layout(arena& memory, Grid const& grid, sinkhorn_shape const& shape) {
      extents3 const e = shape.extents;
      forward_threads = shape.is_small() ? small_threads<T, false>(grid, e) : 1;
      backward_threads = shape.is_small() ? small_threads<T, true>(grid, e) : 1;
      // A block of small matrices has a vector more, against bank conflicts.
      index_t const steps = shape.steps;
      amount const sample_numbers = amount(shape.is_small() ? 3 * steps + 2 : 2 * steps + 1) *
                                    shape.longer_side(),
                   unit_numbers = sample_numbers * (shape.is_small() ? backward_threads + 1 : 1);
      std::size_t const unit_bytes = (unit_numbers * sizeof(A)).value(),
                        limit = grid_tuning_of<T>(grid).scratch_bytes;
      index_t const units = e.empty() ? 0 : divide_up(e.batch, index_t{backward_threads});
      index_t const units_at_once =
          unit_bytes == 0
              ? units
              : std::min(units, std::max<index_t>(static_cast<index_t>(limit / unit_bytes), 1));
      samples_at_once = units_at_once * backward_threads;
      vectors = memory.take<A>(unit_numbers * units_at_once);
    }
  };

  template <class T, bool Backward, class Grid>
  static int small_threads(Grid const& grid, extents3 e) {
    small_matrices_kernel<T, Backward> kernel{};
    kernel.logits = tensor3<T const>(nullptr, e);
    std::size_t const bytes = grid.info().shared_bytes;
    // Two blocks should fit on a multiprocessor.
    for (kernel.threads = kernel.max_threads; kernel.threads > 1; kernel.threads /= 2) {
      std::size_t const needed = shared_bytes(kernel);
      if (needed <= bytes / 2 || (kernel.threads <= warp_threads && needed <= bytes)) break;
    }
    return kernel.threads;
  }

  template <bool Backward, class Grid, class Params, class T>
  static void run(Grid const& grid, Params const& params, tensor3<T> result, tensor3<T const> dy,
                  grad_mode mode, workspace w) {
    sinkhorn_shape const shape = params.shape();
    extents3 const e = shape.extents;
    if (e.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, shape);
    if (shape.is_small()) {
      small_matrices_kernel<T, Backward> kernel{};
      set_arguments(kernel, params, dy);
      kernel.result = result;
      kernel.mode = mode;
      kernel.threads = Backward ? buffers.backward_threads : buffers.forward_threads;
      kernel.vectors = buffers.vectors;
      index_t const samples_at_once = Backward ? buffers.samples_at_once : e.batch;
      for (index_t first = 0; first < e.batch; first += samples_at_once) {
        kernel.first_sample = first;
        index_t const samples = std::min(samples_at_once, e.batch - first);
        grid.run(kernel, divide_up(samples, index_t{kernel.threads}), kernel.threads);
      }
      return;
    }
    large_matrix_args<T> args{};
    set_arguments(args, params, dy);
    args.vectors.pitch = shape.longer_side();
    args.vectors.keeps_all = Backward;
    args.vectors.potentials = buffers.vectors;
    args.vectors.grads = buffers.vectors + (shape.steps + 1) * shape.longer_side();
    args.vectors_per_sample = (2 * shape.steps + 1) * shape.longer_side();
    for (index_t first = 0; first < e.batch; first += buffers.samples_at_once) {
      args.first_sample = first;
      args.samples = std::min(buffers.samples_at_once, e.batch - first);
      run_elementwise(grid, zero_potentials_kernel<T>{args}, args.samples * args.vectors.pitch);
      large_matrices<Grid, T> matrices{grid, args};
      compute_potentials(matrices, args.steps);
      if constexpr (Backward) compute_potential_grads(matrices, args.steps);
      run_elementwise(grid, elements_kernel<T, Backward>{args, result, mode},
                      args.samples * e.length * e.channels);
    }
  }

  template <class Arguments, class Params, class T>
  static void set_arguments(Arguments& arguments, Params const& params, tensor3<T const> dy) {
    arguments.logits = params.logits;
    arguments.dy = dy;
    arguments.row_lengths = params.row_lengths;
    arguments.column_lengths = params.column_lengths;
    arguments.steps = params.steps;
    arguments.inverse_tau = inverse_tau<accumulator_t<T>>(params.tau);
  }

  template <class Grid, class Kernel>
  static void run_elementwise(Grid const& grid, Kernel const& kernel, index_t elements) {
    grid.run(kernel, divide_up(elements, index_t{Kernel::max_threads}), Kernel::max_threads);
  }

  // Implements half_steps.hpp by a launch for each function.
  template <class Grid, class T>
  struct large_matrices {
    Grid const& grid;
    large_matrix_args<T> const& args;

    void normalize(index_t step, bool rows) const { launch<half_step_task::normalize>(step, rows); }
    void sum_output_grads(index_t step, bool rows) const {
      launch<half_step_task::sum_output_grads>(step, rows);
    }
    void subtract_sums(index_t step, bool rows) const {
      launch<half_step_task::subtract_sums>(step, rows);
    }

   private:
    template <half_step_task Task>
    void launch(index_t step, bool rows) const {
      extents3 const e = args.logits.extents();
      run_elementwise(grid, half_step_kernel<T, Task>{args, step},
                      args.samples * (rows ? e.length : e.channels));
    }
  };
};

SLICESORT_DETAIL_END

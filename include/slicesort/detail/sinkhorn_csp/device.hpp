// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp (channel-wise sample permutation, relaxed by Sinkhorn's algorithm) on the device.
// Assigns groups to blocks and lays out their arrays.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/device/upload.hpp>
#include <slicesort/detail/sinkhorn_csp/device/groups.hpp>
#include <slicesort/detail/sinkhorn_csp/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <>
struct device_implementation<sinkhorn_csp_op> {
  template <class T, class Grid>
  static void plan(Grid const& grid, sinkhorn_csp_shape const& shape, arena& memory) {
    (void)layout<T>(memory, grid, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, sinkhorn_csp_forward<T> const& params, workspace w) {
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, params.shape());
    upload_shifts(grid, params.config, e, buffers.shifts);
    auto const args = make_args(params, buffers, buffers.forward);
    if (buffers.forward.hot_in_shared)
      run(grid, mix_groups_kernel<T, true>{args, params.y}, buffers.forward, e.batch);
    else
      run(grid, mix_groups_kernel<T, false>{args, params.y}, buffers.forward, e.batch);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, sinkhorn_csp_backward<T> const& params, workspace w) {
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, params.shape());
    upload_shifts(grid, params.config, e, buffers.shifts);
    auto args = make_args(params, buffers, buffers.backward);
    index_t const samples_per_pass = samples_at_once(e);
    for (index_t first_sample = 0; first_sample < e.batch; first_sample += samples_per_pass) {
      index_t const samples = std::min(samples_per_pass, e.batch - first_sample);
      // Rows are adjacent, so that the final sum has coalesced loads.
      tensor3<typename layout<T>::A> const row_factor_grads(buffers.row_factor_grads,
                                                            {samples, e.length, e.channels},
                                                            {e.length, 1, samples * e.length});
      args.first_sample = first_sample;
      auto const run_backward = [&](auto kernel) {
        kernel.args = args;
        kernel.cold_in_shared = buffers.backward.cold_in_shared;
        kernel.dy = params.dy;
        kernel.dx = params.dx;
        kernel.row_factor_grads = row_factor_grads;
        kernel.mode = params.mode;
        run(grid, kernel, buffers.backward, samples);
      };
      if (buffers.backward.hot_in_shared)
        run_backward(mix_groups_backward_kernel<T, true>{});
      else
        run_backward(mix_groups_backward_kernel<T, false>{});
      sum_reference_kernel<T> kernel{};
      kernel.row_factor_grads = row_factor_grads;
      kernel.lengths = params.lengths;
      kernel.first_sample = first_sample;
      kernel.reference = params.config.reference;
      kernel.tau = params.tau;
      kernel.dy = params.dy;
      kernel.dx = params.dx;
      kernel.mode = params.mode;
      grid.run(kernel, divide_up(samples * e.length, max_sinkhorn_threads), max_sinkhorn_threads);
    }
  }

 private:
  // Launch parameters of a forward or backward pass.
  struct launch_shape {
    int width, threads;
    index_t blocks_per_sample;
    bool hot_in_shared, cold_in_shared;  // arrays in shared memory instead of the workspace
    std::size_t scratch_bytes;           // per block
    index_t blocks_at_once;              // blocks that fit in the workspace

    template <class T, class Grid>
    static launch_shape make(Grid const& grid, sinkhorn_csp_shape const& size, bool backward) {
      launch_shape shape{};
      extents3 const e = size.extents;
      if (e.empty()) return shape;
      device_info const device = grid.info();
      auto const array_bytes = [&](int tile_width, bool cold_arrays) {
        sinkhorn_args<T> args{};
        args.group = size.group;
        args.iterations = size.iterations;
        args.width = tile_width;
        sinkhorn_group<typename sinkhorn_args<T>::A> arrays{};
        shared_counter counter;
        if (cold_arrays)
          args.allocate_cold(counter, arrays);
        else
          args.allocate_hot(counter, arrays, backward);
        return counter.bytes();
      };
      index_t const groups_per_sample = divide_up(e.length, size.group), columns = e.channels;
      auto const block_count = [&](int tile_width) {
        return e.batch * groups_per_sample * divide_up(columns, tile_width);
      };
      // Wide tiles coalesce loads. But two blocks should fit on a multiprocessor, and every
      // multiprocessor should get at least two.
      shape.width = static_cast<int>(std::min<index_t>(bit_ceil(columns), 32));
      while (shape.width > 1 && (array_bytes(shape.width, false) > device.shared_bytes / 2 ||
                                 block_count(shape.width) < 2 * device.sm_count))
        shape.width /= 2;
      std::size_t const hot_bytes = array_bytes(shape.width, false),
                        cold_bytes = backward ? array_bytes(shape.width, true) : 0;
      shape.hot_in_shared = hot_bytes <= device.shared_bytes;
      shape.cold_in_shared =
          shape.hot_in_shared && hot_bytes + cold_bytes <= device.shared_bytes / 2;
      shape.threads = static_cast<int>(
          std::clamp<index_t>(bit_ceil(shape.width * size.group), 32, max_sinkhorn_threads));
      shape.blocks_per_sample = groups_per_sample * divide_up(columns, shape.width);
      shape.scratch_bytes =
          (shape.hot_in_shared ? 0 : hot_bytes) + (shape.cold_in_shared ? 0 : cold_bytes);
      index_t const samples = backward ? samples_at_once(e) : e.batch;
      shape.blocks_at_once = shape.blocks_per_sample * samples;
      if (shape.scratch_bytes != 0) {
        auto const fitting_blocks =
            static_cast<index_t>(grid_tuning_of<T>(grid).scratch_bytes / shape.scratch_bytes);
        shape.blocks_at_once = std::min(shape.blocks_at_once, std::max<index_t>(fitting_blocks, 1));
      }
      return shape;
    }
    std::size_t total_scratch_bytes() const {
      return scratch_bytes * static_cast<std::size_t>(blocks_at_once);
    }
  };

  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    launch_shape forward, backward;
    index_t* shifts;      // per channel
    A* row_factor_grads;  // gradients of the reference through each channel
    unsigned char* scratch;

    template <class Grid>
    layout(arena& memory, Grid const& grid, sinkhorn_csp_shape const& shape)
        : forward(launch_shape::template make<T>(grid, shape, false)),
          backward(launch_shape::template make<T>(grid, shape, true)),
          shifts(memory.take<index_t>(shape.extents.empty() ? 0 : shape.extents.channels)),
          row_factor_grads(memory.take<A>(elements_at_once(shape.extents))),
          scratch(memory.take<unsigned char>(
              std::max(forward.total_scratch_bytes(), backward.total_scratch_bytes()))) {}
  };

  template <class Params, class T>
  static sinkhorn_args<T> make_args(Params const& params, layout<T> const& buffers,
                                    launch_shape const& shape) {
    sinkhorn_args<T> args{};
    args.x = params.x;
    args.lengths = params.lengths;
    args.shifts = buffers.shifts;
    args.tau = params.tau;
    args.iterations = params.iterations;
    args.reference = params.config.reference;
    args.group = params.config.group;
    args.width = shape.width;
    args.scratch = buffers.scratch;
    args.scratch_bytes = shape.scratch_bytes;
    return args;
  }

  template <class Grid>
  static void upload_shifts(Grid const& grid, csp_config const& config, extents3 e,
                            index_t* shifts) {
    auto const shift = [&](index_t channel) { return config.shift(channel, e); };
    upload_values(grid, e.channels, shift, shifts, true);
  }

  template <class Grid, class Kernel>
  static void run(Grid const& grid, Kernel kernel, launch_shape const& shape, index_t samples) {
    index_t const blocks = samples * shape.blocks_per_sample;
    for (index_t first_block = 0; first_block < blocks; first_block += shape.blocks_at_once) {
      kernel.args.first_block = first_block;
      grid.run(kernel, std::min(shape.blocks_at_once, blocks - first_block), shape.threads);
    }
  }
};

SLICESORT_DETAIL_END

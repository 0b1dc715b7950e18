// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp on the device: assigns groups to blocks and lays out their arrays.
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
  static void plan(Grid const& grid, sinkhorn_shape const& shape, arena& memory) {
    (void)layout<T>(memory, grid, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, sinkhorn_csp_forward<T> const& params, workspace w) {
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, params.shape());
    upload_shifts(grid, params.config, e, buffers.shifts);
    auto const tiles = tiles_of(params, buffers, buffers.forward);
    if (buffers.forward.hot_in_shared)
      run(grid, mix_groups_kernel<T, true>{tiles, params.y}, buffers.forward, e.batch);
    else
      run(grid, mix_groups_kernel<T, false>{tiles, params.y}, buffers.forward, e.batch);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, sinkhorn_csp_backward<T> const& params, workspace w) {
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, params.shape());
    upload_shifts(grid, params.config, e, buffers.shifts);
    auto tiles = tiles_of(params, buffers, buffers.backward);
    index_t const samples_at_a_time = samples_at_once(e);
    for (index_t first = 0; first < e.batch; first += samples_at_a_time) {
      index_t const samples = std::min(samples_at_a_time, e.batch - first);
      // Rows are adjacent, so the final sum loads them coalesced.
      tensor3<typename layout<T>::A> const du(buffers.du, {samples, e.length, e.channels},
                                              {e.length, 1, samples * e.length});
      tiles.first_sample = first;
      auto const unmix = [&](auto kernel) {
        kernel.tiles = tiles;
        kernel.cold_in_shared = buffers.backward.cold_in_shared;
        kernel.dy = params.dy;
        kernel.dx = params.dx;
        kernel.du = du;
        kernel.mode = params.mode;
        run(grid, kernel, buffers.backward, samples);
      };
      if (buffers.backward.hot_in_shared)
        unmix(unmix_groups_kernel<T, true>{});
      else
        unmix(unmix_groups_kernel<T, false>{});
      sum_reference_kernel<T> kernel{};
      kernel.du = du;
      kernel.lengths = params.lengths;
      kernel.first_sample = first;
      kernel.reference = params.config.reference;
      kernel.tau = params.tau;
      kernel.dy = params.dy;
      kernel.dx = params.dx;
      kernel.mode = params.mode;
      grid.run(kernel, divide_up(samples * e.length, max_mixing_threads), max_mixing_threads);
    }
  }

 private:
  // Launch parameters of a forward or backward pass.
  struct launch_shape {
    int width, threads;
    index_t blocks_per_sample;
    bool hot_in_shared, cold_in_shared;
    std::size_t scratch_bytes;  // per block
    index_t blocks_at_once;     // blocks that fit in the workspace

    template <class T, class Grid>
    static launch_shape make(Grid const& grid, sinkhorn_shape const& size, bool backward) {
      launch_shape shape{};
      extents3 const e = size.extents;
      if (e.empty()) return shape;
      device_info const device = grid.info();
      auto const bytes = [&](int columns_per_tile, bool cold) {
        grouped_tiles<T> tiles{};
        tiles.group = size.group, tiles.iterations = size.iterations,
        tiles.width = columns_per_tile;
        sinkhorn_group<typename grouped_tiles<T>::A> unused{};
        shared_counter counter;
        if (cold)
          tiles.cold(counter, unused);
        else
          tiles.hot(counter, unused, backward);
        return counter.bytes();
      };
      index_t const groups = divide_up(e.length, size.group), columns = e.channels;
      auto const blocks = [&](int columns_per_tile) {
        return e.batch * groups * divide_up(columns, columns_per_tile);
      };
      // Wide tiles coalesce loads. But two blocks should fit on a multiprocessor, and every
      // multiprocessor should get at least two.
      shape.width = static_cast<int>(std::min<index_t>(ceil_power_of_two(columns), 32));
      while (shape.width > 1 && (bytes(shape.width, false) > device.shared_bytes / 2 ||
                                 blocks(shape.width) < 2 * device.processors))
        shape.width /= 2;
      std::size_t const hot = bytes(shape.width, false),
                        cold = backward ? bytes(shape.width, true) : 0;
      shape.hot_in_shared = hot <= device.shared_bytes;
      shape.cold_in_shared = shape.hot_in_shared && hot + cold <= device.shared_bytes / 2;
      shape.threads = static_cast<int>(
          std::clamp<index_t>(ceil_power_of_two(shape.width * size.group), 32, max_mixing_threads));
      shape.blocks_per_sample = groups * divide_up(columns, shape.width);
      shape.scratch_bytes = (shape.hot_in_shared ? 0 : hot) + (shape.cold_in_shared ? 0 : cold);
      index_t const samples = backward ? samples_at_once(e) : e.batch;
      shape.blocks_at_once = shape.blocks_per_sample * samples;
      if (shape.scratch_bytes != 0) {
        auto const fit =
            static_cast<index_t>(grid_tuning_of<T>(grid).scratch_bytes / shape.scratch_bytes);
        shape.blocks_at_once = std::min(shape.blocks_at_once, std::max<index_t>(fit, 1));
      }
      return shape;
    }
    std::size_t scratch() const { return scratch_bytes * static_cast<std::size_t>(blocks_at_once); }
  };

  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    launch_shape forward, backward;
    index_t* shifts;  // per channel
    A* du;            // gradients of the reference through each channel
    unsigned char* scratch;

    template <class Grid>
    layout(arena& memory, Grid const& grid, sinkhorn_shape const& shape)
        : forward(launch_shape::template make<T>(grid, shape, false)),
          backward(launch_shape::template make<T>(grid, shape, true)),
          shifts(memory.take<index_t>(shape.extents.empty() ? 0 : shape.extents.channels)),
          du(memory.take<A>(elements_at_once(shape.extents))),
          scratch(memory.take<unsigned char>(std::max(forward.scratch(), backward.scratch()))) {}
  };

  template <class Params, class T>
  static grouped_tiles<T> tiles_of(Params const& params, layout<T> const& buffers,
                                   launch_shape const& shape) {
    grouped_tiles<T> tiles{};
    tiles.x = params.x;
    tiles.lengths = params.lengths;
    tiles.shifts = buffers.shifts;
    tiles.tau = params.tau;
    tiles.iterations = params.iterations;
    tiles.reference = params.config.reference;
    tiles.group = params.config.group;
    tiles.width = shape.width;
    tiles.scratch = buffers.scratch;
    tiles.scratch_bytes = shape.scratch_bytes;
    return tiles;
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
    for (index_t first = 0; first < blocks; first += shape.blocks_at_once) {
      kernel.tiles.first_block = first;
      grid.run(kernel, std::min(shape.blocks_at_once, blocks - first), shape.threads);
    }
  }
};

SLICESORT_DETAIL_END

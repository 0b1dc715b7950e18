// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp on a grid: how groups are shared among blocks, and where their numbers are kept.
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
  static void plan(Grid const& grid, sinkhorn_shape const& s, arena& a) {
    (void)layout<T>(a, grid, s);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, sinkhorn_csp_forward<T> const& p, workspace w) {
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    arena a(w);
    layout<T> const m(a, grid, p.shape());
    upload_shifts(grid, p.config, e, m.shifts);
    auto const tiles = tiles_of(p, m, m.forward);
    if (m.forward.hot_in_shared)
      run(grid, mix_groups_kernel<T, true>{tiles, p.y}, m.forward, e.batch);
    else
      run(grid, mix_groups_kernel<T, false>{tiles, p.y}, m.forward, e.batch);
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, sinkhorn_csp_backward<T> const& p, workspace w) {
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    arena a(w);
    layout<T> const m(a, grid, p.shape());
    upload_shifts(grid, p.config, e, m.shifts);
    auto tiles = tiles_of(p, m, m.backward);
    index_t const at_once = samples_at_once(e);
    for (index_t first = 0; first < e.batch; first += at_once) {
      index_t const samples = std::min(at_once, e.batch - first);
      // Rows are neighbors: the sum takes them side by side.
      tensor3<typename layout<T>::A> const du(m.du, {samples, e.length, e.channels},
                                              {e.length, 1, samples * e.length});
      tiles.first_sample = first;
      auto const unmix = [&](auto kernel) {
        kernel.tiles = tiles;
        kernel.cold_in_shared = m.backward.cold_in_shared;
        kernel.dy = p.dy;
        kernel.dx = p.dx;
        kernel.du = du;
        kernel.mode = p.mode;
        run(grid, kernel, m.backward, samples);
      };
      if (m.backward.hot_in_shared)
        unmix(unmix_groups_kernel<T, true>{});
      else
        unmix(unmix_groups_kernel<T, false>{});
      sum_reference_kernel<T> sum{};
      sum.du = du;
      sum.lengths = p.lengths;
      sum.first_sample = first;
      sum.reference = p.config.reference;
      sum.tau = p.tau;
      sum.dy = p.dy;
      sum.dx = p.dx;
      sum.mode = p.mode;
      grid.run(sum, divide_up(samples * e.length, max_mixing_threads), max_mixing_threads);
    }
  }

 private:
  // How one pass is cut into blocks.
  struct shape {
    int width, threads;
    index_t blocks_of_sample;
    bool hot_in_shared, cold_in_shared;
    std::size_t scratch_bytes;  // of a block
    index_t blocks_at_once;     // that the workspace has room for

    template <class T, class Grid>
    static shape of(Grid const& grid, sinkhorn_shape const& size, bool backward) {
      shape s{};
      extents3 const e = size.extents;
      if (e.empty()) return s;
      device_info const device = grid.info();
      auto const bytes = [&](int columns_of_tile, bool cold) {
        grouped_tiles<T> tiles{};
        tiles.group = size.group, tiles.iterations = size.iterations, tiles.width = columns_of_tile;
        sinkhorn_group<typename grouped_tiles<T>::A> unused{};
        shared_counter counter;
        if (cold)
          tiles.cold(counter, unused);
        else
          tiles.hot(counter, unused, backward);
        return counter.bytes();
      };
      index_t const groups = divide_up(e.length, size.group), columns = e.channels;
      auto const blocks = [&](int columns_of_tile) {
        return e.batch * groups * divide_up(columns, columns_of_tile);
      };
      // Neighboring channels read a line of memory together; but two blocks should share a
      // processor, and every processor should have some.
      s.width = static_cast<int>(std::min<index_t>(power_of_two_above(columns), 32));
      while (s.width > 1 && (bytes(s.width, false) > device.shared_bytes / 2 ||
                             blocks(s.width) < 2 * device.processors))
        s.width /= 2;
      std::size_t const hot = bytes(s.width, false), cold = backward ? bytes(s.width, true) : 0;
      s.hot_in_shared = hot <= device.shared_bytes;
      s.cold_in_shared = s.hot_in_shared && hot + cold <= device.shared_bytes / 2;
      s.threads = static_cast<int>(
          std::clamp<index_t>(power_of_two_above(s.width * size.group), 32, max_mixing_threads));
      s.blocks_of_sample = groups * divide_up(columns, s.width);
      s.scratch_bytes = (s.hot_in_shared ? 0 : hot) + (s.cold_in_shared ? 0 : cold);
      index_t const samples = backward ? samples_at_once(e) : e.batch;
      s.blocks_at_once = s.blocks_of_sample * samples;
      if (s.scratch_bytes != 0) {
        auto const fit =
            static_cast<index_t>(grid_tuning_of<T>(grid).scratch_bytes / s.scratch_bytes);
        s.blocks_at_once = std::min(s.blocks_at_once, std::max<index_t>(fit, 1));
      }
      return s;
    }
    std::size_t scratch() const { return scratch_bytes * static_cast<std::size_t>(blocks_at_once); }
  };

  template <class T>
  struct layout {
    using A = accumulator_t<T>;
    shape forward, backward;
    index_t* shifts;  // of every channel
    A* du;            // the reference's gradient through every channel, of some samples
    unsigned char* scratch;

    template <class Grid>
    layout(arena& a, Grid const& grid, sinkhorn_shape const& s)
        : forward(shape::template of<T>(grid, s, false)),
          backward(shape::template of<T>(grid, s, true)),
          shifts(a.take<index_t>(s.extents.empty() ? 0 : s.extents.channels)),
          du(a.take<A>(elements_at_once(s.extents))),
          scratch(a.take<unsigned char>(std::max(forward.scratch(), backward.scratch()))) {}
  };

  template <class Params, class T>
  static grouped_tiles<T> tiles_of(Params const& p, layout<T> const& m, shape const& s) {
    grouped_tiles<T> tiles{};
    tiles.x = p.x;
    tiles.lengths = p.lengths;
    tiles.shifts = m.shifts;
    tiles.tau = p.tau;
    tiles.iterations = p.iterations;
    tiles.reference = p.config.reference;
    tiles.group = p.config.group;
    tiles.width = s.width;
    tiles.scratch = m.scratch;
    tiles.scratch_bytes = s.scratch_bytes;
    return tiles;
  }

  template <class Grid>
  static void upload_shifts(Grid const& grid, csp_config const& config, extents3 e,
                            index_t* shifts) {
    auto const shift = [&](index_t channel) { return config.shift(channel, e); };
    upload_numbers(grid, e.channels, shift, shifts, true);
  }

  template <class Grid, class Kernel>
  static void run(Grid const& grid, Kernel kernel, shape const& s, index_t samples) {
    index_t const blocks = samples * s.blocks_of_sample;
    for (index_t first = 0; first < blocks; first += s.blocks_at_once) {
      kernel.tiles.first_block = first;
      grid.run(kernel, std::min(s.blocks_at_once, blocks - first), s.threads);
    }
  }
};

SLICESORT_DETAIL_END

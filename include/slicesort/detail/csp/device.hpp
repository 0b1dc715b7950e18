// SPDX-License-Identifier: Apache-2.0
// csp on a grid. Forward is one pass that shifts, sorts and aligns. Backward, and forward of groups
// of one row, permute rows by the saved order and the shift.
//
//   rows of a group                          kernels
//   1                                        the permute kernels
//   2                                        eight pairs in the registers of one thread; backward
//                                            too, if nothing is shifted
//   up to 64 (16-bit types 128, 64-bit 32)   a group in the registers of one thread
//   beyond                                   the sort engine, whose columns are the groups
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/csp/device/exchange_pairs.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/csp/device/groups_view.hpp>
#include <slicesort/detail/csp/device/launch.hpp>
#include <slicesort/detail/csp/device/permutation.hpp>
#include <slicesort/detail/csp/device/shifts.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/slices.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/permutation/device/chained_launch.hpp>
#include <slicesort/detail/permutation/device/permute_columns.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <bool Aligned>
struct device_implementation<csp_op<Aligned>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, csp_shape const& s, arena& a) {
    (void)layout<T>(a, grid, s);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, csp_forward<T> const& p, workspace w) {
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    arena a(w);
    layout<T> const m(a, grid, p.shape());
    csp_shifts const shifts = upload_shifts(grid, p.config, e, m.shifts);
    if (p.config.group == 1) {
      move_rows(grid, column_transfer<T>{p.x, p.y, true, grad_mode::overwrite},
                groups_of(p.config, e, shifts, p.lengths), {}, m.permute);
      return;
    }
    groups_view<T> job{groups_of(p.config, e, shifts, p.lengths), p.x, p.y, {}, {}};
    if (p.saving) job.order = group_rows(p.order);
    if constexpr (Aligned) {
      job.destinations = destinations_in(m.destinations, e, p.config.group);
      groups_view<T> reference = job;
      reference.groups = groups_of(p.config, {e.batch, e.length, 1}, {}, p.lengths);
      reference.x = {p.x.data() + p.x.offset(0, 0, p.config.reference), reference.groups.extents,
                     p.x.strides()};
      reference.y = {};
      reference.order = job.destinations;
      reference.destinations = {};
      sort_groups(grid, reference, {}, m.reference);
    }
    bool const overwriting = shifts.shifting && p.x.data() == p.y.data();
    csp_shifting const shifting{shifts.shifting, p.config};
    if (!overwriting || m.copy == nullptr) return sort_groups(grid, job, shifting, m.sort);

    bool const adjacent = rows_are_adjacent(p.x.strides());
    for (index_t first = 0; first < e.batch; first += m.samples) {
      extents3 const some{std::min(m.samples, e.batch - first), e.length, e.channels};
      copy_side_by_side(grid, slice_batch(p.x, first, some), m.copy, adjacent);
      groups_view<T> part = job;
      part.groups.extents = some;
      part.groups.lengths = slice_batch(p.lengths, first, some);
      part.x = tensor3<T const>(m.copy, some, side_by_side(some, adjacent));
      part.y = slice_batch(p.y, first, some);
      part.order = slice_batch(job.order, first);
      part.destinations = slice_batch(job.destinations, first);
      sort_groups(grid, part, shifting, m.sort);
    }
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, csp_backward<T> const& p, workspace w) {
    extents3 const e = p.dy.extents();
    if (e.empty()) return;
    arena a(w);
    layout<T> const m(a, grid, p.shape());
    csp_shifts const shifts = upload_shifts(grid, p.config, e, m.shifts);
    csp_groups const groups = groups_of(p.config, e, shifts, p.lengths);
    if (p.config.group != 2 || shifts.shifting)
      return move_rows(grid, column_transfer<T>{p.dy, p.dx, false, p.mode}, groups,
                       group_rows(p.order), m.permute);
    return_pairs_kernel<T> pairs{};
    pairs.groups = groups;
    pairs.in = p.dy;
    pairs.out = p.dx;
    pairs.order = group_rows(p.order);
    pairs.mode = p.mode;
    run_on_groups(grid, pairs, groups, p.dy, p.dy.data() == p.dx.data(), {}, rows_of_byte);
  }

 private:
  template <class T>
  struct layout {
    index_t* shifts = nullptr;              // and directions, of every channel
    unsigned char* destinations = nullptr;  // the order of every sample's reference, as saved
    sort_layout<T> reference, sort;
    index_t samples = 0;  // that `copy` holds
    T* copy = nullptr;    // of x, where groups would overwrite what others still read
    permute_layout<T> permute;

    template <class Grid>
    layout(arena& a, Grid const& grid, csp_shape const& s) {
      if (s.extents.empty()) return;
      shifts = a.take<index_t>(csp_shift_numbers(s.extents.channels));
      a.overlap([&](arena& sorting) { take_sort(sorting, grid, s.extents, s.group); },
                [&](arena& moving) { permute = permute_layout<T>(moving, grid, s.extents); });
    }

   private:
    template <class Grid>
    void take_sort(arena& a, Grid const& grid, extents3 e, index_t group) {
      if (group == 1) return;
      if (Aligned) destinations = a.take<unsigned char>(destinations_bytes(e, group));
      if (!groups_in_registers<T>(grid, group))
        a.overlap([&](arena& all) { sort = sort_layout<T>(all, grid, group_extents(e, group)); },
                  [&](arena& first) {
                    extents3 const channel{e.batch, e.length, 1};
                    if (Aligned)
                      reference = sort_layout<T>(first, grid, group_extents(channel, group));
                  });
      if (group < e.length && !groups_staged<T>(grid, e, group)) {
        index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
        samples = std::clamp<index_t>(chunk / (e.length * e.channels), 1, e.batch);
        copy = a.take<T>(static_cast<std::size_t>(samples * e.length * e.channels));
      }
    }
  };

  static csp_groups groups_of(csp_config const& config, extents3 e, csp_shifts const& shifts,
                              tensor1<index_t const> lengths) {
    csp_groups groups{};
    groups.extents = e;
    groups.group = config.group;
    groups.by_group = row_division(config.group);
    groups.shifts = shifts.all;
    groups.uniform_shift = shifts.first;
    groups.descending = shifts.descending;
    groups.all_descend = shifts.first_descends;
    groups.lengths = lengths;
    return groups;
  }

  // Places are kept as the state of one channel would be saved.
  static std::size_t destinations_bytes(extents3 e, index_t group) {
    extents3 const saved = saved_order_extents({e.batch, e.length, 1}, group);
    return static_cast<std::size_t>(saved.size()) *
           static_cast<std::size_t>(saved_order_width(group));
  }
  static group_rows destinations_in(void* memory, extents3 e, index_t group) {
    extents3 const saved = saved_order_extents({e.batch, e.length, 1}, group);
    return {memory, row_major(saved), static_cast<int>(saved_order_width(group))};
  }

  template <class Grid, class T>
  static void move_rows(Grid const& grid, column_transfer<T> const& job, csp_groups const& groups,
                        group_rows order, permute_layout<T> const& m) {
    auto const run = [&](auto rows) { permute_columns(grid, job, rows, m); };
    if (groups.group == 1)
      run(csp_rows<no_order>{groups, order});
    else if (groups.group == 2)
      run(csp_rows<order_of_pairs>{groups, order});
    else if (order.bytes == 1)
      run(csp_rows<order_of_bytes>{groups, order});
    else
      run(csp_rows<order_of_any_size>{groups, order});
  }
};

SLICESORT_DETAIL_END

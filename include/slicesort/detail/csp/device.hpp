// SPDX-License-Identifier: Apache-2.0
// csp (channel-wise sample permutation) on the device. Forward shifts, sorts and aligns in one
// pass. Backward, and forward of one-row groups, permute rows by the saved order and the shift.
//
//   rows of a group                          algorithm
//   1                                        the permute kernels
//   2                                        eight pairs per thread, in registers; also backward
//                                            if no channel is shifted
//   up to 64 (16-bit types 128, 64-bit 32)   one group per thread, in registers
//   beyond                                   the sort engine, with groups as its columns
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
  static void plan(Grid const& grid, csp_shape const& shape, arena& memory) {
    (void)layout<T>(memory, grid, shape);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, csp_forward<T> const& params, workspace w) {
    extents3 const extents = params.x.extents();
    if (extents.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, params.shape());
    csp_shifts const shifts = upload_shifts(grid, params.config, extents, buffers.shifts);
    if (params.config.group == 1) {
      permute_rows(grid, column_transfer<T>{params.x, params.y, true, grad_mode::overwrite},
                   make_groups(params.config, extents, shifts, params.lengths), {},
                   buffers.permute);
      return;
    }
    groups_view<T> view{
        make_groups(params.config, extents, shifts, params.lengths), params.x, params.y, {}, {}};
    if (params.saving) view.order = order_tensor(params.order);
    if constexpr (Aligned) {
      view.destinations = destinations_in(buffers.destinations, extents, params.config.group);
      groups_view<T> reference = view;
      reference.groups =
          make_groups(params.config, {extents.batch, extents.length, 1}, {}, params.lengths);
      reference.x = {params.x.data() + params.x.offset(0, 0, params.config.reference),
                     reference.groups.extents, params.x.strides()};
      reference.y = {};
      reference.order = view.destinations;
      reference.destinations = {};
      sort_groups(grid, reference, {}, buffers.reference);
    }
    bool const overwrites_sources = shifts.has_shifts && params.x.data() == params.y.data();
    csp_shift_info const shift_info{shifts.has_shifts, params.config};
    if (!overwrites_sources || buffers.copy == nullptr)
      return sort_groups(grid, view, shift_info, buffers.sort);

    bool const adjacent = rows_are_adjacent(params.x.strides());
    for (index_t first_sample = 0; first_sample < extents.batch; first_sample += buffers.samples) {
      extents3 const chunk_extents{std::min(buffers.samples, extents.batch - first_sample),
                                   extents.length, extents.channels};
      copy_as_one_sample(grid, slice_batch(params.x, first_sample, chunk_extents), buffers.copy,
                         adjacent);
      groups_view<T> chunk = view;
      chunk.groups.extents = chunk_extents;
      chunk.groups.lengths = slice_batch(params.lengths, first_sample, chunk_extents);
      chunk.x = tensor3<T const>(buffers.copy, chunk_extents,
                                 one_sample_strides(chunk_extents, adjacent));
      chunk.y = slice_batch(params.y, first_sample, chunk_extents);
      chunk.order = slice_batch(view.order, first_sample);
      chunk.destinations = slice_batch(view.destinations, first_sample);
      sort_groups(grid, chunk, shift_info, buffers.sort);
    }
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, csp_backward<T> const& params, workspace w) {
    extents3 const extents = params.dy.extents();
    if (extents.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, params.shape());
    csp_shifts const shifts = upload_shifts(grid, params.config, extents, buffers.shifts);
    csp_groups const groups = make_groups(params.config, extents, shifts, params.lengths);
    if (!is_pair(params.config.group) || shifts.has_shifts)
      return permute_rows(grid, column_transfer<T>{params.dy, params.dx, false, params.mode},
                          groups, order_tensor(params.order), buffers.permute);
    return_pairs_kernel<T> kernel{};
    kernel.groups = groups;
    kernel.dy = params.dy;
    kernel.dx = params.dx;
    kernel.order = order_tensor(params.order);
    kernel.mode = params.mode;
    run_on_groups(grid, kernel, groups, params.dy, params.dy.data() == params.dx.data(), {},
                  rows_per_byte);
  }

 private:
  template <class T>
  struct layout {
    index_t* shifts = nullptr;              // shifts of all channels, then their directions
    unsigned char* destinations = nullptr;  // saved order of each sample's reference channel
    sort_layout<T> reference, sort;
    index_t samples = 0;  // samples per chunk, the size of `copy`
    T* copy = nullptr;    // copy of x, if groups would overwrite rows that others still read
    permute_layout<T> permute;

    template <class Grid>
    layout(arena& memory, Grid const& grid, csp_shape const& shape) {
      if (shape.extents.empty()) return;
      shifts = memory.take<index_t>(csp_shift_count(shape.extents.channels));
      memory.overlap(
          [&](arena& sort_memory) { allocate_sort(sort_memory, grid, shape.extents, shape.group); },
          [&](arena& permute_memory) {
            permute = permute_layout<T>(permute_memory, grid, shape.extents);
          });
    }

   private:
    template <class Grid>
    void allocate_sort(arena& memory, Grid const& grid, extents3 extents, index_t group) {
      if (group == 1) return;
      if (Aligned) destinations = memory.take<unsigned char>(destination_bytes(extents, group));
      if (!fits_registers<T>(grid, group))
        memory.overlap(
            [&](arena& sort_memory) {
              sort = sort_layout<T>(sort_memory, grid, group_extents(extents, group));
            },
            [&](arena& reference_memory) {
              extents3 const channel{extents.batch, extents.length, 1};
              if (Aligned)
                reference = sort_layout<T>(reference_memory, grid, group_extents(channel, group));
            });
      if (group < extents.length && !can_stage_columns<T>(grid, extents, group)) {
        index_t const chunk_elements = grid_tuning_of<T>(grid).chunk_elements;
        samples = std::clamp<index_t>(chunk_elements / (extents.length * extents.channels), 1,
                                      extents.batch);
        copy =
            memory.take<T>(static_cast<std::size_t>(samples * extents.length * extents.channels));
      }
    }
  };

  static csp_groups make_groups(csp_config const& config, extents3 extents,
                                csp_shifts const& shifts, tensor1<index_t const> lengths) {
    csp_groups groups{};
    groups.extents = extents;
    groups.group = config.group;
    groups.divide_by_group = row_division(config.group);
    groups.shifts = shifts.per_channel;
    groups.uniform_shift = shifts.uniform;
    groups.descending = shifts.descending;
    groups.all_descend = shifts.all_descend;
    groups.lengths = lengths;
    return groups;
  }

  // Destinations have the format of the saved order of one channel.
  static std::size_t destination_bytes(extents3 extents, index_t group) {
    extents3 const saved = saved_order_extents({extents.batch, extents.length, 1}, group);
    return static_cast<std::size_t>(saved.size()) *
           static_cast<std::size_t>(saved_order_width(group));
  }
  static order_tensor destinations_in(void* memory, extents3 extents, index_t group) {
    extents3 const saved = saved_order_extents({extents.batch, extents.length, 1}, group);
    return {memory, row_major(saved), static_cast<int>(saved_order_width(group))};
  }

  template <class Grid, class T>
  static void permute_rows(Grid const& grid, column_transfer<T> const& transfer,
                           csp_groups const& groups, order_tensor order,
                           permute_layout<T> const& layout) {
    auto const permute = [&](auto rows) { permute_columns(grid, transfer, rows, layout); };
    if (groups.group == 1)
      permute(csp_rows<no_order>{groups, order});
    else if (is_pair(groups.group))
      permute(csp_rows<order_of_pairs>{groups, order});
    else if (order.element_bytes == 1)
      permute(csp_rows<order_of_bytes>{groups, order});
    else
      permute(csp_rows<order_of_any_size>{groups, order});
  }
};

SLICESORT_DETAIL_END

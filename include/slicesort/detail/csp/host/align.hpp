// SPDX-License-Identifier: Apache-2.0
// Computes the order of each sample's reference channel, which the other channels follow.
#pragma once

#include <slicesort/detail/csp/host/layout.hpp>
#include <slicesort/detail/csp/host/simd_table.hpp>
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Computes the destination of every row of a reference channel in its pair.
template <class T>
void align_pairs(T const* x, index_t pitch, index_t rows, std::uint16_t* destinations) {
  for (index_t i = 0; i + 1 < rows; i += 2) {
    bool const descending = ordered_key(x[(i + 1) * pitch], true) < ordered_key(x[i * pitch], true);
    destinations[i] = descending;
    destinations[i + 1] = !descending;
  }
}

// Computes the order of each sample's reference. Padding maps to itself, because lengths are reread
// for the other channels and may have changed by then.
template <class T>
void align_groups(host_exec const& exec, csp_forward<T> const& params, csp_layout<T> const& layout,
                  csp_kernels<T> const& kernels) {
  extents3 const extents = params.x.extents();
  index_t const group = params.config.group;
  for_each_task(exec, extents.batch, [&](unsigned thread, index_t batch) {
    csp_task_memory<T> const task_memory = layout.task_memory[thread];
    column_chunk const chunk{batch, params.config.reference, 1};
    T const* const x = params.x.data() + params.x.offset(batch, 0, params.config.reference);
    index_t const rows = valid_rows(params.lengths, batch, extents.length),
                  first_row = batch * extents.length;
    if (is_long_group(group)) {
      task_memory.long_groups.argsort(x, params.x.strides().length, rows, group,
                                      layout.long_destinations + first_row);
    } else if (is_pair(group)) {
      align_pairs(x, params.x.strides().length, rows, layout.destinations + first_row);
    } else if (needs_sort(group)) {
      tensor3<T> const sorted(task_memory.tile.columns, {1, rows, 1});
      csp_tile<T> tile = layout.make_tile(params.x, sorted, chunk, group, params.lengths,
                                          task_memory.tile, csp_operation::forward);
      tile.stream = false;
      tile.to_layout = layout.layout_of({1, rows, 1}, sorted.strides(), {0, 0, 1});
      tile.order = layout.destinations + first_row, tile.order_width = index_width::bits16,
      tile.order_layout = tile.to_layout;
      kernels.run_csp_tile(tile, csp_operation::forward);
    }
    for (index_t i = rows; i < extents.length; ++i)
      if (is_long_group(group))
        layout.long_destinations[first_row + i] = static_cast<std::uint32_t>(i % group);
      else
        layout.destinations[first_row + i] = static_cast<std::uint16_t>(i % group);
  });
}

SLICESORT_DETAIL_END

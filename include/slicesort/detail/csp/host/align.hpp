// SPDX-License-Identifier: Apache-2.0
// Aligned groups: the order of every sample's reference channel, which the other channels follow.
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

template <class T>
void align_pairs(T const* x, index_t pitch, index_t rows, std::uint16_t* destinations) {
  for (index_t i = 0; i + 1 < rows; i += 2) {
    bool const falling = ordered_key(x[(i + 1) * pitch], true) < ordered_key(x[i * pitch], true);
    destinations[i] = falling;
    destinations[i + 1] = !falling;
  }
}

// Finds the order of every sample's reference. Rows past the valid ones stay in place: a length is
// read again where the other channels follow, and may have been written to by then.
template <class T>
void align_groups(host_exec const& exec, csp_forward<T> const& p, csp_layout<T> const& m,
                  csp_kernels<T> const& use) {
  extents3 const e = p.x.extents();
  index_t const group = p.config.group;
  for_each_task(exec, e.batch, [&](unsigned slot, index_t batch) {
    csp_task_memory<T> const memory = m.tasks[slot];
    column_chunk const b{batch, p.config.reference, 1};
    T const* const x = p.x.data() + p.x.offset(batch, 0, p.config.reference);
    index_t const rows = valid_rows(p.lengths, batch, e.length), first = batch * e.length;
    if (is_long_group(group)) {
      memory.long_groups.argsort(x, p.x.strides().length, rows, group, m.long_destinations + first);
    } else if (group == 2) {
      align_pairs(x, p.x.strides().length, rows, m.destinations + first);
    } else if (group > 2) {
      tensor3<T> const sorted(memory.tile.columns, {1, rows, 1});
      csp_tile<T> t = m.tile_of(p.x, sorted, b, group, p.lengths, memory.tile, csp_step::forward);
      t.stream = false;
      t.to_at = m.operand({1, rows, 1}, sorted.strides(), {0, 0, 1});
      t.order = m.destinations + first, t.order_width = index_width::bits16, t.order_at = t.to_at;
      use.move_csp_tile(t, csp_step::forward);
    }
    for (index_t i = rows; i < e.length; ++i)
      if (is_long_group(group))
        m.long_destinations[first + i] = static_cast<std::uint32_t>(i % group);
      else
        m.destinations[first + i] = static_cast<std::uint16_t>(i % group);
  });
}

SLICESORT_DETAIL_END

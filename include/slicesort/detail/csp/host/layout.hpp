// SPDX-License-Identifier: Apache-2.0
// The workspace of a csp call on the host, what its policies say of the channels, and its tiles: 32
// channels of one sample each.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/csp/host/long_groups.hpp>
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// The workspace of a task.
template <class T>
struct csp_task_memory {
  csp_scratch<T> tile;
  csp_long_groups<T> long_groups;

  csp_task_memory(arena& a, index_t length, index_t group, bool aligned)
      : tile(a, length, group, group > 2 && !is_long_group(group)) {
    if (is_long_group(group)) long_groups = csp_long_groups<T>(a, group, aligned);
  }
};

template <class T>
struct csp_layout {
  index_t* shifts;        // of every channel
  bool* descending;       // true if a channel descends, for every channel
  bool shifting = false;  // true if some channel is shifted
  bool mixed = false;     // true if only some channels descend
  bool aligned;           // true if groups take the order of a reference channel
  // If so, the destinations of sorted rows in their group, [batch][length]. The long ones are used
  // if row numbers in a group exceed 16 bits.
  std::uint16_t* destinations;
  std::uint32_t* long_destinations;
  per_thread<csp_task_memory<T>, index_t, index_t, bool> tasks;

  csp_layout(arena& a, host_exec const& exec, csp_shape const& s, bool aligned_groups)
      : shifts(a.take<index_t>(s.extents.empty() ? 0 : s.extents.channels)),
        descending(a.take<bool>(s.extents.empty() ? 0 : s.extents.channels)),
        aligned(aligned_groups),
        destinations(
            a.take<std::uint16_t>(aligned && !is_long_group(s.group) ? rows_of(s.extents) : 0)),
        long_destinations(
            a.take<std::uint32_t>(aligned && is_long_group(s.group) ? rows_of(s.extents) : 0)),
        tasks(a, exec.threads, tasks_of(s.extents), s.extents.length, s.group, aligned) {}

  void ask_policies(csp_config const& config, extents3 e) {
    for (index_t c = 0; c < e.channels; ++c) {
      shifts[c] = config.shift(c, e);
      descending[c] = config.descends(c, e);
      shifting |= shifts[c] != 0;
      mixed |= descending[c] != descending[0];
    }
  }

  // The operand of a chunk of channels.
  static tile_operand operand(extents3 e, strides3 s, column_chunk b) {
    return {column_range{e, b.batch * e.channels + b.channel, static_cast<int>(b.channels)}, s};
  }
  csp_tile<T> tile_of(tensor3<T const> from, tensor3<T> to, column_chunk b, index_t group,
                      tensor1<index_t const> lengths, csp_scratch<T> const& scratch,
                      csp_step step) const {
    extents3 const e = from.extents();
    csp_tile<T> t{};
    t.from = from.data(), t.from_at = operand(e, from.strides(), b);
    t.to = to.data(), t.to_at = operand(e, to.strides(), b);
    t.width = static_cast<int>(b.channels);
    t.rows = valid_rows(lengths, b.batch, e.length);
    t.group = group;
    for (int lane = 0; lane < t.width; ++lane) {
      t.shift[lane] = wrapped(shifts[b.channel + lane], t.rows);
      t.shifted |= t.shift[lane] != 0;
      if (descending[b.channel + lane]) t.flip[lane] = static_cast<bits_t<T>>(~bits_t<T>{0});
    }
    t.mode = grad_mode::overwrite;
    t.stream = worth_streaming<T>(e) && t.to_at.dense && t.to_at.on_lines(t.to, sizeof(T));
    t.scratch = scratch;
    t.spread_channels(step);
    return t;
  }
  template <class Order>
  static void add_order(csp_tile<T>& t, Order const& order, void* data, column_chunk b) {
    if (t.group == 1) return;
    t.order = data;
    t.order_width = order.width();
    t.order_at = operand(order.extents(), order.strides(), b);
  }

 private:
  static std::size_t rows_of(extents3 e) {
    return static_cast<std::size_t>(e.empty() ? 0 : e.batch * e.length);
  }
  static index_t tasks_of(extents3 e) {
    return e.empty() ? 0 : std::max(column_chunks(e, tile_columns).count(), e.batch);
  }
};

SLICESORT_DETAIL_END

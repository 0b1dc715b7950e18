// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the host: columns in tiles of 32, tiles shared among threads. Up to 65536 rows a
// tile is sorted by SIMD networks, one column per lane; longer columns by radix sort.
#pragma once

#include <slicesort/detail/arena.hpp>
#include <slicesort/detail/backend.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/permute_tile.hpp>
#include <slicesort/detail/host/radix_sort.hpp>
#include <slicesort/detail/host/simd/instruction_sets.hpp>
#include <slicesort/detail/problem/slicing_sort.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

inline constexpr index_t longest_network = 65536;  // what a 16-bit index can name

// Which rows of some columns take part.
struct tile_rows {
  index_t valid[tile_columns];
  index_t longest = 0;
  bool all_alike = true;

  tile_rows(column_range const& columns, tensor1<index_t const> lengths) {
    columns.for_each([&](int lane, index_t batch, index_t) {
      valid[lane] = lengths.data() == nullptr ? columns.extents.length : lengths(batch);
      if (valid[lane] > longest) longest = valid[lane];
      all_alike &= valid[lane] == valid[0];
    });
  }
};

template <class Order>
struct implementation<detail::slicing_sort_op<Order>, detail::host_backend> {
  template <class Exec>
  static void check(Exec const& on, detail::checker& c) {
    check_host(on, c);
  }

  // Scratch of one slot.
  template <class T>
  static std::size_t slot_bytes(index_t length) {
    std::size_t const scattered = sizeof(T) * tile_columns * static_cast<std::size_t>(length);
    if (length <= longest_network) return tile_scratch_bytes<T>(length);  // more than `scattered`
    detail::arena counting;
    radix_tile<T>(counting, length);
    return counting.bytes() > scattered ? counting.bytes() : scattered;
  }

  template <class T, class Exec>
  static unsigned char* plan(Exec const& on, extents3 e, detail::arena& a) {
    if (e.empty()) return nullptr;
    index_t const tasks = tiles_of(e, columns_per_task<T>(e.length));  // backward has no more
    std::size_t const slots =
        tasks < static_cast<index_t>(on.threads) ? static_cast<std::size_t>(tasks) : on.threads;
    return a.take<unsigned char>(slots * padded(slot_bytes<T>(e.length)));
  }

  template <class Exec, class T>
  static void forward(Exec const& on, detail::slicing_sort_forward<Order, T> const& p, workspace w);

  template <class Exec, class T>
  static void backward(Exec const& on, detail::slicing_sort_backward<T> const& p, workspace w);

 private:
  template <class T>
  static int columns_per_task(index_t length) {
    return length > longest_network ? radix_tile<T>::columns : tile_columns;
  }
  static std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  static index_t tiles_of(extents3 e, int step) { return (e.batch * e.channels + step - 1) / step; }
  static index_t tile_count(extents3 e) { return tiles_of(e, tile_columns); }
  static column_range range_of(extents3 e, index_t task, int step) {
    index_t const first = task * step, left = e.batch * e.channels - first;
    return {e, first, left < step ? static_cast<int>(left) : step};
  }

  template <class T>
  static column_tile<T> make_tile(detail::slicing_sort_forward<Order, T> const& p,
                                  column_range const& columns) {
    tile_rows const rows(columns, p.lengths);
    column_tile<T> t;
    t.x = p.x.data(), t.x_at = {columns, p.x.strides()};
    t.y = p.y.data(), t.y_at = {columns, p.y.strides()};
    t.perm = p.saving ? p.perm.data() : nullptr;
    t.perm_at = p.saving ? tile_operand(columns, p.perm.strides()) : t.y_at;
    t.perm_width = p.perm.width();
    t.width = columns.width, t.rows = rows.longest, t.ragged = !rows.all_alike;
    t.group = t.rows, t.places = nullptr;
    for (int lane = 0; lane < tile_columns; ++lane) {
      t.valid[lane] = lane < t.width ? rows.valid[lane] : 0;
      t.flip[lane] = 0;
    }
    columns.for_each([&](int lane, index_t, index_t channel) {
      if (!detail::ascends(p.order, channel, columns.extents.channels))
        t.flip[lane] = static_cast<detail::bits_t<T>>(~detail::bits_t<T>{0});
    });
    t.stream = worth_streaming<T>(columns.extents) && t.y_at.on_lines(t.y, sizeof(T)) &&
               (!p.saving || t.perm_at.on_lines(t.perm, static_cast<index_t>(t.perm_width)));
    t.stream_perm = t.stream;
    return t;
  }

  // Rows past the longest column of the tile are copied through, and are their own source.
  template <class T>
  static void copy_rest(column_tile<T> const& t, index_t length) {
    for (int c = 0; c < t.width; ++c)
      for (index_t i = t.rows; i < length; ++i) {
        t.y[t.y_at.start[c] + i * t.y_at.pitch] = t.x[t.x_at.start[c] + i * t.x_at.pitch];
        if (t.perm == nullptr) continue;
        index_t const at = t.perm_at.start[c] + i * t.perm_at.pitch;
        if (t.perm_width == index_width::bits16)
          static_cast<std::uint16_t*>(t.perm)[at] = static_cast<std::uint16_t>(i);
        else
          static_cast<std::uint32_t*>(t.perm)[at] = static_cast<std::uint32_t>(i);
      }
  }
};

template <class Order>
template <class Exec, class T>
void implementation<detail::slicing_sort_op<Order>, detail::host_backend>::forward(
    Exec const& on, detail::slicing_sort_forward<Order, T> const& p, workspace w) {
  extents3 const e = p.x.extents();
  if (e.empty()) return;
  detail::arena a(w);
  unsigned char* const scratch = plan<T>(on, e, a);
  isa const set = chosen_isa(on.instructions);
  bool const radix = e.length > longest_network;
  int const step = columns_per_task<T>(e.length);
  for_each_task(on, tiles_of(e, step), [&](unsigned slot, index_t task) {
    column_tile<T> t = make_tile(p, range_of(e, task, step));
    t.scratch = scratch + slot * padded(slot_bytes<T>(e.length));
    if (radix) {
      detail::arena carving(workspace{t.scratch, slot_bytes<T>(e.length)});
      radix_tile<T>(carving, e.length).run(t);
    } else if (t.rows > 0) {
      sort_tile(set, t);
    }
    copy_rest(t, e.length);
  });
}

template <class Order>
template <class Exec, class T>
void implementation<detail::slicing_sort_op<Order>, detail::host_backend>::backward(
    Exec const& on, detail::slicing_sort_backward<T> const& p, workspace w) {
  extents3 const e = p.dy.extents();
  if (e.empty()) return;
  detail::arena a(w);
  unsigned char* const scratch = plan<T>(on, e, a);
  for_each_task(on, tile_count(e), [&](unsigned slot, index_t task) {
    column_range const columns = range_of(e, task, tile_columns);
    tile_rows const rows(columns, p.lengths);
    permuted_tile<T> t;
    t.dy = p.dy.data(), t.dy_at = {columns, p.dy.strides()};
    t.dx = p.dx.data(), t.dx_at = {columns, p.dx.strides()};
    t.perm = p.perm.data(), t.perm_at = {columns, p.perm.strides()};
    t.perm_width = p.perm.width();
    t.width = columns.width, t.rows = e.length, t.mode = p.mode;
    t.ragged = !rows.all_alike || rows.longest < e.length;
    for (int lane = 0; lane < t.width; ++lane) t.valid[lane] = rows.valid[lane];
    t.scratch = reinterpret_cast<T*>(scratch + slot * padded(slot_bytes<T>(e.length)));
    t.stream = worth_streaming<T>(e) && t.dx_at.on_lines(t.dx, sizeof(T));
    permute_tile(t);
  });
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

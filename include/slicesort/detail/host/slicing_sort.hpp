// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the host: columns in tiles of 32, tiles shared among threads. Up to 65536 rows a tile is
// sorted by SIMD networks, one column per lane; longer columns by radix sort.
#pragma once

#include <slicesort/detail/arena.hpp>
#include <slicesort/detail/backend.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/permute_tile.hpp>
#include <slicesort/detail/host/radix_sort.hpp>
#include <slicesort/detail/host/simd/sort_tile.hpp>
#include <slicesort/detail/problem/slicing_sort.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

inline constexpr index_t longest_network = 65536;  // what a 16-bit index can name

// Outputs of this size or more do not fit in the nearer caches anyway: write around them.
inline constexpr index_t streaming_bytes = index_t{1} << 20;

// Which rows of columns [first, first + width) take part.
struct tile_rows {
  index_t valid[tile_columns];
  index_t longest = 0;
  bool all_alike = true;

  tile_rows(tensor1<index_t const> lengths, extents3 e, index_t first, int width) {
    for (int i = 0; i < width; ++i) {
      valid[i] = lengths.data() == nullptr ? e.length : lengths((first + i) / e.channels);
      if (valid[i] > longest) longest = valid[i];
      all_alike &= valid[i] == valid[0];
    }
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
  static void forward(Exec const& on, detail::slicing_sort_forward<Order, T> const& p, workspace w) {
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    detail::arena a(w);
    unsigned char* const scratch = plan<T>(on, e, a);
    isa const set = chosen_isa(on.instructions);
    bool const radix = e.length > longest_network;
    int const step = columns_per_task<T>(e.length);
    for_each_task(on, tiles_of(e, step), [&](unsigned slot, index_t task) {
      column_tile<T> t = make_tile(p, task * step, step);
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

  template <class Exec, class T>
  static void backward(Exec const& on, detail::slicing_sort_backward<T> const& p, workspace w) {
    extents3 const e = p.dy.extents();
    if (e.empty()) return;
    detail::arena a(w);
    unsigned char* const scratch = plan<T>(on, e, a);
    for_each_task(on, tile_count(e), [&](unsigned slot, index_t task) {
      index_t const first = task * tile_columns;
      int const width = width_at(e, first, tile_columns);
      tile_rows const rows(p.lengths, e, first, width);
      permuted_tile<T> t;
      t.dy = p.dy.data(), t.dy_at = {e, p.dy.strides(), first, width};
      t.dx = p.dx.data(), t.dx_at = {e, p.dx.strides(), first, width};
      t.perm = p.perm.data(), t.perm_at = {e, p.perm.strides(), first, width};
      t.perm_width = p.perm.width();
      t.width = width, t.rows = e.length, t.mode = p.mode;
      t.ragged = !rows.all_alike || rows.longest < e.length;
      for (int i = 0; i < width; ++i) t.valid[i] = rows.valid[i];
      t.scratch = reinterpret_cast<T*>(scratch + slot * padded(slot_bytes<T>(e.length)));
      permute_tile(t);
    });
  }

 private:
  template <class T>
  static int columns_per_task(index_t length) {
    return length > longest_network ? radix_tile<T>::columns : tile_columns;
  }
  static std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  static index_t tiles_of(extents3 e, int step) { return (e.batch * e.channels + step - 1) / step; }
  static index_t tile_count(extents3 e) { return tiles_of(e, tile_columns); }
  static int width_at(extents3 e, index_t first, int step) {
    index_t const left = e.batch * e.channels - first;
    return left < step ? static_cast<int>(left) : step;
  }

  template <class T>
  static column_tile<T> make_tile(detail::slicing_sort_forward<Order, T> const& p, index_t first, int step) {
    extents3 const e = p.x.extents();
    int const width = width_at(e, first, step);
    tile_rows const rows(p.lengths, e, first, width);
    column_tile<T> t;
    t.x = p.x.data(), t.x_at = {e, p.x.strides(), first, width};
    t.y = p.y.data(), t.y_at = {e, p.y.strides(), first, width};
    t.perm = p.saving ? p.perm.data() : nullptr;
    t.perm_at = p.saving ? tile_operand(e, p.perm.strides(), first, width) : t.y_at;
    t.perm_width = p.perm.width();
    t.width = width, t.rows = rows.longest, t.ragged = !rows.all_alike;
    for (int i = 0; i < tile_columns; ++i) {
      t.valid[i] = i < width ? rows.valid[i] : 0;
      bool const up = i >= width || detail::ascends(p.order, (first + i) % e.channels, e.channels);
      t.flip[i] = up ? detail::bits_t<T>{0} : static_cast<detail::bits_t<T>>(~detail::bits_t<T>{0});
    }
    t.stream = e.size() * static_cast<index_t>(sizeof(T)) >= streaming_bytes && t.y_at.on_lines(t.y, sizeof(T)) &&
               (!p.saving || t.perm_at.on_lines(t.perm, static_cast<index_t>(t.perm_width)));
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

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

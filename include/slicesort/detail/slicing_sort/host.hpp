// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the host: forward sorts columns, backward transposes their permutations.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/slots.hpp>
#include <slicesort/detail/permute/host/permute_tile.hpp>
#include <slicesort/detail/slicing_sort/problem.hpp>
#include <slicesort/detail/sort/host/sort_columns.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Order>
struct implementation<detail::slicing_sort_op<Order>, detail::host_backend> {
  template <class Exec>
  static void check(Exec const& on, detail::checker& c) {
    check_host(on, c);
  }

  template <class T, class Exec>
  static void plan(Exec const& on, extents3 const& e, detail::arena& a) {
    (void)layout_of<T>(a, on, e);
  }

  template <class Exec, class T>
  static void forward(Exec const& on, detail::slicing_sort_forward<Order, T> const& p,
                      workspace w) {
    detail::arena a(w);
    extents3 const e = p.x.extents();
    layout<T> const each = layout_of<T>(a, on, e);
    index_tensor3 const perm = p.saving ? p.perm : index_tensor3();
    sort_columns(on, columns_to_sort<T, Order>{p.order, p.x, p.y, perm, p.lengths},
                 [&](unsigned slot) { return each[slot].sort; });
  }

  template <class Exec, class T>
  static void backward(Exec const& on, detail::slicing_sort_backward<T> const& p, workspace w) {
    extents3 const e = p.dy.extents();
    if (e.empty()) return;
    detail::arena a(w);
    layout<T> const each = layout_of<T>(a, on, e);
    int const tiles = backward_tiles<T>(e, on.threads);
    for_each_task(on, tiles_of(e, tiles * tile_columns), [&](unsigned slot, index_t task) {
      slot_layout<T> const scratch = each[slot];
      with_tiles_of_task(
          e, task, tiles,
          [&](int i, column_range const& columns) {
            return make_permuted_tile(p, columns, scratch.permuted[i]);
          },
          [](permuted_tile<T> const* some, int count) { permute_tiles(some, count); });
    });
  }

 private:
  // Two tiles at a time, where both stay in a second-level cache of a megabyte or are narrow.
  template <class T>
  static int backward_tiles(extents3 e, unsigned threads) {
    return sizeof(T) == 2 || e.length <= 4096 ? tiles_of_task(e, threads) : 1;
  }
  template <class T>
  static permuted_tile<T> make_permuted_tile(detail::slicing_sort_backward<T> const& p,
                                             column_range const& columns, T* scratch) {
    extents3 const e = p.dy.extents();
    tile_rows const rows(columns, p.lengths);
    permuted_tile<T> t;
    t.dy = p.dy.data(), t.dy_at = {columns, p.dy.strides()};
    t.dx = p.dx.data(), t.dx_at = {columns, p.dx.strides()};
    t.perm = p.perm.data(), t.perm_at = {columns, p.perm.strides()};
    t.perm_width = p.perm.width();
    t.width = columns.width, t.rows = e.length, t.mode = p.mode;
    t.ragged = !rows.uniform || rows.longest < e.length;
    for (int lane = 0; lane < t.width; ++lane) t.valid[lane] = rows.valid[lane];
    t.scratch = scratch;
    t.stream = worth_streaming<T>(e) && t.dx_at.on_lines(t.dx, sizeof(T));
    return t;
  }

  // What forward sorts in, or the tiles that backward scatters into.
  template <class T>
  struct slot_layout {
    sort_scratch<T> sort;
    T* permuted[2] = {};

    slot_layout(detail::arena& a, extents3 e, unsigned threads) {
      a.overlap([&](detail::arena& forward) { sort = sort_scratch<T>(forward, e, threads); },
                [&](detail::arena& backward) {
                  for (int i = 0; i < backward_tiles<T>(e, threads); ++i)
                    permuted[i] =
                        backward.take<T>(tile_columns * static_cast<std::size_t>(e.length));
                });
    }
  };
  template <class T>
  using layout = slots<slot_layout<T>, extents3, unsigned>;
  template <class T, class Exec>
  static layout<T> layout_of(detail::arena& a, Exec const& on, extents3 e) {
    return {a, on.threads, sort_task<T>(e, on.threads).count(e), e, on.threads};
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

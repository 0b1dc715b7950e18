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

  // Scratch of every slot: what forward sorts in, or the tile that backward scatters into.
  template <class T, class Exec>
  static slots plan(Exec const& on, extents3 const& e, detail::arena& a) {
    return slots(a, on.threads, sort_tasks<T>(e), [&](detail::arena& slot) {
      slot.overlap([&](detail::arena& s) { take_sort_scratch<T>(s, e.length); },
                   [&](detail::arena& s) { (void)take_permuted_rows<T>(s, e.length); });
    });
  }

  template <class Exec, class T>
  static void forward(Exec const& on, detail::slicing_sort_forward<Order, T> const& p,
                      workspace w) {
    detail::arena a(w);
    slots const scratch = plan<T>(on, p.x.extents(), a);
    sort_columns(on, columns_to_sort<T, Order>{p.order, p.x, p.y, p.perm, p.saving, p.lengths},
                 scratch);
  }

  template <class Exec, class T>
  static void backward(Exec const& on, detail::slicing_sort_backward<T> const& p, workspace w) {
    extents3 const e = p.dy.extents();
    if (e.empty()) return;
    detail::arena a(w);
    slots const scratch = plan<T>(on, e, a);
    for_each_task(on, tiles_of(e, tile_columns), [&](unsigned slot, index_t task) {
      column_range const columns = columns_of_tile(e, task, tile_columns);
      tile_rows const rows(columns, p.lengths);
      permuted_tile<T> t;
      t.dy = p.dy.data(), t.dy_at = {columns, p.dy.strides()};
      t.dx = p.dx.data(), t.dx_at = {columns, p.dx.strides()};
      t.perm = p.perm.data(), t.perm_at = {columns, p.perm.strides()};
      t.perm_width = p.perm.width();
      t.width = columns.width, t.rows = e.length, t.mode = p.mode;
      t.ragged = !rows.uniform || rows.longest < e.length;
      for (int lane = 0; lane < t.width; ++lane) t.valid[lane] = rows.valid[lane];
      detail::arena carving = scratch[slot];
      t.scratch = take_permuted_rows<T>(carving, e.length);
      t.stream = worth_streaming<T>(e) && t.dx_at.on_lines(t.dx, sizeof(T));
      permute_tile(t);
    });
  }

 private:
  template <class T>
  static T* take_permuted_rows(detail::arena& a, index_t length) {
    return a.take<T>(tile_columns * static_cast<std::size_t>(length));
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

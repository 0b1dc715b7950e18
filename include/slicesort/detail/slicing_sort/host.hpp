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
    (void)layout<T>(a, on.threads, sort_tasks<T>(e), e.length);
  }

  template <class Exec, class T>
  static void forward(Exec const& on, detail::slicing_sort_forward<Order, T> const& p,
                      workspace w) {
    detail::arena a(w);
    extents3 const e = p.x.extents();
    layout<T> const each(a, on.threads, sort_tasks<T>(e), e.length);
    index_tensor3 const perm = p.saving ? p.perm : index_tensor3();
    sort_columns(on, columns_to_sort<T, Order>{p.order, p.x, p.y, perm, p.lengths},
                 [&](unsigned slot) { return each[slot].sort; });
  }

  template <class Exec, class T>
  static void backward(Exec const& on, detail::slicing_sort_backward<T> const& p, workspace w) {
    extents3 const e = p.dy.extents();
    if (e.empty()) return;
    detail::arena a(w);
    layout<T> const each(a, on.threads, sort_tasks<T>(e), e.length);
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
      t.scratch = each[slot].permuted;
      t.stream = worth_streaming<T>(e) && t.dx_at.on_lines(t.dx, sizeof(T));
      permute_tile(t);
    });
  }

 private:
  // What forward sorts in, or the tile that backward scatters into.
  template <class T>
  struct slot_layout {
    sort_scratch<T> sort;
    T* permuted = nullptr;

    slot_layout(detail::arena& a, index_t length) {
      a.overlap([&](detail::arena& forward) { sort = sort_scratch<T>(forward, length); },
                [&](detail::arena& backward) {
                  permuted = backward.take<T>(tile_columns * static_cast<std::size_t>(length));
                });
    }
  };
  template <class T>
  using layout = slots<slot_layout<T>, index_t>;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

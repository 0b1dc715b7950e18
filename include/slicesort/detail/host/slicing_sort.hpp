// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the host (interim scalar form).
#pragma once

#include <slicesort/detail/arena.hpp>
#include <slicesort/detail/backend.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/problem/slicing_sort.hpp>

#include <algorithm>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Order>
struct implementation<detail::slicing_sort_op<Order>, detail::host_backend> {
  template <class T> struct rec { detail::bits_t<T> key; std::uint32_t row; T value; };

  template <class Exec>
  static void check(Exec const& on, detail::checker& c) { check_host(on, c); }

  template <class T, class Exec>
  static rec<T>* plan(Exec const& on, extents3 e, detail::arena& a) {
    return a.take<rec<T>>(static_cast<std::size_t>(e.length) * on.threads);
  }
  template <class Exec, class T>
  static void forward(Exec const& on, detail::slicing_sort_forward<Order, T> const& p, workspace w) {
    detail::arena a(w);
    extents3 e = p.x.extents();
    rec<T>* base = plan<T>(on, e, a);
    for_each_task(on, e.batch * e.channels, [&](unsigned slot, index_t task) {
      index_t b = task / e.channels, c = task % e.channels;
      index_t n = p.lengths.data() ? p.lengths(b) : e.length;
      rec<T>* r = base + static_cast<std::ptrdiff_t>(slot) * e.length;
      bool up = detail::ascends(p.order, c, e.channels);
      for (index_t i = 0; i < e.length; ++i) r[i] = {detail::ordered_key(p.x(b, i, c), up), static_cast<std::uint32_t>(i), p.x(b, i, c)};
      std::sort(r, r + n, [](rec<T> const& l, rec<T> const& q) { return l.key != q.key ? l.key < q.key : l.row < q.row; });
      for (index_t i = 0; i < e.length; ++i) {
        p.y(b, i, c) = r[i].value;
        if (!p.saving) continue;
        index_t at = b * p.perm.strides().batch + i * p.perm.strides().length + c * p.perm.strides().channels;
        if (p.perm.width() == index_width::bits16) static_cast<std::uint16_t*>(p.perm.data())[at] = static_cast<std::uint16_t>(r[i].row);
        else static_cast<std::uint32_t*>(p.perm.data())[at] = r[i].row;
      }
    });
  }
  template <class Exec, class T>
  static void backward(Exec const& on, detail::slicing_sort_backward<T> const& p, workspace w) {
    detail::arena a(w);
    extents3 e = p.dy.extents();
    rec<T>* base = plan<T>(on, e, a);
    for_each_task(on, e.batch * e.channels, [&](unsigned slot, index_t task) {
      index_t b = task / e.channels, c = task % e.channels;
      rec<T>* r = base + static_cast<std::ptrdiff_t>(slot) * e.length;
      index_t n = p.lengths.data() ? p.lengths(b) : e.length;
      for (index_t i = 0; i < e.length; ++i) {
        index_t at = b * p.perm.strides().batch + i * p.perm.strides().length + c * p.perm.strides().channels;
        index_t to = i >= n ? i : p.perm.width() == index_width::bits16 ? index_t(static_cast<std::uint16_t const*>(p.perm.data())[at]) : index_t(static_cast<std::uint32_t const*>(p.perm.data())[at]);
        r[to].value = p.dy(b, i, c);
      }
      using A = detail::accumulator_t<T>;
      for (index_t i = 0; i < e.length; ++i)
        p.dx(b, i, c) = p.mode == grad_mode::overwrite ? r[i].value : static_cast<T>(static_cast<A>(p.dx(b, i, c)) + static_cast<A>(r[i].value));
    });
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

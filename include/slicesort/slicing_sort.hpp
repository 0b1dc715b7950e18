// SPDX-License-Identifier: Apache-2.0
/// Slicing-sort, the operator of Sliceformer: every channel of every sample is sorted along the
/// sequence.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/slicing_sort/host.hpp>
#include <slicesort/detail/slicing_sort/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_OPERATORS_BEGIN

/// `y[b, :, c] = sort(x[b, :, c])`, independently for every sample `b` and channel `c`
/// (Sliceformer, eq. 4: `Sort_col(X W_V)`; the projection is the caller's).
///
/// With `p` the stable argsort of a column: `y[n] = x[p[n]]`, and backward `dx[p[n]] = dy[n]`.
///
/// - **Shapes** x, y, dy, dx, perm: `[batch, length, channels]`, any strides (outputs without
///   repeats).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Order** one total order on bits: -0 == +0; every NaN equal and above +inf; ties keep the
///   lower source row first, ascending and descending alike. Values move bit for bit.
/// - **Saved** `perm`, 16-bit (length <= 65536) or 32-bit; or `no_saved`.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is refused.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any thread count, instruction set and split of the batch.
/// - **Cost** O(N log^2 N) comparators up to 65536 rows, O(N) radix passes beyond; backward O(N).
///
/// @tparam Order which channels ascend: `ascending`, `descending`, `half_half`, `interleave`,
///         `haar_interleave`, or a type of yours (see `order.hpp`).
template <class Order = ascending>
class slicing_sort {
 public:
  using saved = saved_permutation;
  using const_saved = const_saved_permutation;

  constexpr slicing_sort() = default;
  constexpr explicit slicing_sort(Order order) : order_(order) {}

  constexpr Order const& order() const { return order_; }

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only. A
  /// shape that every call refuses is refused here. The size does not always grow with the length:
  /// past 65536 rows another algorithm needs less.
  template <class T, class Exec>
  static std::size_t workspace_bytes(Exec const& on, extents3 extents) {
    detail::enforce(check_workspace_bytes<T>(on, extents));
    return detail::planned_bytes<op, T>(on, extents);
  }
  /// The same for the view of an x of this element type and shape.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  static std::size_t workspace_bytes(Exec const& exec, X const& x) {
    return workspace_bytes<detail::element_of_rank3<X>>(exec,
                                                        detail::view_of_rank3_t<X>(x).extents());
  }
  /// Returns what `workspace_bytes` would report for these arguments.
  template <class T, class Exec>
  static verdict check_workspace_bytes(Exec const& on, extents3 extents) {
    detail::require_dtype<T>();
    return detail::check_shape<op>(on, "slicing_sort.workspace_bytes", [&](detail::checker& c) {
      detail::check_extents(c, detail::describe_shape("x", extents));
    });
  }

  /// Sorts `x` into `y` and writes the permutation, unless `state` is `no_saved`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  void forward(Exec const& on, X const& x, Y const& y, saved state, workspace scratch = {},
               forward_options options = {}) const {
    auto const p = forward_problem(x, y, state, options);
    detail::run_forward<op>(on, p, scratch, check(on, p, scratch));
  }
  /// Returns what `forward` would report for these arguments, without running it.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  verdict check_forward(Exec const& on, X const& x, Y const& y, saved state, workspace scratch = {},
                        forward_options options = {}) const {
    return check(on, forward_problem(x, y, state, options), scratch);
  }

  /// `dx[b, perm[b, n, c], c] = dy[b, n, c]`, or `+=` with `grad_mode::accumulate`. `state` is what
  /// forward wrote; its indices are trusted, not checked.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  void backward(Exec const& on, DY const& dy, const_saved state, DX const& dx,
                workspace scratch = {}, backward_options options = {}) const {
    auto const p = backward_problem(dy, state, dx, options);
    detail::run_backward<op>(on, p, scratch, check(on, p, scratch));
  }
  /// Returns what `backward` would report for these arguments, without running it.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  verdict check_backward(Exec const& on, DY const& dy, const_saved state, DX const& dx,
                         workspace scratch = {}, backward_options options = {}) const {
    return check(on, backward_problem(dy, state, dx, options), scratch);
  }

  SLICESORT_REFUSE_OTHER_CALLS("(on, x, y, {perm} or slicesort::no_saved, workspace, options)",
                               "(on, dy, {perm}, dx, workspace, options)");

 private:
  using op = detail::slicing_sort_op<Order>;

  template <class X, class Y>
  auto forward_problem(X const& x, Y const& y, saved state, forward_options options) const {
    auto const v = detail::transfer_of(x, y);
    detail::slicing_sort_forward<Order, typename decltype(v)::element> p{order_};
    p.x = v.in;
    p.y = v.out;
    p.perm = state.view;
    p.saving = state.saving;
    p.lengths = options.lengths;
    return p;
  }
  template <class DY, class DX>
  static auto backward_problem(DY const& dy, const_saved state, DX const& dx,
                               backward_options options) {
    auto const v = detail::transfer_of(dy, dx);
    using T = typename decltype(v)::element;
    return detail::slicing_sort_backward<T>{v.in, v.out, state.view, options.mode, options.lengths};
  }

  template <class Exec, class Problem>
  detail::checked_call check(Exec const& on, Problem const& p, workspace scratch) const {
    return detail::check_call<op>(on, p, scratch, [&](detail::checker& c) { check_views(c, p); });
  }
  template <class T>
  void check_views(detail::checker& c, detail::slicing_sort_forward<Order, T> const& p) const {
    auto const in = detail::describe("x", p.x, false);
    auto const out = detail::describe("y", p.y, true);
    detail::check_transfer(c, in, out, p.lengths);
    if (p.saving) detail::check_permutation(c, detail::describe("perm", p.perm, true), in, out);
    c.policy("order", order_, p.x.extents().channels);
  }
  template <class T>
  static void check_views(detail::checker& c, detail::slicing_sort_backward<T> const& p) {
    auto const in = detail::describe("dy", p.dy, false);
    auto const out = detail::describe("dx", p.dx, true);
    detail::check_transfer(c, in, out, p.lengths);
    detail::check_permutation(c, detail::describe("perm", p.perm, false), in, out);
  }

  Order order_{};
};

SLICESORT_OPERATORS_END

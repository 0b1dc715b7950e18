// SPDX-License-Identifier: Apache-2.0
/// Slicing-sort, the operator of Sliceformer: every channel of every sample is sorted along the
/// sequence.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/slicing_sort/host.hpp>
#include <slicesort/detail/slicing_sort/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/order.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <type_traits>

namespace slicesort {
inline namespace SLICESORT_BUILD {

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

  /// Bytes of workspace for a forward or backward call of this shape; arithmetic only. `extents`
  /// must be acceptable to `check`. It does not always grow with the length: past 65536 rows
  /// another algorithm needs less.
  template <class T, class Exec>
  static std::size_t workspace_bytes(Exec const& on, extents3 extents) {
    impl::require_dtype<T>();
    detail::arena counting;
    backend<Exec>::template plan<T>(on, extents, counting);
    return counting.bytes();
  }

  /// Sorts `x` into `y` and writes the permutation.
  template <class Exec, class X, class Y>
  void forward(Exec const& on, X const& x, Y const& y, saved state, workspace scratch = {},
               forward_options options = {}) const {
    run(on, sorting(x, y, state.perm, true, options), scratch);
  }
  /// Sorts `x` into `y`; keeps nothing for backward.
  template <class Exec, class X, class Y>
  void forward(Exec const& on, X const& x, Y const& y, no_saved_t, workspace scratch = {},
               forward_options options = {}) const {
    run(on, sorting(x, y, {}, false, options), scratch);
  }

  /// `dx[b, perm[b, n, c], c] = dy[b, n, c]`, or `+=` with `grad_mode::accumulate`. `state` is what
  /// forward wrote; its indices are trusted, not checked.
  template <class Exec, class DY, class DX>
  void backward(Exec const& on, DY const& dy, const_saved state, DX const& dx,
                workspace scratch = {}, backward_options options = {}) const {
    run(on, gradient(dy, state, dx, options), scratch);
  }

  /// The verdict that the same call of `forward` or `backward` would act on, as a value.
  template <class Exec, class X, class Y>
  verdict check(Exec const& on, X const& x, Y const& y, saved state, workspace scratch = {},
                forward_options options = {}) const {
    return check_problem(on, sorting(x, y, state.perm, true, options), scratch);
  }
  template <class Exec, class X, class Y>
  verdict check(Exec const& on, X const& x, Y const& y, no_saved_t, workspace scratch = {},
                forward_options options = {}) const {
    return check_problem(on, sorting(x, y, {}, false, options), scratch);
  }
  template <class Exec, class DY, class DX>
  verdict check(Exec const& on, DY const& dy, const_saved state, DX const& dx,
                workspace scratch = {}, backward_options options = {}) const {
    return check_problem(on, gradient(dy, state, dx, options), scratch);
  }

 private:
  template <class Exec>
  using backend = impl::implementation_for<detail::slicing_sort_op<Order>, Exec>;
  template <class T>
  using forward_problem = detail::slicing_sort_forward<Order, T>;
  template <class T>
  using backward_problem = detail::slicing_sort_backward<T>;

  template <class X, class Y>
  auto sorting(X const& x, Y const& y, index_tensor3 perm, bool saving,
               forward_options options) const {
    auto const v = impl::transfer_of(x, y);
    using T = typename decltype(v)::element;
    return forward_problem<T>{order_, v.in, v.out, perm, saving, options.lengths};
  }
  template <class DY, class DX>
  static auto gradient(DY const& dy, const_saved state, DX const& dx, backward_options options) {
    auto const v = impl::transfer_of(dy, dx);
    using T = typename decltype(v)::element;
    return backward_problem<T>{v.in, v.out, state.perm, options.mode, options.lengths};
  }

  template <class Exec, class T>
  void run(Exec const& on, forward_problem<T> const& p, workspace scratch) const {
    impl::enforce(check_problem(on, p, scratch));
    backend<Exec>::forward(on, p, scratch);
  }
  template <class Exec, class T>
  void run(Exec const& on, backward_problem<T> const& p, workspace scratch) const {
    impl::enforce(check_problem(on, p, scratch));
    backend<Exec>::backward(on, p, scratch);
  }

  template <class Exec, class T>
  verdict check_problem(Exec const& on, forward_problem<T> const& p, workspace scratch) const {
    detail::checker c(p.name, impl::reads_memory<Exec>);
    auto const in = detail::describe("x", p.x, false);
    auto const out = detail::describe("y", p.y, true);
    impl::check_transfer(c, in, out, p.lengths);
    if (p.saving) impl::check_permutation(c, detail::describe("perm", p.perm, true), in, out);
    c.policy("order", order_, p.x.extents().channels);
    return impl::finish_check<backend<Exec>>(c, on, scratch,
                                             [&] { return workspace_bytes<T>(on, p.x.extents()); });
  }
  template <class Exec, class T>
  verdict check_problem(Exec const& on, backward_problem<T> const& p, workspace scratch) const {
    detail::checker c(p.name, impl::reads_memory<Exec>);
    auto const in = detail::describe("dy", p.dy, false);
    auto const out = detail::describe("dx", p.dx, true);
    impl::check_transfer(c, in, out, p.lengths);
    impl::check_permutation(c, detail::describe("perm", p.perm, false), in, out);
    return impl::finish_check<backend<Exec>>(
        c, on, scratch, [&] { return workspace_bytes<T>(on, p.dy.extents()); });
  }

  Order order_{};
};

}  // namespace SLICESORT_BUILD
}  // namespace slicesort

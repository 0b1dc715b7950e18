// SPDX-License-Identifier: Apache-2.0
/// Permute: applies a permutation that a sort saved to another tensor, or its inverse.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/permute/host.hpp>
#include <slicesort/detail/permute/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

SLICESORT_OPERATORS_BEGIN

/// `y[b, n, c] = x[b, perm[b, n, c], c]`, with the `perm` that forward of `slicing_sort` or
/// `multi_permutation` saved (`torch.gather(x, 1, perm)`). Backward `dx[b, perm[b, n, c], c] =
/// dy[b, n, c]`: the transpose, and as `perm` is a permutation, the inverse.
///
/// This differentiates a sort twice, and forward: with the `perm` of x, `permute.forward` of a
/// tangent of x is the tangent of sorted x (jvp), and `permute.forward` of the gradient with
/// respect to dx is the gradient with respect to dy (the backward of `slicing_sort.backward`, which
/// `permute.backward` equals).
///
/// - **Shapes** x, y, dy, dx, perm: `[batch, length, channels]`, any strides (outputs without
///   repeats).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; not necessarily
///   the one that was sorted. Values move bit for bit.
/// - **Indices** `perm`, 16-bit (length <= 65536) or 32-bit. They are trusted, not checked: every
///   one that is read must be in 0..length - 1, or the call is undefined behavior. If they are no
///   permutation, forward still gathers the rows that they name; after backward the elements of
///   such a column of dx are unspecified (two rows claim one place, and another is left over).
/// - **Lengths** the valid rows are permuted among themselves; the others are copied through, and
///   what `perm` says of them is not read.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is refused.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any thread count, instruction set and split of the batch.
/// - **Cost** O(N) per column, one pass: reads x and perm, writes y.
class permute {
 public:
  using const_saved = const_saved_permutation;

  constexpr permute() = default;

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only. A
  /// shape that every call refuses is refused here.
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
    return detail::check_shape<op>(on, "permute.workspace_bytes", [&](detail::checker& c) {
      detail::check_extents(c, detail::describe_shape("x", extents));
    });
  }

  /// Writes row `perm[b, n, c]` of every column of `x` to row `n` of `y`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  void forward(Exec const& on, X const& x, const_saved state, Y const& y, workspace scratch = {},
               forward_options options = {}) const {
    auto const p = forward_problem(x, state, y, options);
    detail::run_forward<op>(on, p, scratch, check(on, p, scratch));
  }
  /// Returns what `forward` would report for these arguments, without running it.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  verdict check_forward(Exec const& on, X const& x, const_saved state, Y const& y,
                        workspace scratch = {}, forward_options options = {}) const {
    return check(on, forward_problem(x, state, y, options), scratch);
  }

  /// Writes row `n` of every column of `dy` to row `perm[b, n, c]` of `dx`, or adds it with
  /// `grad_mode::accumulate`.
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

  SLICESORT_REFUSE_OTHER_CALLS("(on, x, {perm}, y, workspace, options)",
                               "(on, dy, {perm}, dx, workspace, options)");

 private:
  using op = detail::permute_op;

  template <class X, class Y>
  static auto forward_problem(X const& x, const_saved state, Y const& y, forward_options options) {
    auto const v = detail::transfer_of(x, y);
    using T = typename decltype(v)::element;
    return detail::permute_forward<T>{v.in, state.view, v.out, options.lengths};
  }
  template <class DY, class DX>
  static auto backward_problem(DY const& dy, const_saved state, DX const& dx,
                               backward_options options) {
    auto const v = detail::transfer_of(dy, dx);
    using T = typename decltype(v)::element;
    return detail::permute_backward<T>{v.in, state.view, v.out, options.mode, options.lengths};
  }

  template <class Exec, class Problem>
  static detail::checked_call check(Exec const& on, Problem const& p, workspace scratch) {
    return detail::check_call<op>(on, p, scratch, [&](detail::checker& c) { check_views(c, p); });
  }
  template <class T>
  static void check_views(detail::checker& c, detail::permute_forward<T> const& p) {
    check_move(c, detail::describe("x", p.x, false), detail::describe("y", p.y, true), p.perm,
               p.lengths);
  }
  template <class T>
  static void check_views(detail::checker& c, detail::permute_backward<T> const& p) {
    check_move(c, detail::describe("dy", p.dy, false), detail::describe("dx", p.dx, true), p.perm,
               p.lengths);
  }
  static void check_move(detail::checker& c, detail::view_info const& in,
                         detail::view_info const& out, const_index_tensor3 perm,
                         tensor1<index_t const> lengths) {
    detail::check_transfer(c, in, out, lengths);
    detail::check_permutation(c, detail::describe("perm", perm, false), in, out);
  }
};

SLICESORT_OPERATORS_END

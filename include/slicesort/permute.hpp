// SPDX-License-Identifier: Apache-2.0
/// Applies the saved permutation of a sort, or its inverse, to another tensor.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/permute/host.hpp>
#include <slicesort/detail/permute/params.hpp>
#include <slicesort/saved.hpp>

SLICESORT_OPERATORS_BEGIN

/// `y[b, n, c] = x[b, perm[b, n, c], c]`, with the `perm` that forward of `slicing_sort` or
/// `multi_permutation` saved (`torch.gather(x, 1, perm)`). Backward computes
/// `dx[b, perm[b, n, c], c] = dy[b, n, c]`, the inverse permutation.
///
/// Use it for forward-mode (jvp) and second derivatives of a sort, with the `perm` of x. jvp:
/// `permute.forward` of a tangent of x is the tangent of sorted x. Second derivative:
/// `permute.backward` equals `slicing_sort.backward`, and its backward pass is `permute.forward`,
/// which turns the gradient with respect to dx into the gradient with respect to dy.
///
/// - **Shapes** x, y, dy, dx, perm: `[batch, length, channels]`, any strides (output strides must
///   not overlap).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; not necessarily
///   the type that was sorted. Values move bit for bit.
/// - **Indices** `perm`, 16-bit (length <= 65536) or 32-bit. They are trusted, not checked: an
///   index that is read and not in 0..length - 1 is undefined behavior. If they are not a
///   permutation, forward still gathers the indexed rows, but backward leaves that column of dx
///   unspecified.
/// - **Lengths** the valid rows are permuted among themselves; the others are copied unchanged, and
///   their indices are ignored.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is an error.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any thread count, instruction set and split of the batch.
/// - **Cost** O(N) per column, one pass: reads x and perm, writes y.
class permute : public detail::sized_by_shape<detail::permute_op> {
 public:
  using const_saved = const_saved_permutation;

  constexpr permute() = default;

  /// Writes row `perm[b, n, c]` of every column of `x` to row `n` of `y`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, const_saved state, Y const& y,
                                workspace memory = {}, forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options, op::config{});
    params.state = state.view;
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { detail::check_permuting_call(c, params); });
  }

  /// Writes row `n` of every column of `dy` to row `perm[b, n, c]` of `dx`, or adds it with
  /// `grad_mode::accumulate`.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, const_saved state, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    auto params = detail::make_backward_params<op>(dy, dx, options, op::config{});
    params.state = state.view;
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { detail::check_permuting_call(c, params); });
  }

  SLICESORT_REFUSE_OTHER_TRANSFERS("(exec, x, perm, y, workspace, options)",
                                   "(exec, dy, perm, dx, workspace, options)");

 private:
  using op = detail::permute_op;
};

SLICESORT_OPERATORS_END

// SPDX-License-Identifier: Apache-2.0
/// Slicing-sort, the operator of Sliceformer: sorts every channel of every sample along the
/// sequence.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/slicing_sort/host.hpp>
#include <slicesort/detail/slicing_sort/params.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>

SLICESORT_OPERATORS_BEGIN

/// `y[b, :, c] = sort(x[b, :, c])`, independently for every sample `b` and channel `c`
/// (Sliceformer, eq. 4: `Sort_col(X W_V)`; the caller computes the projection).
///
/// If `p` is the stable argsort of a column, forward computes `y[n] = x[p[n]]` and backward
/// `dx[p[n]] = dy[n]`.
///
/// - **Shapes** x, y, dy, dx, perm: `[batch, length, channels]`, any strides (output strides must
///   not overlap).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Order** one total order on bits: -0 == +0; every NaN equal and above +inf; ties keep the
///   lower source row first, ascending and descending alike. Values move bit for bit.
/// - **Saved** `perm`, 16-bit (length <= 65536) or 32-bit; or `no_saved`.
/// - **Lengths** only valid rows are sorted; later rows, and their gradients, are copied, with the
///   identity in `perm`.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is an error.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any thread count, instruction set and split of the batch.
/// - **Cost** O(N log^2 N) comparators up to 65536 rows; beyond, O(N) radix passes on the host and
///   merges on a GPU. Backward O(N).
///
/// @tparam Order selects the channels that ascend: `ascending`, `descending`, `half_half`,
///         `interleave`, `haar_interleave`, or a user-defined type (see `order.hpp`).
template <class Order = ascending>
class slicing_sort : public detail::sized_by_shape<detail::slicing_sort_op<Order>> {
 public:
  using saved = saved_permutation;
  using const_saved = const_saved_permutation;

  constexpr slicing_sort() = default;
  constexpr explicit slicing_sort(Order order) : order_(order) {}

  constexpr Order const& order() const { return order_; }

  /// Sorts `x` into `y` and writes the permutation, unless `state` is `no_saved`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Y const& y, saved state,
                                workspace memory = {}, forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options, config{order_});
    params.state = state.view;
    params.saving = state.saving;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [in, out] = detail::check_transfer(c, params);
      if (state.saving)
        detail::check_permutation(c, detail::describe("perm", state.view, true), in, out);
      c.policy("order", order_, in.extents.channels);
    });
  }

  /// `dx[b, perm[b, n, c], c] = dy[b, n, c]`, or `+=` with `grad_mode::accumulate`. `state` is the
  /// output of forward; its indices are trusted, not checked.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, const_saved state, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    auto params = detail::make_backward_params<op>(dy, dx, options, config{order_});
    params.state = state.view;
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { detail::check_permuting_call(c, params); });
  }

  SLICESORT_REFUSE_OTHER_TRANSFERS("(exec, x, y, perm or slicesort::no_saved, workspace, options)",
                                   "(exec, dy, perm, dx, workspace, options)");

 private:
  using op = detail::slicing_sort_op<Order>;
  using config = typename op::config;

  Order order_{};
};

SLICESORT_OPERATORS_END

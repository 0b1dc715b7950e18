// SPDX-License-Identifier: Apache-2.0
/// Differentiable sorting and ranking: projections onto the permutahedron.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/soft_sort/host.hpp>
#include <slicesort/detail/soft_sort/params.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>

SLICESORT_TYPES_BEGIN

/// The state that `soft_sort` and `soft_rank` save, two index tensors `[batch, length, channels]`:
/// `perm[b, n, c]` is the row of x that became row `n` of the sorted column, and `pools[b, n, c]`
/// the first row of its pool. 16-bit (`std::uint16_t`, length <= 65536) or 32-bit
/// (`std::int32_t`, `std::uint32_t`).
struct saved_pools {
  index_tensor3 perm, pools;
  bool saving = true;

  SLICESORT_ABI_TAG saved_pools(index_tensor3 perm_output, index_tensor3 pools_output)
      : perm(perm_output), pools(pools_output) {}
  SLICESORT_ABI_TAG saved_pools(no_saved_t) : saving(false) {}
};

/// The state of `soft_sort` and `soft_rank` as `backward` reads it: two tensors `[batch, length,
/// channels]` of the types of `saved_pools`.
struct const_saved_pools {
  const_index_tensor3 perm, pools;

  SLICESORT_ABI_TAG const_saved_pools(const_index_tensor3 perm_input,
                                      const_index_tensor3 pools_input)
      : perm(perm_input), pools(pools_input) {}
  SLICESORT_ABI_TAG const_saved_pools(saved_pools saved) : perm(saved.perm), pools(saved.pools) {}
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// Calls of both operators; `Form` tells them apart.
template <class Form, class Regularization, class Order>
class soft_operator : public sized_by_shape<soft_operation<Form, Order>> {
 public:
  using saved = saved_pools;
  using const_saved = const_saved_pools;

  constexpr explicit soft_operator(double strength, Order order)
      : strength_(strength), order_(order) {}

  constexpr double strength() const { return strength_; }
  constexpr Order const& order() const { return order_; }

  /// Writes the result to `y`, and its state unless `state` is `no_saved`.
  template <class Exec, class X, class Y, if_policy<Exec> = 0>
  outcome<Exec> forward(Exec const& exec, X const& x, Y const& y, saved state,
                        workspace memory = {}, forward_options options = {}) const {
    auto params = make_forward_params<op>(x, y, options, config());
    params.perm = state.perm;
    params.pools = state.pools;
    params.saving = state.saving;
    return call<op>(exec, params, memory, [&](checker& c) {
      auto const [source, target] = check_transfer(c, params);
      if (state.saving) check_state(c, params, true, source, target);
      check_policies(c, source);
    });
  }

  /// `dx = J^T dy` with the Jacobian J of forward at `x`, or `+=` with `grad_mode::accumulate`.
  /// `state` is the output of forward for the same `x`; its indices are trusted, not checked. With
  /// `regularization::l2`, `x` is ignored and may be an empty view.
  template <class Exec, class DY, class X, class DX, if_policy<Exec> = 0>
  outcome<Exec> backward(Exec const& exec, DY const& dy, X const& x, const_saved state,
                         DX const& dx, workspace memory = {}, backward_options options = {}) const {
    auto params = make_backward_params<op>(dy, dx, options, config());
    using T = typename decltype(params)::element;
    if constexpr (Regularization::is_entropic) params.x = input_of<T>(x);
    params.perm = state.perm;
    params.pools = state.pools;
    return call<op>(exec, params, memory, [&](checker& c) {
      auto const [source, target] = check_transfer(c, params);
      if constexpr (Regularization::is_entropic) {
        view_info const values = describe("x", params.x, false);
        c.view(values);
        c.same_extents(values, source.name, source.extents.tensor());
        c.no_overlap(values, target);
      }
      check_state(c, params, false, source, target);
      check_policies(c, source);
    });
  }

  SLICESORT_REFUSE_OTHER_TRANSFERS(
      "(exec, x, y, {perm, pools} or slicesort::no_saved, workspace, options)",
      "(exec, dy, x, {perm, pools}, dx, workspace, options)");

 private:
  using op = soft_operation<Form, Order>;

  soft_sort_config<Order> config() const {
    return {strength_, Regularization::is_entropic, order_};
  }

  template <class Params>
  static void check_state(checker& c, Params const& params, bool written, view_info const& source,
                          view_info const& target) {
    view_info const perm = describe("perm", params.perm, written),
                    pools = describe("pools", params.pools, written);
    check_permutation(c, perm, source, target);
    c.view(pools);
    c.same_extents(pools, source.name, source.extents.tensor());
    c.index_fits(pools, source.extents.length);
    c.no_overlap(pools, source);
    c.no_overlap(pools, target);
    if (written) c.no_overlap(pools, perm);
  }
  void check_policies(checker& c, view_info const& source) const {
    bool const is_finite = strength_ <= 0x1.fffffffffffffp1023;
    if (!(Form::ranks ? strength_ > 0 : strength_ >= 0) || !is_finite)
      c.fail(error_kind::argument, "strength is %g, must be finite and %s", strength_,
             Form::ranks ? "positive" : "at least 0");
    c.policy("order", order_, source.extents.channels);
  }

  double strength_;
  Order order_;
};

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// Soft sort of every column `x[b, :, c]`: the projection of `(n, .., 1) / strength` onto the
/// permutahedron of the column, the convex hull of its permutations (Blondel, Teboul, Berthet and
/// Djolonga, *Fast Differentiable Sorting and Ranking*, ICML 2020, eq. 5 and 6). Small strengths
/// give the sorted column, large ones its mean in every row (l2). Drop-in for `slicing_sort` with
/// gradients that pass to several rows.
///
/// - **Shapes** x, y, dy, dx, perm, pools: `[batch, length, channels]`, any strides (output strides
///   must not overlap).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`. Computes in
///   double and rounds to the element type.
/// - **Strength** finite, at least 0. With 0, and wherever a row is alone in its pool, `y` has the
///   bits of `slicing_sort`.
/// - **Values** must be finite, or NaN. A NaN is sorted as in `slicing_sort`, stays alone in its
///   pool and does not change other rows. An infinite value can make other rows infinite or NaN.
/// - **Saved** `perm` and `pools`; or `no_saved`.
/// - **Lengths** only valid rows are sorted; the others are copied unchanged.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is an error. Entropic
///   backward reads x, so y must not replace it.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any thread count, instruction set and split of the batch.
/// - **Cost** that of `slicing_sort`, and O(N) for the pools of a column; backward O(N).
///
/// @tparam Regularization `regularization::l2` or `regularization::entropic`.
/// @tparam Order selects the channels that ascend, as in `slicing_sort`.
template <class Regularization = regularization::l2, class Order = ascending>
class soft_sort : public detail::soft_operator<detail::soft_values, Regularization, Order> {
 public:
  constexpr explicit soft_sort(double strength = 1, Regularization = {}, Order order = {})
      : detail::soft_operator<detail::soft_values, Regularization, Order>(strength, order) {}
};

/// `soft_sort` as the drop-in for `slicing_sort`.
template <class Regularization = regularization::l2, class Order = ascending>
using soft_slicing_sort = soft_sort<Regularization, Order>;

/// Soft ranks of every column `x[b, :, c]`: the projection of `x / strength` onto the permutahedron
/// of `(1, .., n)` (Blondel et al., 2020, eq. 5 and 6). Small strengths give the ranks, 1 for the
/// smallest value, and large ones `(n + 1) / 2` in every row (l2). In descending channels, rank 1
/// is that of the largest value.
///
/// - **Shapes** x, y, dy, dx, perm, pools: `[batch, length, channels]`, any strides (output strides
///   must not overlap).
/// - **dtypes** as `soft_sort`. Ranks above 2048 (float16) or 256 (bfloat16) are rounded.
/// - **Strength** finite and positive.
/// - **Values** must be finite, or NaN. A NaN ranks above +inf; its result is NaN and its gradient
///   0, and other rows do not change.
/// - **Saved** `perm` and `pools` of the sorted column; or `no_saved`.
/// - **Lengths** only valid rows are ranked; the others of y and dx are 0.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Aliasing, determinism, cost** as `soft_sort`.
///
/// @tparam Regularization `regularization::l2` or `regularization::entropic`.
/// @tparam Order selects the channels that ascend, as in `slicing_sort`.
template <class Regularization = regularization::l2, class Order = ascending>
class soft_rank : public detail::soft_operator<detail::soft_ranks, Regularization, Order> {
 public:
  constexpr explicit soft_rank(double strength = 1, Regularization = {}, Order order = {})
      : detail::soft_operator<detail::soft_ranks, Regularization, Order>(strength, order) {}
};

SLICESORT_OPERATORS_END

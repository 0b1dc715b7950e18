// SPDX-License-Identifier: Apache-2.0
/// Multi-permutation, a variant of slicing-sort: a weighted sum of powers of the sorting
/// permutation.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/multi_permutation/host.hpp>
#include <slicesort/detail/multi_permutation/params.hpp>
#include <slicesort/error.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>

#include <type_traits>

SLICESORT_TYPES_BEGIN

/// Replaces the weights argument: every weight is `1 / components`. The result is bit-identical to
/// the one with a view of such weights.
struct uniform_weights_t {
  SLICESORT_ABI_TAG explicit uniform_weights_t() = default;
};
/// Weights argument of a call with uniform weights.
inline constexpr uniform_weights_t uniform_weights{};

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// `y[b, :, c] = sum over k = 1 .. components of weights(k - 1) * P^k x[b, :, c]`, where P sorts
/// that column: `(P v)[n] = v[p[n]]` with `p` the stable argsort, so `P v` is the sorted column
/// (Sliceformer's multi-permutation, in its first version; the sum has no identity component).
///
/// Backward `dx = sum over k of weights(k - 1) * (P^k)^T dy`, and, if requested,
/// `dweights(k - 1) = sum over b, n, c of dy * (P^k x)`.
///
/// - **Shapes** x, y, dy, dx, perm: `[batch, length, channels]`, any strides (output strides must
///   not overlap); weights, dweights: `[components]`.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`. Weights and
///   their gradient have the accumulator's type: double for double, float for all others.
/// - **Order** as in `slicing_sort`.
/// - **Arithmetic** in the accumulator's type, forward with k ascending, backward by Horner's rule,
///   rounded once to the element type. dweights: products and sums in double, first over the rows
///   of each column, then over the columns b * channels + c, both in order, rounded once. Every NaN
///   result is the same canonical NaN.
/// - **Saved** `perm`, as in `slicing_sort`: 16-bit (length <= 65536) or 32-bit; or `no_saved`.
/// - **Lengths** P acts on the valid rows. Rows past a length are copied unchanged (`y = x`,
///   `dx = dy`) and do not contribute to dweights.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap with an output is an
///   error.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any thread count and instruction set. All results except
///   dweights (a sum over the batch) are also independent of how the batch is split. With double
///   weights, accumulating dweights over consecutive parts of the batch, in order, gives the same
///   bits as one call.
/// - **Cost** one slicing_sort, then O(components * N) per column; backward O(components * N),
///   twice that with dweights. Workspace O(N) per thread, and `components` doubles per column.
///
/// @tparam Order selects the channels that ascend: `ascending`, `descending`, `half_half`,
///         `interleave`, `haar_interleave`, or a user-defined type (see `order.hpp`).
template <class Order = ascending>
class multi_permutation {
 public:
  using saved = saved_permutation;
  using const_saved = const_saved_permutation;

  constexpr explicit multi_permutation(index_t components, Order order = {})
      : components_(components), order_(order) {}

  constexpr index_t components() const { return components_; }
  [[deprecated("slicesort: renamed to components")]] constexpr index_t terms() const {
    return components_;
  }
  constexpr Order const& order() const { return order_; }

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only.
  /// Rejects shapes, orders and component counts that `forward` rejects.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) const {
    return detail::workspace_bytes<op, T>(
        exec, "multi_permutation.workspace_bytes", {x, components_}, [&](detail::checker& c) {
          detail::check_extents(c, detail::describe_shape("x", x));
          c.policy("order", order_, x.channels);
          check_components(c);
        });
  }
  /// Overload that takes element type and shape from a view.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) const {
    return workspace_bytes<detail::element_of_rank3<X>>(exec, detail::extents_of(x));
  }

  /// Writes the weighted sum to `y`, and the permutation to `state`, unless it is `no_saved`.
  /// `weights` is a view of `components` elements, or `uniform_weights`.
  template <class Exec, class X, class Weights, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Weights const& weights, Y const& y,
                                saved state, workspace memory = {},
                                forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options, order_);
    params.weights = make_weights<typename decltype(params)::element>(weights);
    params.perm = state.view;
    params.saving = state.saving;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const perm = detail::describe("perm", state.view, true);
      auto const weights_info = detail::describe("weights", params.weights.values, false);
      auto const [source, target] = detail::check_transfer(c, params);
      if (state.saving) detail::check_permutation(c, perm, source, target);
      c.policy("order", order_, source.extents.channels);
      check_weights(c, params.weights, weights_info, target);
      if (state.saving) c.no_overlap(perm, weights_info);
    });
  }

  /// Writes the gradient of `x`. `state` is the output of forward; its indices are trusted, not
  /// checked.
  template <class Exec, class DY, class Weights, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, Weights const& weights,
                                 const_saved state, DX const& dx, workspace memory = {},
                                 backward_options options = {}) const {
    auto const params = backward_params(dy, weights, state, dx, options);
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { check_backward(c, params); });
  }
  /// Writes the gradients of `x` and of the weights; `options.mode` applies to both.
  template <class Exec, class DY, class X, class Weights, class DX, class DWeights,
            detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, X const& x, Weights const& weights,
                                 const_saved state, DX const& dx, DWeights const& dweights,
                                 workspace memory = {}, backward_options options = {}) const {
    auto params = backward_params(dy, weights, state, dx, options);
    using T = typename decltype(params)::element;
    static_assert(std::is_convertible_v<DWeights const&, tensor1<detail::accumulator_t<T>>>,
                  "slicesort: dweights must be a tensor1 (or mdspan of rank 1) of the "
                  "accumulator's type: double for double, float for every other element type.");
    params.x = detail::input_of<T>(x);
    params.dweights = dweights;
    params.needs_weight_gradient = true;
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { check_backward(c, params); });
  }

  SLICESORT_REFUSE_OTHER_CALLS(
      "(exec, x, weights, y, perm or slicesort::no_saved, workspace, options)",
      "(exec, dy, weights, perm, dx, workspace, options) or "
      "backward(exec, dy, x, weights, perm, dx, dweights, workspace, options)");

 private:
  using op = detail::multi_permutation_op<Order>;

  template <class DY, class Weights, class DX>
  auto backward_params(DY const& dy, Weights const& weights, const_saved state, DX const& dx,
                       backward_options options) const {
    auto params = detail::make_backward_params<op>(dy, dx, options);
    params.weights = make_weights<typename decltype(params)::element>(weights);
    params.perm = state.view;
    return params;
  }
  template <class T, class Weights>
  auto make_weights(Weights const& weights) const {
    using A = detail::accumulator_t<T>;
    if constexpr (std::is_same_v<Weights, uniform_weights_t>) {
      return detail::component_weights<A>{
          components_, true, A(1) / static_cast<A>(components_), {}};
    } else {
      static_assert(std::is_convertible_v<Weights const&, tensor1<A const>>,
                    "slicesort: weights must be slicesort::uniform_weights or a tensor1 (or mdspan "
                    "of rank 1) of the accumulator's type: double for double, float for every "
                    "other element type.");
      return detail::component_weights<A>{components_, false, A(0), weights};
    }
  }

  template <class T>
  void check_backward(detail::checker& c,
                      detail::multi_permutation_backward<T> const& params) const {
    auto const perm = detail::describe("perm", params.perm, false);
    auto const weights = detail::describe("weights", params.weights.values, false);
    auto const [source, target] = detail::check_transfer(c, params);
    detail::check_permutation(c, perm, source, target);
    check_weights(c, params.weights, weights, target);
    if (!params.needs_weight_gradient) return;
    auto const x = detail::describe("x", params.x, false);
    auto const dweights = detail::describe("dweights", params.dweights, true);
    c.view(x);
    c.same_extents(x, "dy", params.dy.extents());
    c.no_overlap(target, x);
    c.size("dweights", params.dweights.size(), components_, "components");
    c.view(dweights);
    for (auto const& other : {source, x, weights, perm, target}) c.no_overlap(dweights, other);
  }
  void check_components(detail::checker& c) const {
    if (components_ < 1)
      c.fail(error_kind::argument, "components is %lld, must be at least 1",
             static_cast<long long>(components_));
  }
  template <class A>
  void check_weights(detail::checker& c, detail::component_weights<A> const& w,
                     detail::view_info const& weights, detail::view_info const& target) const {
    check_components(c);
    if (w.is_uniform) return;
    c.size("weights", w.values.size(), components_, "components");
    c.view(weights);
    c.no_overlap(target, weights);
  }

  index_t components_;
  Order order_{};
};

SLICESORT_OPERATORS_END

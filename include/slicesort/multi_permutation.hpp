// SPDX-License-Identifier: Apache-2.0
/// Multi-permutation, a variant of slicing-sort: a weighted sum of powers of the sorting
/// permutation.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/multi_permutation/host.hpp>
#include <slicesort/detail/multi_permutation/problem.hpp>
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
inline namespace v0 {

/// Pass in place of the weights for `1 / terms` each; the result is that of a view of this value,
/// bit for bit.
struct uniform_weights_t {
  explicit uniform_weights_t() = default;
};
inline constexpr uniform_weights_t uniform_weights{};

}  // namespace v0

inline namespace SLICESORT_BUILD {

/// `y[b, :, c] = sum over k = 1 .. terms of weights(k - 1) * P^k x[b, :, c]`, where P sorts that
/// column:
/// `(P v)[n] = v[p[n]]` with `p` the stable argsort, so `P v` is the sorted column (Sliceformer's
/// multi-permutation, in its first version; the identity is not among the terms).
///
/// Backward `dx = sum over k of weights(k - 1) * (P^k)^T dy`, and, where asked for,
/// `dweights(k - 1) = sum over b, n, c of dy * (P^k x)`.
///
/// - **Shapes** x, y, dy, dx, perm: `[batch, length, channels]`, any strides (outputs without
///   repeats); weights, dweights: `[terms]`.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`. Weights and
///   their gradient have the accumulator's type: double for double, float for all others.
/// - **Order** as in `slicing_sort`.
/// - **Arithmetic** in the accumulator's type, forward with k rising, backward by Horner's rule,
///   rounded once to the element type. dweights: products and sums in double, each column in row
///   order, then over the columns b * channels + c in order, rounded once.
/// - **Saved** `perm`, as of `slicing_sort`: 16-bit (length <= 65536) or 32-bit; or `no_saved`.
/// - **Lengths** P acts on the valid rows. Rows past a length are copied through (`y = x`,
///   `dx = dy`) and have no part in dweights.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap with an output is
///   refused.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any thread count, instruction set and, but for dweights (a
///   sum over the batch), split of the batch. With double weights, accumulating dweights part by
///   part of the batch, in order, gives the bits of one call.
/// - **Cost** one slicing_sort, then O(terms * N) per column; backward O(terms * N), twice that
///   with dweights. Workspace O(N) per thread, and `terms` doubles per column.
///
/// @tparam Order which channels ascend: `ascending`, `descending`, `half_half`, `interleave`,
///         `haar_interleave`, or a type of yours (see `order.hpp`).
template <class Order = ascending>
class multi_permutation {
 public:
  using saved = saved_permutation;
  using const_saved = const_saved_permutation;

  constexpr explicit multi_permutation(index_t terms, Order order = {})
      : terms_(terms), order_(order) {}

  constexpr index_t terms() const { return terms_; }
  constexpr Order const& order() const { return order_; }

  /// Bytes of workspace for a forward or backward call of this shape; arithmetic only. `extents`
  /// must be acceptable to `check`.
  template <class T, class Exec>
  std::size_t workspace_bytes(Exec const& on, extents3 extents) const {
    impl::require_dtype<T>();
    detail::arena counting;
    backend<Exec>::template plan<T>(on, {extents, terms_}, counting);
    return counting.bytes();
  }

  /// Writes the weighted powers of `x` to `y`, and the permutation. `weights`: a view of `terms`
  /// elements, or `uniform_weights`.
  template <class Exec, class X, class Weights, class Y>
  void forward(Exec const& on, X const& x, Weights const& weights, Y const& y, saved state,
               workspace scratch = {}, forward_options options = {}) const {
    run_forward(on, moving(x, weights, y, state.perm, true, options), scratch);
  }
  /// Writes the weighted powers of `x` to `y`; keeps nothing for backward.
  template <class Exec, class X, class Weights, class Y>
  void forward(Exec const& on, X const& x, Weights const& weights, Y const& y, no_saved_t,
               workspace scratch = {}, forward_options options = {}) const {
    run_forward(on, moving(x, weights, y, {}, false, options), scratch);
  }

  /// The gradient of `x`. `state` is what forward wrote; its indices are trusted, not checked.
  template <class Exec, class DY, class Weights, class DX>
  void backward(Exec const& on, DY const& dy, Weights const& weights, const_saved state,
                DX const& dx, workspace scratch = {}, backward_options options = {}) const {
    run_backward(on, gradient(dy, weights, state, dx, options), scratch);
  }
  /// The gradients of `x` and of the weights; `options.mode` holds for both.
  template <class Exec, class DY, class X, class Weights, class DX, class DWeights>
  void backward(Exec const& on, DY const& dy, X const& x, Weights const& weights, const_saved state,
                DX const& dx, DWeights const& dweights, workspace scratch = {},
                backward_options options = {}) const {
    run_backward(on, gradients(dy, x, weights, state, dx, dweights, options), scratch);
  }

  /// The verdict that the same call of `forward` or `backward` would act on, as a value.
  template <class Exec, class X, class Weights, class Y>
  verdict check(Exec const& on, X const& x, Weights const& weights, Y const& y, saved state,
                workspace scratch = {}, forward_options options = {}) const {
    return check_forward(on, moving(x, weights, y, state.perm, true, options), scratch);
  }
  template <class Exec, class X, class Weights, class Y>
  verdict check(Exec const& on, X const& x, Weights const& weights, Y const& y, no_saved_t,
                workspace scratch = {}, forward_options options = {}) const {
    return check_forward(on, moving(x, weights, y, {}, false, options), scratch);
  }
  template <class Exec, class DY, class Weights, class DX>
  verdict check(Exec const& on, DY const& dy, Weights const& weights, const_saved state,
                DX const& dx, workspace scratch = {}, backward_options options = {}) const {
    return check_backward(on, gradient(dy, weights, state, dx, options), scratch);
  }
  // Not forward's arguments with a workspace and options at the places of dx and dweights.
  template <class Exec, class DY, class X, class Weights, class DX, class DWeights,
            std::enable_if_t<!std::is_same_v<DWeights, forward_options>, int> = 0>
  verdict check(Exec const& on, DY const& dy, X const& x, Weights const& weights, const_saved state,
                DX const& dx, DWeights const& dweights, workspace scratch = {},
                backward_options options = {}) const {
    return check_backward(on, gradients(dy, x, weights, state, dx, dweights, options), scratch);
  }

 private:
  template <class Exec>
  using backend = impl::implementation_for<detail::multi_permutation_op<Order>, Exec>;
  template <class T>
  using forward_problem = detail::multi_permutation_forward<Order, T>;
  template <class T>
  using backward_problem = detail::multi_permutation_backward<T>;

  template <class X, class Weights, class Y>
  auto moving(X const& x, Weights const& weights, Y const& y, index_tensor3 perm, bool saving,
              forward_options options) const {
    auto const v = impl::transfer_of(x, y);
    using T = typename decltype(v)::element;
    return forward_problem<T>{order_, v.in,   given<T>(weights), v.out,
                              perm,   saving, options.lengths};
  }
  template <class DY, class Weights, class DX>
  auto gradient(DY const& dy, Weights const& weights, const_saved state, DX const& dx,
                backward_options options) const {
    auto const v = impl::transfer_of(dy, dx);
    using T = typename decltype(v)::element;
    return backward_problem<T>{v.in, {},    given<T>(weights), state.perm,     v.out,
                               {},   false, options.mode,      options.lengths};
  }
  template <class DY, class X, class Weights, class DX, class DWeights>
  auto gradients(DY const& dy, X const& x, Weights const& weights, const_saved state, DX const& dx,
                 DWeights const& dweights, backward_options options) const {
    auto p = gradient(dy, weights, state, dx, options);
    auto const in = impl::input(x);
    static_assert(
        std::is_same_v<typename decltype(in)::value_type, typename decltype(p.dx)::value_type>,
        "slicesort: input and output must have the same element type.");
    using A = detail::accumulator_t<typename decltype(in)::value_type>;
    static_assert(std::is_convertible_v<DWeights const&, tensor1<A>>,
                  "slicesort: dweights must be a tensor1 (or mdspan of rank 1) of the "
                  "accumulator's type: double for double, float for every other element type.");
    p.x = in;
    p.dweights = dweights;
    p.of_weights = true;
    return p;
  }
  template <class T, class Weights>
  auto given(Weights const& weights) const {
    using A = detail::accumulator_t<T>;
    if constexpr (std::is_same_v<Weights, uniform_weights_t>) {
      return detail::term_weights<A>{terms_, true, {}};
    } else {
      static_assert(std::is_convertible_v<Weights const&, tensor1<A const>>,
                    "slicesort: weights must be slicesort::uniform_weights or a tensor1 (or mdspan "
                    "of rank 1) of the accumulator's type: double for double, float for every "
                    "other element type.");
      return detail::term_weights<A>{terms_, false, weights};
    }
  }

  template <class Exec, class T>
  void run_forward(Exec const& on, forward_problem<T> const& p, workspace scratch) const {
    impl::enforce(check_forward(on, p, scratch));
    backend<Exec>::forward(on, p, scratch);
  }
  template <class Exec, class T>
  void run_backward(Exec const& on, backward_problem<T> const& p, workspace scratch) const {
    impl::enforce(check_backward(on, p, scratch));
    backend<Exec>::backward(on, p, scratch);
  }

  template <class Exec, class T>
  verdict check_forward(Exec const& on, forward_problem<T> const& p, workspace scratch) const {
    detail::checker c(p.name, impl::reads_memory<Exec>);
    auto const in = detail::describe("x", p.x, false);
    auto const out = detail::describe("y", p.y, true);
    auto const perm = detail::describe("perm", p.perm, true);
    auto const weights = detail::describe("weights", p.weights.given, false);
    impl::check_transfer(c, in, out, p.lengths);
    if (p.saving) impl::check_permutation(c, perm, in, out);
    c.policy("order", order_, p.x.extents().channels);
    check_weights(c, p.weights, weights, out);
    if (p.saving) c.no_overlap(perm, weights);
    return impl::finish_check<backend<Exec>>(c, on, scratch,
                                             [&] { return workspace_bytes<T>(on, p.x.extents()); });
  }

  template <class Exec, class T>
  verdict check_backward(Exec const& on, backward_problem<T> const& p, workspace scratch) const {
    detail::checker c(p.name, impl::reads_memory<Exec>);
    auto const in = detail::describe("dy", p.dy, false);
    auto const out = detail::describe("dx", p.dx, true);
    auto const perm = detail::describe("perm", p.perm, false);
    auto const weights = detail::describe("weights", p.weights.given, false);
    impl::check_transfer(c, in, out, p.lengths);
    impl::check_permutation(c, perm, in, out);
    check_weights(c, p.weights, weights, out);
    if (p.of_weights) {
      auto const x = detail::describe("x", p.x, false);
      auto const dweights = detail::describe("dweights", p.dweights, true);
      c.view(x);
      c.same_extents(x, "dy", p.dy.extents());
      c.no_overlap(out, x);
      c.size("dweights", p.dweights.size(), terms_, "terms");
      c.view(dweights);
      for (auto const& other : {in, x, weights, perm, out}) c.no_overlap(dweights, other);
    }
    return impl::finish_check<backend<Exec>>(
        c, on, scratch, [&] { return workspace_bytes<T>(on, p.dy.extents()); });
  }

  template <class A>
  void check_weights(detail::checker& c, detail::term_weights<A> const& w,
                     detail::view_info const& weights, detail::view_info const& out) const {
    if (terms_ < 1)
      c.fail(error_kind::argument, "terms is %lld, must be at least 1",
             static_cast<long long>(terms_));
    if (w.uniform) return;
    c.size("weights", w.given.size(), terms_, "terms");
    c.view(weights);
    c.no_overlap(out, weights);
  }

  index_t terms_;
  Order order_{};
};

}  // namespace SLICESORT_BUILD
}  // namespace slicesort

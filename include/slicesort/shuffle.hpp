// SPDX-License-Identifier: Apache-2.0
/// Shuffle, the ablation of slicing-sort: a seeded permutation that does not look at the values.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/shuffle/host.hpp>
#include <slicesort/detail/shuffle/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_OPERATORS_BEGIN

/// `y[b, n, c] = x[b, p[n], c]`, where `p` is the stable argsort, over the valid rows `n`, of
/// 32-bit hashes of (seed, channel, n), with channel 0 for all in `shared_by_channels` (the shuffle
/// ablation of Sliceformer, in its first version). The hash is SplitMix64 by counter, see
/// `detail/math/counter_hash.hpp`. Backward `dx[b, p[n], c] = dy[b, n, c]`.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`, any strides (outputs without repeats).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`. Values move bit
///   for bit.
/// - **Saved** nothing: backward computes the permutation again.
/// - **Lengths** `p` permutes the valid rows, all samples of one length alike; the others are
///   copied through.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is refused.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** a pure function of seed, form, length and channel: the same on every backend,
///   for any thread count, instruction set and split of the batch.
/// - **Cost** O(N log N) for every permutation (one, or one per channel; not per sample), then O(N)
///   per column. Workspace O(N) for every permutation and every thread.
///
/// @tparam Form `shared_by_channels` (the default) or `per_channel`.
template <class Form = shared_by_channels>
class shuffle {
 public:
  constexpr explicit shuffle(std::uint64_t seed = 0) : seed_(seed) {}

  constexpr std::uint64_t seed() const { return seed_; }

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
    return detail::check_shape<op>(on, "shuffle.workspace_bytes", [&](detail::checker& c) {
      detail::check_extents(c, detail::describe_shape("x", extents));
    });
  }

  /// Writes the rows of `x` in their shuffled order to `y`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  void forward(Exec const& on, X const& x, Y const& y, workspace scratch = {},
               forward_options options = {}) const {
    auto const p = forward_problem(x, y, options);
    detail::run_forward<op>(on, p, scratch, check(on, p, scratch));
  }
  /// Returns what `forward` would report for these arguments, without running it.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  verdict check_forward(Exec const& on, X const& x, Y const& y, workspace scratch = {},
                        forward_options options = {}) const {
    return check(on, forward_problem(x, y, options), scratch);
  }

  /// Writes the rows of `dy` to `dx` in the order before the shuffle, or adds them with
  /// `grad_mode::accumulate`.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  void backward(Exec const& on, DY const& dy, DX const& dx, workspace scratch = {},
                backward_options options = {}) const {
    auto const p = backward_problem(dy, dx, options);
    detail::run_backward<op>(on, p, scratch, check(on, p, scratch));
  }
  /// Returns what `backward` would report for these arguments, without running it.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  verdict check_backward(Exec const& on, DY const& dy, DX const& dx, workspace scratch = {},
                         backward_options options = {}) const {
    return check(on, backward_problem(dy, dx, options), scratch);
  }

  SLICESORT_REFUSE_OTHER_CALLS("(on, x, y, workspace, options)",
                               "(on, dy, dx, workspace, options)");

 private:
  using op = detail::shuffle_op<Form>;

  template <class X, class Y>
  auto forward_problem(X const& x, Y const& y, forward_options options) const {
    auto const v = detail::transfer_of(x, y);
    using T = typename decltype(v)::element;
    return detail::shuffle_forward<T>{seed_, v.in, v.out, options.lengths};
  }
  template <class DY, class DX>
  auto backward_problem(DY const& dy, DX const& dx, backward_options options) const {
    auto const v = detail::transfer_of(dy, dx);
    using T = typename decltype(v)::element;
    return detail::shuffle_backward<T>{seed_, v.in, v.out, options.mode, options.lengths};
  }

  template <class Exec, class Problem>
  static detail::checked_call check(Exec const& on, Problem const& p, workspace scratch) {
    return detail::check_call<op>(on, p, scratch, [&](detail::checker& c) { check_views(c, p); });
  }
  template <class T>
  static void check_views(detail::checker& c, detail::shuffle_forward<T> const& p) {
    detail::check_transfer(c, detail::describe("x", p.x, false), detail::describe("y", p.y, true),
                           p.lengths);
  }
  template <class T>
  static void check_views(detail::checker& c, detail::shuffle_backward<T> const& p) {
    detail::check_transfer(c, detail::describe("dy", p.dy, false),
                           detail::describe("dx", p.dx, true), p.lengths);
  }

  std::uint64_t seed_;
};

SLICESORT_OPERATORS_END

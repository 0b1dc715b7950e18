// SPDX-License-Identifier: Apache-2.0
/// Short depthwise convolution along the length, as in Nystromformer's values and Mamba's
/// causal_conv1d.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/short_convolution/host.hpp>
#include <slicesort/detail/short_convolution/params.hpp>
#include <slicesort/error.hpp>

SLICESORT_DETAIL_BEGIN

// Checks the shape of weights for a tensor with `channels` channels, which errors call `name`.
inline void check_filters(checker& c, view_info const& weights, index_t channels,
                          char const* name) {
  c.view(weights);
  if (weights.extents.batch != 1)
    c.fail(error_kind::argument, "weights.batch is %lld, must be 1: one filter for all samples",
           static_cast<long long>(weights.extents.batch));
  index_t const groups = weights.extents.channels;
  if (c.ok() && (groups == 0 ? channels != 0 : channels % groups != 0))
    c.fail(error_kind::argument,
           "weights.channels is %lld, must divide %lld (%s.channels): a filter for each group of "
           "channels",
           static_cast<long long>(groups), static_cast<long long>(channels), name);
}

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// `y[b, n, c] = sum over k = 0 .. taps-1 of weights[0, k, g] * x[b, n + k - shift, c]`, where rows
/// outside the valid rows count as zeros and g is the group of channel c: `c * groups / channels`
/// (`groups` = channels: a filter per channel; = heads: a filter per head; = 1: the same for all).
///
/// Backward computes dx, the transposed convolution of dy, and, if requested,
/// `dweights[0, k, g] = sum of dy[b, n, c] * x[b, n+k-shift, c] over b, n and all c in group g`.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`; weights, dweights: `[1, taps, groups]`,
///   where `groups` divides `channels`. Any strides (output strides must not overlap), so a
///   `[channels, taps]` matrix is a view with strides `{0, 1, taps}`.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Arithmetic** fused multiply-adds in the accumulator's type (double for double, float for all
///   others), from 0, in the order of the rows of x (of dy for dx); rounded once. dweights are
///   summed in that type over 16 rows at a time, and these sums in double, in a fixed order. Every
///   NaN result is the same canonical NaN. An infinite weight gives NaN where it meets a row that
///   counts as zero.
/// - **Lengths** rows of x past a length count as zeros; those of y and dx are zeros (unchanged if
///   gradients accumulate).
/// - **Aliasing** outputs may not overlap inputs or each other.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written. Requires
///   `1 <= taps <= 64` and `0 <= shift < taps`.
/// - **Determinism** bit-identical for any thread count and instruction set. y and dx are also
///   independent of how the batch is split.
/// - **Cost** `taps` multiply-adds per element; backward as many, or twice as many with dweights.
///   Forward is as fast as a copy of x for few taps. Workspace: a tile per thread, and for dweights
///   `taps * channels` doubles per 1024 rows.
class short_convolution {
 public:
  static constexpr index_t max_taps = detail::convolution_window::max_taps;

  /// Output row n reads rows `n - shift .. n - shift + taps - 1`.
  constexpr short_convolution(index_t taps, index_t shift) : window_{taps, shift} {}

  /// Reads row n and those before it.
  static constexpr short_convolution causal(index_t taps) {
    return {taps, taps < 1 ? 0 : taps - 1};
  }
  /// Reads as many rows before row n as after it; if `taps` is even, one more after it.
  static constexpr short_convolution centered(index_t taps) {
    return {taps, taps < 1 ? 0 : (taps - 1) / 2};
  }

  constexpr index_t taps() const { return window_.taps; }
  constexpr index_t shift() const { return window_.shift; }

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only.
  /// Rejects shapes and windows that `forward` rejects.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) const {
    return detail::workspace_bytes<op, T>(
        exec, "short_convolution.workspace_bytes", {x, window_.taps}, [&](detail::checker& c) {
          check_window(c);
          detail::check_extents(c, detail::describe_shape("x", x));
        });
  }
  /// Overload that takes element type and shape from a view.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) const {
    return workspace_bytes<detail::element_of_rank3<X>>(exec, detail::extents_of(x));
  }

  /// Writes the convolution of `x` to `y`.
  template <class Exec, class X, class Weights, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Weights const& weights, Y const& y,
                                workspace memory = {}, forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options, window_);
    params.weights = detail::input_of<typename decltype(params)::element>(weights);
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { check_transfer(c, params); });
  }

  /// Writes the gradient of `x`, or adds it with `grad_mode::accumulate`.
  template <class Exec, class DY, class Weights, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, Weights const& weights,
                                 DX const& dx, workspace memory = {},
                                 backward_options options = {}) const {
    auto params = detail::make_backward_params<op>(dy, dx, options, window_);
    params.weights = detail::input_of<typename decltype(params)::element>(weights);
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { check_transfer(c, params); });
  }
  /// Writes the gradients of `x` and of the weights; `options.mode` applies to both.
  template <class Exec, class DY, class X, class Weights, class DX, class DWeights,
            detail::if_policy<Exec> = 0, detail::if_view_of_rank3<DX> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, X const& x, Weights const& weights,
                                 DX const& dx, DWeights const& dweights, workspace memory = {},
                                 backward_options options = {}) const {
    auto params = detail::make_backward_params<op>(dy, dx, options, window_);
    using T = typename decltype(params)::element;
    params.x = detail::input_of<T>(x);
    params.weights = detail::input_of<T>(weights);
    params.dweights = detail::output<T>(dweights);
    params.needs_weight_gradient = true;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = check_transfer(c, params);
      auto const x_info = detail::describe("x", params.x, false);
      auto const gradient = detail::describe("dweights", params.dweights, true);
      c.view(x_info);
      c.same_extents(x_info, "dy", params.dy.extents());
      c.no_overlap(target, x_info);
      c.view(gradient);
      c.same_extents(gradient, "weights", params.weights.extents());
      for (auto const& other :
           {source, x_info, detail::describe("weights", params.weights, false), target})
        c.no_overlap(gradient, other);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, x, weights, y, workspace, options)",
                               "(exec, dy, weights, dx, workspace, options) or "
                               "backward(exec, dy, x, weights, dx, dweights, workspace, options)");

 private:
  using op = detail::short_convolution_op;

  void check_window(detail::checker& c) const {
    if (taps() < 1 || taps() > max_taps)
      c.fail(error_kind::argument, "taps is %lld, must be in 1..%lld",
             static_cast<long long>(taps()), static_cast<long long>(max_taps));
    else if (shift() < 0 || shift() >= taps())
      c.fail(error_kind::argument, "shift is %lld, must be in 0..%lld (taps - 1)",
             static_cast<long long>(shift()), static_cast<long long>(taps() - 1));
  }
  template <class Params>
  detail::transfer_info check_transfer(detail::checker& c, Params const& params) const {
    check_window(c);
    auto const info = detail::check_transfer(c, params);
    c.no_overlap(info.target, info.source);
    auto const weights = detail::describe("weights", params.weights, false);
    detail::check_filters(c, weights, info.source.extents.channels, info.source.name);
    index_t const length = params.weights.extents().length;
    if (length != taps())
      c.fail(error_kind::argument, "weights.length is %lld, must be %lld (taps)",
             static_cast<long long>(length), static_cast<long long>(taps()));
    c.no_overlap(info.target, weights);
    return info;
  }

  detail::convolution_window window_;
};

SLICESORT_OPERATORS_END

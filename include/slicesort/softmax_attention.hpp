// SPDX-License-Identifier: Apache-2.0
/// Softmax attention: for every query a weighted mean of values. The baseline that the other
/// operators are compared with.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/softmax_attention/bias.hpp>
#include <slicesort/detail/softmax_attention/check.hpp>
#include <slicesort/detail/softmax_attention/host.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

SLICESORT_OPERATORS_BEGIN

/// Scaled dot-product attention, `y = softmax(scale * q k^T + bias + mask) v` for every sample and
/// head (multi-head attention without its projections: Attention Is All You Need, eq. 1).
///
/// - **Shapes** q, dq: `[batch, heads, queries, channels]`; k, dk:
///   `[batch, heads, keys, channels]`; v, dv: `[batch, heads, keys, values]`; y, dy:
///   `[batch, heads, queries, values]`; bias, dbias: `[batch, heads, queries, keys]`, or relative,
///   `[batch, heads, 1, queries + keys - 1]`, of which pair (i, j) takes number
///   `j - i + queries - 1`; their batch and heads may be 1 (`attention_inputs`); the state:
///   `saved_extents`. Any strides: `split_heads` views
///   `[batch, length, heads * channels]` in this form, and inputs that heads or samples share have
///   a stride of 0 there (their gradients have one part for each).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; all tensors of
///   one type, except the state of `streaming`, which is of the accumulator's type (double for
///   double, else float).
/// - **Masked** keys have weight 0, as do keys with a score of -infinity. A query with no other key
///   has zeros as its output and its gradients. Finite scores, however large, make no NaN.
/// - **NaN** and infinities of a query stay in its row. Those of a key or value may show in every
///   row of the head, even in rows that do not look at it, but not if they are past the length.
///   Which NaN it is, the processor decides.
/// - **Saved** by `streaming` two numbers for each query; by `materialized` the map, one number for
///   each pair of a query and a key.
/// - **Gradients** of q, k, v and the bias, each if asked for. A dbias that is relative or shared
///   is a sum, in the accumulator's type, over pairs, heads and samples.
/// - **Dropout** see `dropout`. The state is what it is without.
/// - **Lengths** see `attention_options`.
/// - **Aliasing** outputs share no element with inputs or each other.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Accuracy** sums and softmax are in the accumulator's type, results rounded once. On a GPU,
///   and with `products::native`, weights of 16-bit types are rounded to the element type before
///   they are multiplied by the values, as tensor cores require.
/// - **Determinism** the same bits for every thread count, instruction set and split of the batch
///   (but a dbias that samples share is a sum over them); `products::native` may depend on the
///   instruction set. Between backends, algorithms and BLAS libraries results differ in rounding.
/// - **Cost** forward `2 * queries * keys * (channels + values)` operations for each head, less the
///   tiles that the mask leaves out; backward takes two and a half times as many.
///
/// @tparam Mask which keys a query looks at: `mask::full`, `causal`, `window`, `block_local`,
///         `strided`, `both`, or a type of yours (`mask.hpp`).
/// @tparam Algorithm `streaming`, with exact or native products, or `materialized<Gemm>`
///         (`attention_algorithm.hpp`).
template <class Mask = mask::full, class Algorithm = streaming>
class softmax_attention {
  static_assert(
      detail::has_range<detail::head_mask_t<Mask>> || detail::has_allows<detail::head_mask_t<Mask>>,
      "slicesort: a mask needs `key_range range(index_t query, index_t keys) const` or `bool "
      "allows(index_t query, index_t key) const`.");
  using traits = detail::attention_traits<Algorithm>;

  using op = typename traits::template op<Mask>;
  template <class T>
  using state_element = typename traits::template state<T>;

  // The types of braced arguments in a call whose y, or dy, is a Y.
  template <class Y>
  using element_of = typename detail::view_of_heads_t<Y>::value_type;
  template <class Y>
  using inputs_of = attention_inputs<element_of<Y>>;
  template <class Y>
  using gradients_of = attention_gradients<element_of<Y>>;
  template <class Y>
  using saved_of = saved_attention<state_element<element_of<Y>>>;
  template <class Y>
  using const_saved_of = const_saved_attention<state_element<element_of<Y>>>;

 public:
  /// `scale` is `1 / sqrt(channels)` if it is not given.
  constexpr explicit softmax_attention(Mask mask = {}, std::optional<double> scale = std::nullopt,
                                       Algorithm algorithm = {})
      : mask_(mask), scale_(scale), algorithm_(algorithm) {}

  constexpr Mask const& mask() const { return mask_; }
  constexpr Algorithm const& algorithm() const { return algorithm_; }
  /// The factor of the scores if q has `channels` channels.
  double scale(index_t channels) const {
    return scale_.value_or(channels > 0 ? 1 / std::sqrt(static_cast<double>(channels)) : 1.0);
  }

  /// Shape of the state that a call with q and v of these shapes saves:
  /// `[batch, heads, queries, 2]` for the greatest score and the sum of exponentials of every
  /// query, or `[batch, heads, queries, keys]` for the map.
  constexpr extents4 saved_extents(extents4 q, extents4 v) const {
    return {q.batch, q.heads, q.length, traits::saves_map ? v.length : 2};
  }

  /// Bytes of workspace for a forward or backward call with q and v of these shapes; arithmetic
  /// only. Shapes, a mask or a scale that `forward` refuses are refused here. A backward call whose
  /// dbias is relative, or shared by samples or heads, needs more: give its shape too.
  template <class T, class Exec>
  std::size_t workspace_bytes(Exec const& on, extents4 q, extents4 v, extents4 dbias = {}) const {
    detail::enforce(check_workspace_bytes<T>(on, q, v, dbias));
    return detail::planned_bytes<op, T>(on, detail::attention_shape(q, v, dbias));
  }
  /// Returns what `workspace_bytes` would report for these arguments.
  template <class T, class Exec>
  verdict check_workspace_bytes(Exec const& on, extents4 q, extents4 v, extents4 dbias = {}) const {
    detail::require_dtype<T>();
    return detail::check_shape<op>(on, "softmax_attention.workspace_bytes",
                                   [&](detail::checker& c) {
                                     detail::check_attention_shapes<detail::accumulator_t<T>>(
                                         c, q, v, dbias, scale(q.channels));
                                     if (c.ok()) detail::check_mask(c, mask_, {v.length, q.length});
                                   });
  }

  /// Writes attention of `in`, `{q, k, v}` or `{q, k, v, bias}`, to `y`, and the state, unless
  /// `state` is `no_saved`.
  template <class Exec, class Y, detail::if_policy<Exec> = 0>
  void forward(Exec const& on, inputs_of<Y> const& in, Y const& y, saved_of<Y> state,
               workspace scratch = {}, attention_options options = {}) const {
    auto p = forward_problem(in, y, state, options);
    auto const checked = check(on, p, scratch);
    if (checked.status) p.in.bias = detail::bias_of_pairs(p.in);
    detail::run_forward<op>(on, p, scratch, checked);
  }
  /// Returns what `forward` would report for these arguments, without running it.
  template <class Exec, class Y, detail::if_policy<Exec> = 0>
  verdict check_forward(Exec const& on, inputs_of<Y> const& in, Y const& y, saved_of<Y> state,
                        workspace scratch = {}, attention_options options = {}) const {
    return check(on, forward_problem(in, y, state, options), scratch);
  }

  /// Writes the gradients `to`, `{dq, dk, dv}` or `{dq, dk, dv, dbias}`; one that is `{}` is left
  /// out. `in` and `y` are what forward read and wrote, `state` what it saved.
  template <class Exec, class DY, class Y, detail::if_policy<Exec> = 0>
  void backward(Exec const& on, DY const& dy, inputs_of<DY> const& in, Y const& y,
                const_saved_of<DY> state, gradients_of<DY> const& to, workspace scratch = {},
                attention_backward_options options = {}) const {
    auto p = backward_problem(dy, in, y, state, to, options);
    auto const checked = check(on, p, scratch);
    if (checked.status) p.in.bias = detail::bias_of_pairs(p.in);
    detail::run_backward<op>(on, p, scratch, checked);
  }
  /// Returns what `backward` would report for these arguments, without running it.
  template <class Exec, class DY, class Y, detail::if_policy<Exec> = 0>
  verdict check_backward(Exec const& on, DY const& dy, inputs_of<DY> const& in, Y const& y,
                         const_saved_of<DY> state, gradients_of<DY> const& to,
                         workspace scratch = {}, attention_backward_options options = {}) const {
    return check(on, backward_problem(dy, in, y, state, to, options), scratch);
  }

  SLICESORT_REFUSE_OTHER_CALLS(
      "(on, {q, k, v}, y, {state} or slicesort::no_saved, workspace, options)",
      "(on, dy, {q, k, v}, y, {state}, {dq, dk, dv}, workspace, options)");

 private:
  template <class T>
  using forward_of = typename op::template forward<T>;
  template <class T>
  using backward_of = typename op::template backward<T>;

  template <class T, class Y, class State>
  forward_of<T> forward_problem(attention_inputs<T> const& in, Y const& y, State const& state,
                                attention_options options) const {
    forward_of<T> p{mask_};
    p.scale = scale(in.q.extents().channels);
    p.gemm = traits::gemm(algorithm_);
    p.multiply = traits::multiply(algorithm_);
    p.in = in;
    p.y = detail::output_heads<T>(y);
    p.state = state.view;
    p.saving = state.saving;
    p.lengths = {options.lengths, options.query_lengths};
    p.drop = options.dropout;
    return p;
  }
  template <class T, class DY, class Y, class State>
  backward_of<T> backward_problem(DY const& dy, attention_inputs<T> const& in, Y const& y,
                                  State const& state, attention_gradients<T> const& to,
                                  attention_backward_options options) const {
    backward_of<T> p{mask_};
    p.scale = scale(in.q.extents().channels);
    p.gemm = traits::gemm(algorithm_);
    p.multiply = traits::multiply(algorithm_);
    p.dy = detail::input_heads_of<T>(dy);
    p.in = in;
    p.y = detail::input_heads_of<T>(y);
    p.state = state.view;
    p.to = to;
    p.mode = options.mode;
    p.lengths = {options.lengths, options.query_lengths};
    p.drop = options.dropout;
    return p;
  }

  template <class Exec, class Problem>
  detail::checked_call check(Exec const& on, Problem const& p, workspace scratch) const {
    static_assert(
        traits::runs_on(detail::reads_memory<Exec>),
        "slicesort: materialized<Gemm> needs a Gemm for the memory of its execution policy: "
        "cblas with exec::host, cublas with exec::cuda.");
    return detail::check_call<op>(on, p, scratch, [&](detail::checker& c) {
      check_views(c, p);
      if (c.ok()) detail::check_dropout(c, p.drop, p.in.q.extents().heads);
      if (c.ok())
        detail::check_mask(
            c, mask_,
            {p.in.v.extents().length, p.in.q.extents().length, p.lengths.keys.data() != nullptr});
    });
  }
  template <class T, class State>
  void check_views(detail::checker& c, detail::attention_forward<Mask, T, State> const& p) const {
    auto const in = detail::info_of(p.in);
    auto const y = detail::describe("y", p.y, true);
    auto const state = detail::describe("state", p.state, true, state_axes);
    detail::check_attention<detail::accumulator_t<T>>(c, in, p.scale, p.lengths);
    detail::check_output(c, y, in);
    if (p.saving) detail::check_attention_state(c, state, in, numbers_saved(p.in));
    in.each([&](detail::view_info const& other) { c.no_overlap(y, other); });
    if (!p.saving) return;
    in.each([&](detail::view_info const& other) { c.no_overlap(state, other); });
    c.no_overlap(state, y);
  }
  template <class T, class State>
  void check_views(detail::checker& c, detail::attention_backward<Mask, T, State> const& p) const {
    auto const in = detail::info_of(p.in), to = detail::info_of(p.to);
    auto const dy = detail::describe("dy", p.dy, false);
    auto const y = detail::describe("y", p.y, false);
    auto const state = detail::describe("state", p.state, false, state_axes);
    detail::check_attention<detail::accumulator_t<T>>(c, in, p.scale, p.lengths);
    detail::check_output(c, dy, in);
    detail::check_output(c, y, in);
    detail::check_attention_state(c, state, in, numbers_saved(p.in));
    detail::check_attention_gradients(c, to, in);
    detail::check_overlaps(c, to, in, dy, y, state);
  }

  static constexpr detail::axis_names state_axes =
      traits::saves_map ? detail::pair_axes : detail::number_axes;

  template <class T>
  index_t numbers_saved(attention_inputs<T> const& in) const {
    return saved_extents(in.q.extents(), in.v.extents()).channels;
  }

  Mask mask_;
  std::optional<double> scale_;
  Algorithm algorithm_;
};

SLICESORT_OPERATORS_END

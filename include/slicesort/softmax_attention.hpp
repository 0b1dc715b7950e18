// SPDX-License-Identifier: Apache-2.0
/// Softmax attention: a weighted mean of values per query.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/call.hpp>
#include <slicesort/detail/attention/pair_check.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
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
/// - **Shapes** q, dq: `[batch, heads, queries, channels]`; k, dk: `[batch, heads, keys,
///   channels]`; v, dv: `[batch, heads, keys, values]`; y, dy: `[batch, heads, queries, values]`;
///   bias, dbias: `[batch, heads, queries, keys]`, or relative, `[batch, heads, 1, queries + keys -
///   1]`, where pair (i, j) reads element `j - i + queries - 1`; batch and heads of a bias may be 1
///   (`attention_inputs`); the state: `saved_extents`. Any strides: `split_heads` views `[batch,
///   length, heads * channels]` in this form. Inputs that heads or samples share have a stride of
///   0; their gradients have separate elements for each head or sample.
/// - **Grouped heads** k and v may have a divisor of q's heads (GQA; MQA with one). With `g =
///   q.heads / k.heads`, query heads `g * h` to `g * h + g - 1` read head h of k and v, and dk and
///   dv are sums over them, in order and rounded once.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; all tensors have
///   the same type, except the state of `streaming`, which has the accumulator's type (double for
///   double, else float).
/// - **Masked** keys have weight 0, as do keys with a score of -infinity. A query without other
///   keys gets zeros as its output and gradients. Finite scores, however large, cause no NaN.
/// - **NaN** and infinities of a query stay in its row. Those of a key or value may reach every row
///   of the head, even rows that do not see the key, unless they are past the length. The bits of
///   the NaN depend on the processor.
/// - **Saved** by `streaming`: two values per query; by `materialized`: the map, one element per
///   pair of a query and a key.
/// - **Gradients** of q, k, v and the bias, each optional. A relative or shared dbias is a sum over
///   pairs, heads and samples, in the accumulator's type.
/// - **Dropout** see `dropout`. It does not change the state.
/// - **Lengths** see `attention_options`.
/// - **Aliasing** outputs share no element with inputs or each other.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Accuracy** sums and softmax are in the accumulator's type, results are rounded once. On a
///   GPU, and with `products::native`, weights of 16-bit types are rounded to the element type
///   before they are multiplied by the values, as tensor cores require.
/// - **Determinism** the same bits for every thread count, instruction set and split of the batch
///   (except a dbias that is summed over samples); `products::native` may depend on the instruction
///   set. Between backends, algorithms and BLAS libraries, results differ in rounding.
/// - **Cost** forward takes `2 * queries * keys * (channels + values)` operations per head, minus
///   the tiles that the mask excludes; backward takes 2.5 times as many.
///
/// @tparam Mask the keys that each query sees: `mask::full`, `causal`, `window`, `block_local`,
///         `strided`, `segments`, `tensor`, `both`, or a user-defined type (`mask.hpp`).
/// @tparam Algorithm `streaming`, with exact or native products, or `materialized<Gemm>`
///         (`attention_algorithm.hpp`).
template <class Mask = mask::full, class Algorithm = streaming>
class softmax_attention {
  static_assert(
      detail::is_mask<Mask>::value,
      "slicesort: a mask needs `key_range range(index_t query, index_t keys) const` or `bool "
      "allows(index_t query, index_t key) const`.");
  using traits = detail::attention_traits<Algorithm>;

  using op = typename traits::template op<Mask>;
  template <class T>
  using state_element = typename traits::template state<T>;

  // Types of braced arguments in a call whose y or dy has type Y.
  template <class Y>
  using element_of = detail::element_of_heads<Y>;
  template <class Y>
  using inputs_of = detail::attention_inputs_of<Y>;
  template <class Y>
  using gradients_of = detail::attention_gradients_of<Y>;
  template <class Y>
  using saved_of = saved_attention<state_element<element_of<Y>>>;
  template <class Y>
  using const_saved_of = const_saved_attention<state_element<element_of<Y>>>;

 public:
  /// Takes a mask, a scale, and an algorithm or the `products` of `streaming`, in any order; each
  /// is optional. The scale defaults to `1 / sqrt(channels)`.
  template <class... Policies>
  constexpr explicit softmax_attention(Policies const&... policies)
      : mask_(detail::choose<Mask>(policies...)),
        scale_(detail::choose<std::optional<double>>(policies...)),
        algorithm_(detail::choose<Algorithm>(policies...)) {
    static_assert(
        detail::in_any_order<Mask, std::optional<double>, Algorithm>::template accepts<Policies...>,
        "slicesort: softmax_attention takes a mask, a scale, and an algorithm or products.");
  }

  constexpr Mask const& mask() const { return mask_; }
  constexpr Algorithm const& algorithm() const { return algorithm_; }
  /// Factor of the scores, for q with `channels` channels.
  double scale(index_t channels) const {
    return scale_.value_or(channels > 0 ? 1 / std::sqrt(static_cast<double>(channels)) : 1.0);
  }

  /// Shape of the state that a call with q and v of these shapes saves: `[batch, heads, queries,
  /// 2]` for the maximum score and the sum of exponentials of each query, or `[batch, heads,
  /// queries, keys]` for the map.
  constexpr extents4 saved_extents(extents4 q, extents4 v) const {
    return {q.batch, q.heads, q.length, traits::saves_weights ? v.length : 2};
  }

  /// Bytes of workspace for a forward or backward call with q and v of these shapes; launches
  /// nothing. Rejects the shapes, masks and scales that `forward` rejects. Backward with a relative
  /// dbias, or one shared by samples or heads, needs more: pass its shape too.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents4 q, extents4 v,
                                             extents4 dbias = {}) const {
    return detail::attention_workspace_bytes<op, T>(exec, "softmax_attention.workspace_bytes",
                                                    {q, v, dbias}, mask_, scale(q.channels),
                                                    [](detail::checker&) {});
  }
  /// Overload for views, `{q, k, v}` or `{q, k, v, bias}` of one type, and optionally the gradients
  /// of `backward`.
  template <class Exec, class View, std::size_t Count, detail::if_policy<Exec> = 0,
            detail::if_view_of_heads<View> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, View const (&inputs)[Count],
                                             gradients_of<View> const& grads = {}) const {
    auto const e = detail::attention_extents::from_views<View>(inputs, grads);
    return workspace_bytes<element_of<View>>(exec, e.q, e.v, e.dbias);
  }

  /// Writes the attention of `in`, `{q, k, v}` or `{q, k, v, bias}`, to `y`, and saves the state
  /// unless it is `no_saved`.
  template <class Exec, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, inputs_of<Y> const& in, Y const& y,
                                saved_of<Y> state, workspace memory = {},
                                attention_options options = {}) const {
    auto params = params_of<typename op::template forward<element_of<Y>>>(in, options);
    params.y = detail::output_heads<element_of<Y>>(y);
    params.state = state.view;
    params.saving = state.saving;
    return call(
        exec, params, memory, [&](detail::checker& c, detail::attention_info const& inputs) {
          auto const out = detail::describe("y", params.y, true);
          auto const saved = detail::describe("state", params.state, true, state_axes);
          detail::check_output(c, out, inputs);
          if (state.saving) detail::check_attention_state(c, saved, inputs, saved_channels(in));
          inputs.for_each([&](detail::view_info const& other) { c.no_overlap(out, other); });
          if (!state.saving) return;
          inputs.for_each([&](detail::view_info const& other) { c.no_overlap(saved, other); });
          c.no_overlap(saved, out);
        });
  }

  /// Writes the gradients `grads`, `{dq, dk, dv}` or `{dq, dk, dv, dbias}`; pass `{}` for one that
  /// is not needed. `in` and `y` are the input and output of forward, and `state` is what it saved.
  template <class Exec, class DY, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, inputs_of<DY> const& in,
                                 Y const& y, const_saved_of<DY> state,
                                 gradients_of<DY> const& grads, workspace memory = {},
                                 attention_backward_options options = {}) const {
    auto params = params_of<typename op::template backward<element_of<DY>>>(in, options);
    params.dy = detail::input_heads_of<element_of<DY>>(dy);
    params.y = detail::input_heads_of<element_of<DY>>(y);
    params.state = state.view;
    params.grads = grads;
    params.mode = options.mode;
    return call(exec, params, memory,
                [&](detail::checker& c, detail::attention_info const& inputs) {
                  auto const outputs = detail::info_of(grads);
                  auto const dout = detail::describe("dy", params.dy, false);
                  auto const out = detail::describe("y", params.y, false);
                  auto const saved = detail::describe("state", params.state, false, state_axes);
                  detail::check_output(c, dout, inputs);
                  detail::check_output(c, out, inputs);
                  detail::check_attention_state(c, saved, inputs, saved_channels(in));
                  detail::check_attention_gradients(c, outputs, inputs);
                  detail::check_overlaps(c, outputs, inputs, dout, out, saved);
                });
  }

  SLICESORT_REFUSE_OTHER_CALLS(
      "(exec, {q, k, v}, y, state or slicesort::no_saved, workspace, options)",
      "(exec, dy, {q, k, v}, y, state, {dq, dk, dv}, workspace, options)");

 private:
  template <class Params, class T, class Options>
  Params params_of(attention_inputs<T> const& in, Options const& options) const {
    Params params{{mask_}};
    params.scale = scale(in.q.extents().channels);
    params.gemm = traits::gemm(algorithm_);
    params.multiply = traits::multiply(algorithm_);
    params.in = in;
    params.lengths = {options.lengths, options.query_lengths};
    params.drop = options.dropout;
    return params;
  }

  // Checks the call, the tensors other than the inputs by rules(checker, inputs), and calls the
  // backend.
  template <class Exec, class Params, class Rules>
  detail::outcome<Exec> call(Exec const& exec, Params& params, workspace memory,
                             Rules const& rules) const {
    static_assert(
        traits::runs_on(detail::can_read_memory<Exec>),
        "slicesort: materialized<Gemm> needs a Gemm for the memory of its execution policy: "
        "cblas with exec::host, cublas with exec::cuda.");
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      detail::check_attention_call(c, params, rules,
                                   [&](detail::checker&, detail::attention_info const& inputs) {
                                     detail::check_dropout(c, params.drop, inputs.q.shape.heads);
                                   });
    });
  }

  static constexpr detail::axis_names state_axes =
      traits::saves_weights ? detail::pair_axes : detail::number_axes;

  template <class T>
  index_t saved_channels(attention_inputs<T> const& in) const {
    return saved_extents(in.q.extents(), in.v.extents()).channels;
  }

  Mask mask_;
  std::optional<double> scale_;
  Algorithm algorithm_;
};

template <class... Policies>
softmax_attention(Policies...)
    -> softmax_attention<detail::first_matching_t<detail::is_mask, mask::full, Policies...>,
                         detail::first_matching_t<detail::is_algorithm, streaming, Policies...>>;

SLICESORT_OPERATORS_END

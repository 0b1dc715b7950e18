// SPDX-License-Identifier: Apache-2.0
/// Pointwise attention: a sum of values, weighted by a function of each score.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/call.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/pointwise_attention/host.hpp>
#include <slicesort/detail/pointwise_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/policies/score_function.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cmath>
#include <cstddef>
#include <type_traits>

SLICESORT_OPERATORS_BEGIN

/// Attention without softmax, `y = f(scale * q k^T + bias) v` for every sample and head, where f
/// applies to each score and masked pairs have weight 0 (the attention of MEGA, Ma et al., 2022,
/// eq. 15 and 16). The weights of a query are not normalized.
///
/// - **Shapes** q, dq: `[batch, heads, queries, channels]`; k, dk: `[batch, heads, keys,
///   channels]`; v, dv: `[batch, heads, keys, values]`; y, dy: `[batch, heads, queries, values]`;
///   bias, dbias: as in `softmax_attention`. Any strides. k and v may have a divisor of q's heads
///   (grouped heads).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; all tensors have
///   the same type.
/// - **Scale** a number, by default `1 / sqrt(channels)`, or `per_key{}`, 1 / the number of valid
///   keys of the sample. A sample without valid keys has zeros as its output and gradients.
/// - **Masked** keys have weight 0, as do keys with a score of -infinity, whatever f is.
/// - **NaN** a score that is NaN has a NaN as its weight. NaN and infinities of a query stay in its
///   row. Those of a key or value may reach every row of the head, even rows that do not see the
///   key, unless they are past the length. The bits of the NaN depend on the processor.
/// - **Saved** nothing. Backward recomputes the weights, and does not read y.
/// - **Gradients** of q, k, v and the bias, each optional. A relative or shared dbias is a sum over
///   pairs, heads and samples, in the accumulator's type.
/// - **Lengths** see `attention_options`. Its dropout must be 0, because weights have no sum that
///   it would preserve.
/// - **Aliasing** outputs share no element with inputs or each other.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Accuracy** scores, weights and sums are in the accumulator's type, results are rounded once.
///   On a GPU, weights of 16-bit types are rounded to the element type before they are multiplied
///   by the values, as tensor cores require.
/// - **Determinism** the same bits for every thread count, instruction set and split of the batch
///   (except a dbias that is summed over samples). Between backends, results differ in rounding.
/// - **Cost** forward takes `2 * queries * keys * (channels + values)` operations per head, minus
///   the tiles that the mask excludes; backward takes 2.5 times as many.
///
/// @tparam Mask the keys that each query sees, any mask of `softmax_attention` (`mask.hpp`).
/// @tparam Function `score_function::laplace`, `squared_relu`, or a user-defined type
///         (`score_function.hpp`).
template <class Mask = mask::full, class Function = score_function::laplace>
class pointwise_attention {
  static_assert(
      detail::is_mask<Mask>::value,
      "slicesort: a mask needs `key_range range(index_t query, index_t keys) const` or `bool "
      "allows(index_t query, index_t key) const`.");
  static_assert(detail::has_valid_score_types<Function>(),
                "slicesort: a score function needs `A value(A score) const` and `A slope(A score) "
                "const` for A = float and double.");
  static_assert(std::is_trivially_copyable_v<Function>,
                "slicesort: a score function must be trivially copyable.");
  using op = detail::pointwise_attention_op<Mask, Function>;

  // Types of braced arguments in a call whose y or dy has type Y.
  template <class Y>
  using element_of = detail::element_of_heads<Y>;
  template <class Y>
  using inputs_of = detail::attention_inputs_of<Y>;
  template <class Y>
  using gradients_of = detail::attention_gradients_of<Y>;

 public:
  /// Takes a mask, a function, and a scale or `per_key{}`, in any order; each is optional.
  template <class... Policies>
  constexpr explicit pointwise_attention(Policies const&... policies)
      : mask_(detail::choose<Mask>(policies...)),
        function_(detail::choose<Function>(policies...)),
        scale_(detail::choose<detail::score_scale>(policies...)) {
    static_assert(
        detail::in_any_order<Mask, Function, detail::score_scale>::template accepts<Policies...>,
        "slicesort: pointwise_attention takes a mask, a score function, and a scale or per_key.");
  }

  constexpr Mask const& mask() const { return mask_; }
  constexpr Function const& function() const { return function_; }
  /// Factor of the scores, for q with `channels` channels; 0 if it is `per_key{}`.
  double scale(index_t channels) const {
    if (scale_.is_given || scale_.is_per_key) return scale_.factor;
    return channels > 0 ? 1 / std::sqrt(static_cast<double>(channels)) : 1.0;
  }
  constexpr bool scales_per_key() const { return scale_.is_per_key; }

  /// Bytes of workspace for a forward or backward call with q and v of these shapes; launches
  /// nothing. Rejects the shapes and policies that `forward` rejects. Backward with a relative
  /// dbias, or one shared by samples or heads, needs more: pass its shape too.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents4 q, extents4 v,
                                             extents4 dbias = {}) const {
    return detail::attention_workspace_bytes<op, T>(
        exec, "pointwise_attention.workspace_bytes", {q, v, dbias}, mask_, scale(q.channels),
        [&](detail::checker& c) { c.policy("function", function_, q.channels); });
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

  /// Writes the attention of `in`, `{q, k, v}` or `{q, k, v, bias}`, to `y`.
  template <class Exec, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, inputs_of<Y> const& in, Y const& y,
                                workspace memory = {}, attention_options options = {}) const {
    auto params = params_of<typename op::template forward<element_of<Y>>>(in, options);
    params.y = detail::output_heads<element_of<Y>>(y);
    return call(
        exec, params, memory, options.dropout,
        [&](detail::checker& c, detail::attention_info const& inputs) {
          auto const out = detail::describe("y", params.y, true);
          detail::check_output(c, out, inputs);
          inputs.for_each([&](detail::view_info const& input) { c.no_overlap(out, input); });
        });
  }

  /// Writes the gradients `grads`, `{dq, dk, dv}` or `{dq, dk, dv, dbias}`; pass `{}` for one that
  /// is not needed. `in` is the input of forward.
  template <class Exec, class DY, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, inputs_of<DY> const& in,
                                 gradients_of<DY> const& grads, workspace memory = {},
                                 attention_backward_options options = {}) const {
    auto params = params_of<typename op::template backward<element_of<DY>>>(in, options);
    params.dy = detail::input_heads_of<element_of<DY>>(dy);
    params.grads = grads;
    params.mode = options.mode;
    return call(exec, params, memory, options.dropout,
                [&](detail::checker& c, detail::attention_info const& inputs) {
                  auto const outputs = detail::info_of(grads);
                  auto const dout = detail::describe("dy", params.dy, false);
                  detail::check_output(c, dout, inputs);
                  detail::check_attention_gradients(c, outputs, inputs);
                  detail::check_overlaps(c, outputs, inputs, dout);
                });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, {q, k, v}, y, workspace, options)",
                               "(exec, dy, {q, k, v}, {dq, dk, dv}, workspace, options)");

 private:
  template <class Params, class T, class Options>
  Params params_of(attention_inputs<T> const& in, Options const& options) const {
    Params params{mask_, function_};
    params.scale = scale(in.q.extents().channels);
    params.per_key = scale_.is_per_key;
    params.in = in;
    params.lengths = {options.lengths, options.query_lengths};
    return params;
  }

  template <class Exec, class Params, class Rules>
  detail::outcome<Exec> call(Exec const& exec, Params& params, workspace memory,
                             dropout const& dropped, Rules const& rules) const {
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      detail::check_attention_call(
          c, params, rules, [&](detail::checker&, detail::attention_info const& inputs) {
            if (dropped.rate != 0)
              c.fail(error_kind::argument,
                     "dropout.rate is %g, must be 0: pointwise attention has no dropout",
                     dropped.rate);
            c.policy("function", function_, inputs.q.shape.channels);
          });
    });
  }

  Mask mask_;
  Function function_;
  detail::score_scale scale_;
};

template <class... Policies>
pointwise_attention(Policies...) -> pointwise_attention<
    detail::first_matching_t<detail::is_mask, mask::full, Policies...>,
    detail::first_matching_t<detail::is_score_function, score_function::laplace, Policies...>>;

SLICESORT_OPERATORS_END

// SPDX-License-Identifier: Apache-2.0
/// Linear attention: attention whose weights are products of features of queries and keys, at a
/// cost that grows with the length and not with its square.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/linear_attention/check.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/host.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/direction.hpp>
#include <slicesort/policies/divisor.hpp>
#include <slicesort/policies/feature.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_OPERATORS_BEGIN

/// Linear attention, for every sample and head and every query i
/// `y_i = phi(q_i)^T S_i / D(<phi(q_i), Z_i>)` with `S_i = sum phi(k_j) v_j^T` and
/// `Z_i = sum phi(k_j)` over the keys j that it looks at (Transformers are RNNs, eq. 4 to 7; with
/// other features Performer, cosFormer and Random Feature Attention).
///
/// - **Shapes** q, dq: `[batch, heads, queries, channels]`; k, dk:
///   `[batch, heads, keys, channels]`; v, dv: `[batch, heads, keys, values]`; y, dy:
///   `[batch, heads, queries, values]`; w, dw, of random features alone: `[heads, r, channels]`,
///   heads may be 1 (`linear_attention_inputs`). Any strides, as for `softmax_attention`.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; all tensors of
///   one type.
/// - **Features** see `feature.hpp`; w is an input, fixed (`random_rows`) or learned: backward
///   forms dw if asked.
/// - **Without keys**, or where the divisor is 0 or below the least normal number, a query gets
///   zeros.
/// - **NaN** and infinities of a query stay in its row, those of a key or value in the rows that
///   look at it. Finite inputs make no NaN while the sums stay finite, except where features may be
///   negative (`random_fourier`) and a divisor near 0.
/// - **Saved** nothing. Backward forms the sums again.
/// - **Gradients** of q, k, v and w, each if asked for.
/// - **Lengths** see `attention_options`, whose dropout must be 0: no weights are formed.
/// - **Aliasing** outputs share no element with inputs or each other.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Accuracy** features and sums are in the accumulator's type, results rounded once. Sums are
///   formed in tiles of 64 rows. `products::native` rounds operands to 11 significant bits.
/// - **Determinism** the same bits for every backend, thread count, instruction set and split of
///   the batch (but dw is a sum over samples); the sign of a number that was too small and became
///   zero is open. With `products::native`, 16-bit types have bits of their own on a GPU.
/// - **Cost** with R features `4 * length * R * values` operations forward for each head, causal
///   half as much again, random features `2 * (queries + keys) * channels * r` more, and those of
///   random_exp's keys twice where not causal; backward two and a half to three times as many.
///
/// @tparam Feature what becomes of a row of q or k: `feature::elu_plus_one`, `relu`,
///         `cosine_reweighted`, `random_exp`, `random_relu`, `random_fourier`, or a type of yours
///         (`feature.hpp`).
/// @tparam Divisor `divisor::sum_plus`, `at_least` or `none`.
/// @tparam Direction `direction::noncausal` or `causal`.
template <class Feature = feature::elu_plus_one, class Divisor = divisor::sum_plus,
          class Direction = direction::noncausal>
class linear_attention {
  using op = detail::linear_attention_op<detail::compiled_feature<Feature>>;
  static constexpr bool causal = detail::is_causal<Direction>;
  static_assert(detail::is_direction<Direction>::value,
                "slicesort: the direction must be direction::noncausal or direction::causal.");

  // The types of braced arguments in a call whose y, or dy, is a Y.
  template <class Y>
  using element_of = typename detail::view_of_heads_t<Y>::value_type;
  template <class Y>
  using inputs_of = linear_attention_inputs<element_of<Y>>;
  template <class Y>
  using gradients_of = linear_attention_gradients<element_of<Y>>;

 public:
  /// Takes a feature, a divisor, a direction and `products`, in any order, each where its default
  /// will not do.
  template <class... Policies>
  constexpr explicit linear_attention(Policies const&... policies)
      : feature_(detail::choose<Feature>(policies...)),
        divisor_(detail::choose<Divisor>(policies...)),
        products_(detail::choose<products>(policies...)) {
    static_assert(
        detail::in_any_order<Feature, Divisor, Direction, products>::template fit<Policies...>,
        "slicesort: linear_attention takes a feature, a divisor, a direction and products.");
  }

  constexpr Feature const& feature() const { return feature_; }
  constexpr Divisor const& divisor() const { return divisor_; }

  /// Bytes of workspace for a forward or backward call with q, v and w of these shapes; arithmetic
  /// only. Shapes or policies that `forward` refuses are refused here. A backward call that forms
  /// dw needs more: give its shape too.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents4 q, extents4 v,
                                             extents3 w = {}, extents3 dw = {}) const {
    detail::require_dtype<T>();
    detail::linear_attention_shape const shape(q, v, config(q.channels, w.length), causal,
                                               dw != extents3{});
    return detail::workspace_bytes<op, T>(
        exec, "linear_attention.workspace_bytes", shape, [&](detail::checker& c) {
          check_feature(c, q.channels);
          if (c.ok())
            detail::check_shapes<detail::accumulator_t<T>>(
                c, {q, v, w, dw}, shape.feature, detail::divisor_config::of(divisor_), causal);
        });
  }
  /// The same for views, `{q, k, v}`, all of one type, with the w of random features, and for
  /// gradients as `backward` takes them.
  template <class Exec, class View, detail::if_policy<Exec> = 0, detail::if_view_of_heads<View> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, View const (&in)[3],
                                             tensor3<element_of<View> const> w = {},
                                             gradients_of<View> const& to = {}) const {
    auto const q = detail::view_of_heads_t<View>(in[0]), v = detail::view_of_heads_t<View>(in[2]);
    return workspace_bytes<element_of<View>>(exec, q.extents(), v.extents(), w.extents(),
                                             to.dw.extents());
  }

  /// Writes linear attention of `in`, `{q, k, v}` or `{q, k, v, w}`, to `y`.
  template <class Exec, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, inputs_of<Y> const& in, Y const& y,
                                workspace memory = {}, attention_options options = {}) const {
    using T = element_of<Y>;
    auto params = params_of<typename op::template forward<T>>(in, options);
    params.y = detail::output_heads<T>(y);
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const inputs = detail::info_of(in);
      auto const out = detail::describe("y", params.y, true);
      check_inputs(c, params, options.dropout);
      if (!c.ok()) return;
      detail::check_output(c, out, inputs);
      inputs.for_each([&](detail::view_info const& other) { c.no_overlap(out, other); });
    });
  }

  /// Writes the gradients `to`, `{dq, dk, dv}` or `{dq, dk, dv, dw}`; one that is `{}` is left out.
  /// `in` is what forward read.
  template <class Exec, class DY, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, inputs_of<DY> const& in,
                                 gradients_of<DY> const& to, workspace memory = {},
                                 attention_backward_options options = {}) const {
    using T = element_of<DY>;
    auto params = params_of<typename op::template backward<T>>(in, options);
    params.dy = detail::input_heads_of<T>(dy);
    params.to = to;
    params.mode = options.mode;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const inputs = detail::info_of(in), grads = detail::info_of(to);
      auto const dout = detail::describe("dy", params.dy, false);
      check_inputs(c, params, options.dropout);
      if (!c.ok()) return;
      detail::check_output(c, dout, inputs);
      detail::check_gradients(c, grads, inputs);
      if (grads.has[3])
        detail::check_gradient_of_w(c, grads.extra, inputs.extra, inputs.q, params.feature.kind);
      detail::check_overlaps(c, grads, inputs, dout);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, {q, k, v}, y, workspace, options)",
                               "(exec, dy, {q, k, v}, {dq, dk, dv}, workspace, options)");

 private:
  // A negative number of channels is refused later.
  detail::feature_config config(index_t channels, index_t rows_of_w) const {
    return channels < 0 ? detail::feature_config{}
                        : detail::config_of(feature_, channels, rows_of_w);
  }

  template <class Params, class T, class Options>
  Params params_of(linear_attention_inputs<T> const& in, Options const& options) const {
    detail::require_dtype<T>();
    Params params{detail::compiled(feature_)};
    params.feature = config(in.q.extents().channels, in.w.extents().length);
    params.divisor = detail::divisor_config::of(divisor_);
    params.causal = causal;
    params.multiply = products_;
    params.in = in;
    params.lengths = {options.lengths, options.query_lengths};
    return params;
  }

  void check_feature(detail::checker& c, index_t channels) const {
    if (channels >= 0) c.policy("feature", feature_, channels);
  }
  template <class Params>
  void check_inputs(detail::checker& c, Params const& params, dropout const& drop) const {
    detail::check_call<detail::accumulator_t<typename Params::element>>(c, params, drop);
    if (c.ok()) check_feature(c, params.in.q.extents().channels);
  }

  Feature feature_;
  Divisor divisor_;
  products products_;
};

template <class... Policies>
linear_attention(Policies...) -> linear_attention<
    detail::first_that_t<detail::is_feature, feature::elu_plus_one, Policies...>,
    detail::first_that_t<detail::is_divisor, divisor::sum_plus, Policies...>,
    detail::first_that_t<detail::is_direction, direction::noncausal, Policies...>>;

SLICESORT_OPERATORS_END

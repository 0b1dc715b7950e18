// SPDX-License-Identifier: Apache-2.0
/// Linear attention: attention whose weights are products of features of queries and keys. Its cost
/// grows linearly with the length.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/linear_attention/check.hpp>
#include <slicesort/detail/linear_attention/check_states.hpp>
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

/// Linear attention. For every sample, head and query i
/// `y_i = phi(q_i)^T S_i / D(<phi(q_i), Z_i>)` with `S_i = sum phi(k_j) v_j^T` and `Z_i = sum
/// phi(k_j)` over the keys j that the query sees (Transformers are RNNs, eq. 4 to 7; with other
/// features Performer, cosFormer and Random Feature Attention).
///
/// - **Shapes** q, dq: `[batch, heads, queries, channels]`; k, dk: `[batch, heads, keys,
///   channels]`; v, dv: `[batch, heads, keys, values]`; y, dy: `[batch, heads, queries, values]`;
///   w, dw, for random features only: `[heads, r, channels]`, where heads are k's heads or 1
///   (`linear_attention_inputs`). Any strides, as for `softmax_attention`. k and v may have fewer
///   heads than q, a divisor: grouped heads, which share S, Z and the state of their head of k.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; all tensors have
///   the same type.
/// - **Features** see `feature.hpp`. w is an input, fixed (`random_rows`) or learned; backward
///   computes dw on request.
/// - **Zeros** are the output of a finite query that sees no keys, and of a query whose divisor is
///   0 or subnormal.
/// - **NaN** and infinities of a query affect only its row, and those in a key or value only the
/// rows that see it. Finite inputs cause no NaN while the sums are finite, except for features that
/// may be negative (`random_fourier`) with a divisor near 0.
/// - **Saved** nothing. Backward recomputes the sums.
/// - **Pieces** a causal sequence may be fed in pieces, the last state of one being the initial
///   state of the next. Any cut gives the bits of one call in y, in the states and in dq. Backward
///   starts at the last piece. Only cuts at multiples of 64 rows keep the order of the sums of dk,
///   dv and the gradients of states; dw is a sum over pieces. One row costs O((R + 64) * values +
///   64 * R). Keys and queries have the same `lengths`. `cosine_reweighted` has no states;
///   `feature_row` has the row's index in the sequence and a length of 0.
/// - **Gradients** of q, k, v and w, each optional.
/// - **Lengths** see `attention_options`. Its dropout must be 0, because linear attention does not
///   compute the weights.
/// - **Aliasing** outputs share no element with inputs or each other.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Accuracy** features and sums are in the accumulator's type, results are rounded once. Sums
///   are over tiles of 64 rows. `products::native` rounds operands to 11 significant bits.
/// - **Determinism** the same bits for every backend, thread count, instruction set and split of
///   the batch; only dw, which is summed over samples, depends on the split. The sign of a result
///   that underflows to zero is unspecified. With `products::native`, 16-bit types have different
///   bits on a GPU.
/// - **Cost** with R features, forward takes `4 * length * R * values` operations per head, or 1.5
///   times as many if causal. Random features add `2 * (queries + keys) * channels * r`; noncausal
///   random_exp computes the keys' features twice. Backward takes 2.5 to 3 times as many.
///
/// @tparam Feature the map from a row of q or k to its features: `feature::elu_plus_one`, `relu`,
/// `cosine_reweighted`, `random_exp`, `random_relu`, `random_fourier`, or a user-defined type
/// (`feature.hpp`).
/// @tparam Divisor `divisor::sum_plus`, `at_least` or `none`.
/// @tparam Direction `direction::noncausal` or `causal`.
template <class Feature = feature::elu_plus_one, class Divisor = divisor::sum_plus,
          class Direction = direction::noncausal>
class linear_attention {
  using op = detail::linear_attention_op<detail::compiled_feature<Feature>>;
  static constexpr bool causal = detail::is_causal<Direction>;
  static_assert(detail::is_direction<Direction>::value,
                "slicesort: the direction must be direction::noncausal or direction::causal.");

  // Types of the braced arguments of a call whose y or dy has type Y.
  template <class Y>
  using element_of = typename detail::view_of_heads_t<Y>::value_type;
  template <class Y>
  using inputs_of = linear_attention_inputs<element_of<Y>>;
  template <class Y>
  using gradients_of = linear_attention_gradients<element_of<Y>>;
  template <class Y>
  using states_of = linear_attention_states<detail::accumulator_t<element_of<Y>>>;
  template <class Y>
  using state_gradients_of = linear_attention_state_gradients<detail::accumulator_t<element_of<Y>>>;

 public:
  /// Takes a feature, a divisor, a direction and `products`, in any order; each is optional.
  template <class... Policies>
  constexpr explicit linear_attention(Policies const&... policies)
      : feature_(detail::choose<Feature>(policies...)),
        divisor_(detail::choose<Divisor>(policies...)),
        products_(detail::choose<products>(policies...)) {
    static_assert(
        detail::in_any_order<Feature, Divisor, Direction, products>::template accepts<Policies...>,
        "slicesort: linear_attention takes a feature, a divisor, a direction and products.");
  }

  constexpr Feature const& feature() const { return feature_; }
  constexpr Divisor const& divisor() const { return divisor_; }

  /// Shape of the state of causal calls with q, v and w of these shapes, `[batch, v.heads, 1,
  /// elements]`. With r features, the elements are, in order: the number of keys in the partial
  /// tile of 64 keys; the number of full tiles before it (calls read both from head 0, and write
  /// them to all heads); the largest `<w, z>` of their keys
  /// (random_exp); S and Z of the full tiles, `[r, values]` and `[r]`; phi(k), v and the running
  /// maxima of the partial tile, `[63, r]`, `[63, values]` and `[63]`. Unused elements are 0.
  extents4 state_extents(extents4 q, extents4 v, extents3 w = {}) const {
    return detail::state_extents(q, v, make_config(q.channels, w.length));
  }

  /// Bytes of workspace for forward or backward with q, v and w of these shapes; launches nothing.
  /// Rejects the shapes and policies that `forward` rejects. Backward with dw needs more: pass its
  /// shape too. So do calls with states.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents4 q, extents4 v,
                                             extents3 w = {}, extents3 dw = {},
                                             bool with_states = false) const {
    detail::require_dtype<T>();
    detail::linear_attention_shape shape(q, v, make_config(q.channels, w.length), causal,
                                         dw != extents3{});
    shape.with_state = with_states;
    return detail::workspace_bytes<op, T>(
        exec, "linear_attention.workspace_bytes", shape, [&](detail::checker& c) {
          check_feature(c, q.channels);
          if (c.ok())
            detail::check_shapes<detail::accumulator_t<T>>(
                c, {q, v, w, dw}, shape.feature, detail::divisor_config::make(divisor_), causal);
          if (with_states) detail::check_state_support(c, shape.feature.kind, causal);
          if (with_states && c.ok())
            c.shape(detail::describe_shape("state", state_extents(q, v, w), detail::state_axes));
        });
  }
  /// Overload for views, `{q, k, v}` of one type, the w of random features, and optionally the
  /// gradients of `backward`.
  template <class Exec, class View, detail::if_policy<Exec> = 0, detail::if_view_of_heads<View> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, View const (&qkv)[3],
                                             tensor3<element_of<View> const> w = {},
                                             gradients_of<View> const& grads = {},
                                             bool with_states = false) const {
    auto const q = detail::view_of_heads_t<View>(qkv[0]), v = detail::view_of_heads_t<View>(qkv[2]);
    return workspace_bytes<element_of<View>>(exec, q.extents(), v.extents(), w.extents(),
                                             grads.dw.extents(), with_states);
  }

  /// Writes linear attention of the inputs, `{q, k, v}` or `{q, k, v, w}`, to `y`. `states` is
  /// `{initial, last}`, each optional.
  template <class Exec, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, inputs_of<Y> const& in, Y const& y,
                                workspace memory = {}, attention_options options = {},
                                states_of<Y> const& states = {}) const {
    using T = element_of<Y>;
    auto params = make_params<typename op::template forward<T>>(in, options);
    params.y = detail::output_heads<T>(y);
    params.states = states;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const inputs = detail::info_of(in);
      auto const out = detail::describe("y", params.y, true);
      check_inputs(c, params, options.dropout);
      if (!c.ok()) return;
      detail::check_output(c, out, inputs);
      inputs.for_each([&](detail::view_info const& input) { c.no_overlap(out, input); });
      detail::check_states(c, params, inputs, out);
    });
  }

  /// Writes the gradients, `{dq, dk, dv}` or `{dq, dk, dv, dw}`; pass `{}` for one that is not
  /// needed. `in` is the input of forward. `states` is `{initial, dlast, dinitial}`, each optional;
  /// `dinitial` never accumulates.
  template <class Exec, class DY, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, inputs_of<DY> const& in,
                                 gradients_of<DY> const& grads, workspace memory = {},
                                 attention_backward_options options = {},
                                 state_gradients_of<DY> const& states = {}) const {
    using T = element_of<DY>;
    auto params = make_params<typename op::template backward<T>>(in, options);
    params.dy = detail::input_heads_of<T>(dy);
    params.grads = grads;
    params.mode = options.mode;
    params.states = states;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const inputs = detail::info_of(in), outputs = detail::info_of(grads);
      auto const dout = detail::describe("dy", params.dy, false);
      check_inputs(c, params, options.dropout);
      if (!c.ok()) return;
      detail::check_output(c, dout, inputs);
      detail::check_gradients(c, outputs, inputs);
      if (outputs.has[3])
        detail::check_gradient_of_w(c, outputs.extra, inputs.extra, inputs.q, inputs.v,
                                    params.feature.kind);
      detail::check_overlaps(c, outputs, inputs, dout);
      detail::check_state_gradients(c, params, inputs, outputs, dout);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, {q, k, v}, y, workspace, options, {initial, last})",
                               "(exec, dy, {q, k, v}, {dq, dk, dv}, workspace, options, {initial, "
                               "dlast, dinitial})");

 private:
  // Negative channels are rejected later.
  detail::feature_config make_config(index_t channels, index_t w_rows) const {
    return channels < 0 ? detail::feature_config{}
                        : detail::make_feature_config(feature_, channels, w_rows);
  }

  template <class Params, class T, class Options>
  Params make_params(linear_attention_inputs<T> const& in, Options const& options) const {
    detail::require_dtype<T>();
    Params params{detail::erase_built_in(feature_)};
    params.feature = make_config(in.q.extents().channels, in.w.extents().length);
    params.divisor = detail::divisor_config::make(divisor_);
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
  void check_inputs(detail::checker& c, Params const& params, dropout const& dropped) const {
    detail::check_call<detail::accumulator_t<typename Params::element>>(c, params, dropped);
    if (c.ok()) check_feature(c, params.in.q.extents().channels);
  }

  Feature feature_;
  Divisor divisor_;
  products products_;
};

template <class... Policies>
linear_attention(Policies...) -> linear_attention<
    detail::first_matching_t<detail::is_feature, feature::elu_plus_one, Policies...>,
    detail::first_matching_t<detail::is_divisor, divisor::sum_plus, Policies...>,
    detail::first_matching_t<detail::is_direction, direction::noncausal, Policies...>>;

SLICESORT_OPERATORS_END

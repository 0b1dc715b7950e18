// SPDX-License-Identifier: Apache-2.0
/// Linear recurrences along the length: the exponential moving average of MEGA, diagonal
/// state-space models, and the scan of gated models.
#pragma once

#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/detail/decaying_sum/host.hpp>
#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstring>
#include <type_traits>

SLICESORT_TYPES_BEGIN

/// Numbers of a recurrence, real or complex.
enum class decay_numbers { real, complex };

/// Order of the rows: `forward` starts at row 0, `reverse` at the last valid row, and `both` adds
/// the two sums, each with numbers of its own.
enum class decay_direction { forward, reverse, both };

/// Decays a, `[1, numbers, 1, channels]`, or per row, `[batch, numbers, length, channels]`, and
/// output weights w, `[1, numbers, 1, channels]`. Without w, all weights are 1. Both have the
/// element type of x.
template <class T>
struct decay_inputs {
  tensor4<T const> a;
  tensor4<T const> w{};
};

/// Gradients of x, a and w, each with the shape and element type of its input: dx `[batch, length,
/// channels]`, da `[batch or 1, numbers, length or 1, channels]`, dw `[1, numbers, 1, channels]`.
/// Pass `{}` for one that is not needed.
template <class T>
struct decay_gradients {
  tensor3<T> dx{};
  tensor4<T> da{}, dw{};
};

/// States before the first row of a walk and after its last valid row, `[batch, numbers, 1,
/// channels]`, of the accumulator's type (double for double, else float). Without `initial`, the
/// state starts at 0. Both may be the same view.
template <class A>
struct decay_states {
  tensor4<A const> initial{};
  tensor4<A> last{};
};

/// States for backward: `initial` is the input of forward; `dlast` is the gradient of the last
/// state, 0 if omitted; `dinitial` receives that of the initial one. `dlast` and `dinitial` may be
/// the same view. All are `[batch, numbers, 1, channels]` of the accumulator's type.
template <class A>
struct decay_state_gradients {
  tensor4<A const> initial{}, dlast{};
  tensor4<A> dinitial{};
};

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// Linear recurrence of every channel, with `states` states that are reduced on the fly:
/// `s[t] = a * s[t-1] + x[t]`, `y[t] = sum over the states of w * s[t]`, or of `2 Re(w * s[t])` if
/// complex. With constant a this is MEGA's moving average (Ma et al., 2022, eq. 2) and the diagonal
/// state-space model S4D (Gu et al., 2022); with a given per row, the scan of gated models (minGRU,
/// RG-LRU).
///
/// Backward computes the exact gradients of x, a, w and the initial state. Complex gradients are
/// those of the real and imaginary parts.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`; a, w and states: see `decay_inputs` and
///   `decay_states`. Axis `numbers` holds the states, a complex one as two numbers, real and
///   imaginary part; with `both`, first those of `forward`, then those of `reverse`. Any strides
///   (output strides must not overlap).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; states have the
///   accumulator's type (double for double, float for all others).
/// - **Pieces** a sequence may be fed in pieces, the last state of one being the initial state of
///   the next (in reverse for `reverse`). Any cut gives the bits of one call: y, the states, and in
///   backward, which starts at the last piece, dx, the gradients of states, and da per row. One row
///   costs O(channels * states). `both` has no pieces.
/// - **Lag 0** is in both sums of `both`. To count it once, subtract `sum(w) * x` of one of them,
///   which a skip connection `d * x` absorbs.
/// - **Arithmetic** fused multiply-adds in the accumulator's type, in the order of the rows; y and
///   dx are rounded once per direction. dw, and da of a constant a, are summed over 16 rows in that
///   type and further in double, in a fixed order. Every NaN result is the same canonical NaN.
/// - **Lengths** rows past a length are not read; those of y, dx and da are zeros (unchanged if
///   gradients accumulate).
/// - **Aliasing** y may be x, and dx may be dy, unless the direction is `both`; other outputs
///   overlap nothing, but for states (see there).
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written. Requires 1 to
///   128 numbers per direction.
/// - **Determinism** bit-identical for any backend, thread count and instruction set. All but dw
///   and da of a constant a are also independent of how the batch is split.
/// - **Cost** `2 * numbers` multiply-adds per element and direction (complex: 3 per number);
///   backward four times that. One state is bound by memory bandwidth. Workspace: for every 16 rows
///   their first states, which backward recomputes from, per thread on the host and for all
///   channels on a GPU, and `2 * numbers * channels` doubles per sample.
class decaying_sum {
  // Types of the braced arguments of a call whose y or dy has type Y.
  template <class Y>
  using element_of = detail::element_of_rank3<Y>;
  template <class Y>
  using accumulator_of = detail::accumulator_t<element_of<Y>>;

 public:
  static constexpr index_t max_numbers = 128;  ///< per direction

  constexpr explicit decaying_sum(index_t states = 1, decay_numbers numbers = decay_numbers::real,
                                  decay_direction direction = decay_direction::forward)
      : config_{states, numbers == decay_numbers::complex, direction == decay_direction::reverse,
                direction == decay_direction::both ? 2 : 1} {}

  constexpr index_t states() const { return config_.states; }
  /// Extent of the axis `numbers`: states, times 2 if complex, times 2 for `both`. 0 for
  /// states that `forward` rejects.
  constexpr index_t numbers() const { return numbers_per_direction() * config_.passes; }

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only.
  /// Rejects shapes and numbers that `forward` rejects.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) const {
    detail::decay_shape const shape{x, numbers_per_direction()};
    return detail::workspace_bytes<op, T>(
        exec, "decaying_sum.workspace_bytes", shape, [&](detail::checker& c) {
          check_numbers(c);
          detail::check_extents(c, detail::describe_shape("x", x));
          extents4 const a{1, numbers(), 1, x.channels};
          c.shape(detail::describe_shape("a", a, axes));
        });
  }
  /// Overload that takes element type and shape from a view.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) const {
    return workspace_bytes<element_of<X>>(exec, detail::extents_of(x));
  }

  /// Writes the sums of `x` to `y`. `in` is `{a, w}` or `{a}`, `states` `{initial, last}`, each
  /// optional.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, decay_inputs<element_of<Y>> const& in,
                                Y const& y, decay_states<accumulator_of<Y>> const& states = {},
                                workspace memory = {}, forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options, config_);
    params.a = in.a;
    params.w = in.w;
    params.initial_state = states.initial;
    params.final_state = states.last;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      extents3 const e = params.x.extents();
      check_call(c, params);
      detail::view_list<4> inputs;
      inputs.add(check_rows(c, "x", params.x, e));
      inputs.add(check_state(c, "initial", params.initial_state, e));
      inputs.add(check_a(c, "a", params.a, params.a, e));
      inputs.add(check_w(c, "w", params.w, e));
      detail::view_list<2> outputs;
      outputs.add(check_rows(c, "y", params.y, e));
      outputs.add(check_state(c, "last", params.final_state, e));
      check_overlaps(c, inputs, outputs);
    });
  }

  /// Writes the gradients `{dx, da, dw}`, or adds to them with `grad_mode::accumulate`, and the
  /// gradient of the initial state, which never accumulates. `states` is `{initial, dlast,
  /// dinitial}`, each optional.
  template <class Exec, class DY, class X, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, X const& x,
                                 decay_inputs<element_of<DY>> const& in,
                                 decay_gradients<element_of<DY>> const& grads,
                                 decay_state_gradients<accumulator_of<DY>> const& states = {},
                                 workspace memory = {}, backward_options options = {}) const {
    using T = element_of<DY>;
    detail::decaying_sum_backward<T> params{config_};
    params.config.mode = options.mode;
    params.config.adds = options.mode == grad_mode::accumulate;
    params.dy = detail::input_of<T>(dy);
    params.x = detail::input_of<T>(x);
    params.a = in.a;
    params.w = in.w;
    params.dx = grads.dx;
    params.da = grads.da;
    params.dw = grads.dw;
    params.initial_state = states.initial;
    params.dfinal_state = states.dlast;
    params.dinitial_state = states.dinitial;
    params.lengths = options.lengths;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      extents3 const e = params.x.extents();
      check_call(c, params);
      detail::view_list<6> inputs;
      inputs.add(check_rows(c, "dy", params.dy, e));
      inputs.add(check_state(c, "dlast", params.dfinal_state, e));
      inputs.add(check_rows(c, "x", params.x, e));
      inputs.add(check_state(c, "initial", params.initial_state, e));
      inputs.add(check_a(c, "a", params.a, params.a, e));
      inputs.add(check_w(c, "w", params.w, e));
      detail::view_list<4> outputs;
      outputs.add(check_rows(c, "dx", params.dx, e));
      outputs.add(check_state(c, "dinitial", params.dinitial_state, e));
      outputs.add(check_a(c, "da", params.da, params.a, e));
      outputs.add(check_w(c, "dw", params.dw, e));
      check_overlaps(c, inputs, outputs);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, x, {a, w}, y, {initial, last}, workspace, options)",
                               "(exec, dy, x, {a, w}, {dx, da, dw}, {initial, dlast, dinitial}, "
                               "workspace, options)");

 private:
  using op = detail::decaying_sum_op;
  static constexpr detail::axis_names axes{"batch", "numbers", "length", "channels"};

  constexpr index_t max_states() const { return max_numbers / config_.parts(); }
  constexpr bool has_valid_states() const { return states() >= 1 && states() <= max_states(); }
  constexpr index_t numbers_per_direction() const {
    return has_valid_states() ? config_.numbers() : 0;
  }
  void check_numbers(detail::checker& c) const {
    if (!has_valid_states())
      c.fail(error_kind::argument, "states is %lld, must be in 1..%lld",
             static_cast<long long>(states()), static_cast<long long>(max_states()));
  }
  template <class Params>
  void check_call(detail::checker& c, Params const& params) const {
    check_numbers(c);
    auto const x = detail::describe("x", params.x, false);
    c.shape(x);
    c.rows_countable(x);
    c.lengths(params.lengths, params.x.extents());
    if (params.a.data() == nullptr && c.ok() && !params.x.extents().empty())
      c.fail(error_kind::argument, "a.data is null, must point to the decays");
  }

  template <class T>
  static detail::view_info check_rows(detail::checker& c, char const* name, tensor3<T> t,
                                      extents3 x) {
    auto const info = detail::describe(name, t, !std::is_const_v<T>);
    if (t.data() == nullptr && t.extents() == extents3{} && std::strcmp(name, "dx") == 0)
      return info;
    c.view(info);
    c.same_extents(info, "x", x);
    return info;
  }
  // Checks an optional tensor with the axis `numbers`.
  template <class T>
  detail::view_info check_view(detail::checker& c, char const* name, tensor4<T> t,
                               extents4 expected) const {
    auto const info = detail::describe(name, t, !std::is_const_v<T>, axes);
    if (detail::is_omitted(t)) return info;
    c.view(info);
    extents4 const e = t.extents();
    auto const require = [&](char const* axis, index_t extent, index_t required) {
      if (extent != required)
        c.fail(error_kind::argument, "%s.%s is %lld, must be %lld", name, axis,
               static_cast<long long>(extent), static_cast<long long>(required));
    };
    require("batch", e.batch, expected.batch);
    require("numbers", e.heads, expected.heads);
    require("length", e.length, expected.length);
    require("channels", e.channels, expected.channels);
    return info;
  }
  template <class T>
  detail::view_info check_w(detail::checker& c, char const* name, tensor4<T> w, extents3 x) const {
    return check_view(c, name, w, {1, numbers(), 1, x.channels});
  }
  template <class T>
  detail::view_info check_state(detail::checker& c, char const* name, tensor4<T> state,
                                extents3 x) const {
    return check_view(c, name, state, {x.batch, numbers(), 1, x.channels});
  }
  // Checks a, constant or per row of x, or da, which has the shape of a.
  template <class T, class U>
  detail::view_info check_a(detail::checker& c, char const* name, tensor4<T> t, tensor4<U> a,
                            extents3 x) const {
    bool const constant =
        detail::is_omitted(a) || (a.extents().batch == 1 && a.extents().length == 1);
    return check_view(c, name, t,
                      {constant ? 1 : x.batch, numbers(), constant ? 1 : x.length, x.channels});
  }
  // The first two outputs may be the first two inputs.
  template <class Inputs, class Outputs>
  void check_overlaps(detail::checker& c, Inputs const& inputs, Outputs const& outputs) const {
    for (auto const* output = outputs.begin(); output != outputs.end(); ++output) {
      auto const position = output - outputs.begin();
      bool const may_replace = position == 1 || (position == 0 && config_.passes == 1);
      for (auto const* input = inputs.begin(); input != inputs.end(); ++input)
        c.no_overlap(*output, *input, may_replace && input - inputs.begin() == position);
      for (auto const* other = outputs.begin(); other != output; ++other)
        c.no_overlap(*output, *other);
    }
  }

  detail::decay_config config_;
};

SLICESORT_OPERATORS_END

// SPDX-License-Identifier: Apache-2.0
/// Merges attention over several sets of keys into attention over all of them.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/merge_attention/host.hpp>
#include <slicesort/detail/merge_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

SLICESORT_TYPES_BEGIN

#define SLICESORT_MERGE_HAS_NO_BACKWARD                                                         \
  "slicesort: merge_attention has no backward: call that of softmax_attention for every part, " \
  "with the merged y and the merged state, and let gradients accumulate."

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// Merges softmax attention of the same queries over several sets of keys into attention over all
/// keys: `m = max m_p`, `l = sum l_p exp(m_p - m)`, `y = sum y_p l_p exp(m_p - m) / l` for every
/// query, where part p has the output `y_p` and the saved state `(m_p, l_p)` (FlashAttention's
/// online softmax, between calls). Use it for keys on several devices (ring attention), for masks
/// that are a union of two, and for keys that become known step by step.
///
/// - **Shapes** every y: `[batch, heads, queries, values]`; every state: `[batch, heads, queries,
///   2]`, as `softmax_attention` with `streaming` saves it. Any strides (output strides must not
///   overlap).
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; states of the
///   accumulator's type (double for double, else float).
/// - **Parts** 1 to 16. A key in two parts counts twice.
/// - **Gradients** need no backward operator: call backward of `softmax_attention` for each part,
///   with the merged y and the merged state in place of its own, and add up the results. To do so,
///   fill the gradients with zeros, and let every part accumulate.
/// - **Without keys** a part whose l is 0 or whose m is -infinity has no keys for that query. Its y
///   is ignored, like the y of a part whose weight underflows to 0. A query without keys in any
///   part gets zeros, and the state (-infinity, 0).
/// - **NaN** of a state, and of a y with nonzero weight, stays in its row. Finite maxima, however
///   large, cause no NaN.
/// - **Aliasing** y may be the y of part 0, and state its state (as the same views); any other
///   overlap of an output is rejected.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Accuracy** sums are in the accumulator's type, in the order of the parts, and rounded once.
///   A single part is copied.
/// - **Determinism** the same bits for every backend, thread count, instruction set and split of
///   the batch.
/// - **Cost** reads every part and writes the result once, so it is bound by memory bandwidth. No
///   workspace.
class merge_attention {
  // Types of braced arguments in a call whose y has type Y.
  template <class Y>
  using element_of = typename detail::view_of_heads_t<Y>::value_type;
  template <class Y>
  using parts_of = attention_parts<element_of<Y>>;
  template <class Y>
  using saved_of = saved_attention<detail::accumulator_t<element_of<Y>>>;

 public:
  /// Bytes of workspace for a call with a y of this shape: 0. Rejects the shapes that every call
  /// rejects.
  template <class T, class Exec>
  static detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents4 y) {
    detail::require_dtype<T>();
    return detail::workspace_bytes<op, T>(
        exec, "merge_attention.workspace_bytes", y, [&](detail::checker& c) {
          c.shape(detail::describe_shape("parts[0].y", y, value_axes));
          c.shape(detail::describe_shape("parts[0].state", state_extents(y), number_axes));
        });
  }
  /// Overload for a view of y.
  template <class Exec, class Y, detail::if_policy<Exec> = 0, detail::if_view_of_heads<Y> = 0>
  static detail::outcome_size<Exec> workspace_bytes(Exec const& exec, Y const& y) {
    return workspace_bytes<element_of<Y>>(exec, detail::view_of_heads_t<Y>(y).extents());
  }

  /// Merges `parts`, `{{y0, state0}, {y1, state1}, ..}`, into `y`, and saves the state unless it is
  /// `no_saved`.
  template <class Exec, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, parts_of<Y> const& parts, Y const& y,
                                saved_of<Y> state, workspace memory = {}) const {
    using T = element_of<Y>;
    detail::require_dtype<T>();
    detail::merge_attention_forward<T> params{};
    params.parts = parts.views();
    params.count =
        static_cast<int>(parts.size() < parts.max_parts ? parts.size() : parts.max_parts);
    params.y = detail::output_heads<T>(y);
    params.state = state.view;
    params.saving = state.saving;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      if (parts.size() < 1 || parts.size() > parts.max_parts)
        c.fail(error_kind::argument, "parts.size is %llu, must be in 1..%d",
               static_cast<unsigned long long>(parts.size()), static_cast<int>(parts.max_parts));
      else
        check_views(c, params);
    });
  }

  SLICESORT_REFUSE_OTHER(forward,
                         "forward(exec, {{y, state}, {y, state}, ..}, y, state or "
                         "slicesort::no_saved, workspace)");
  SLICESORT_REFUSE_ALL(backward, SLICESORT_MERGE_HAS_NO_BACKWARD);
  SLICESORT_REFUSE_OTHER_SIZES;

 private:
  using op = detail::merge_attention_op;
  static constexpr detail::axis_names value_axes{"batch", "heads", "queries", "values"},
      number_axes = detail::number_axes;

  static constexpr extents4 state_extents(extents4 y) { return {y.batch, y.heads, y.length, 2}; }

  template <class T>
  static void check_views(detail::checker& c, detail::merge_attention_forward<T> const& params) {
    extents4 const e = params.shape();
    auto const out = detail::describe("y", params.y, true, value_axes);
    auto const saved = detail::describe("state", params.state, true, number_axes);
    detail::attention_view values[max_parts], states[max_parts];
    for (int i = 0; i < params.count; ++i) {
      auto const& part = params.parts[static_cast<std::size_t>(i)];
      values[i] = detail::describe(part_names[i].y, part.y, false, value_axes);
      states[i] = detail::describe(part_names[i].state, part.state, false, number_axes);
      check_view(c, values[i], e);
      check_view(c, states[i], state_extents(e));
    }
    check_view(c, out, e);
    if (params.saving) check_view(c, saved, state_extents(e));
    for (int i = 0; i < params.count; ++i) {
      c.no_overlap(out, values[i], i == 0);
      c.no_overlap(out, states[i]);
      if (!params.saving) continue;
      c.no_overlap(saved, values[i]);
      c.no_overlap(saved, states[i], i == 0);
    }
    if (params.saving) c.no_overlap(saved, out);
  }
  // Checks a view whose shape must match y of part 0.
  static void check_view(detail::checker& c, detail::attention_view const& v, extents4 expected) {
    c.view(v);
    c.extent(v, "batch", v.shape.batch, "parts[0].y", expected.batch);
    c.extent(v, "heads", v.shape.heads, "parts[0].y", expected.heads);
    c.extent(v, "queries", v.shape.length, "parts[0].y", expected.length);
    if (v.axes.channels == value_axes.channels)
      c.extent(v, "values", v.shape.channels, "parts[0].y", expected.channels);
    else if (v.shape.channels != expected.channels)
      c.fail(error_kind::argument, "%s.%s is %lld, must be 2", v.name, v.axes.channels,
             static_cast<long long>(v.shape.channels));
  }

  // Names for error messages. They must outlive the checker, which refers to them.
  struct part_name {
    char const *y, *state;
  };
  static constexpr int max_parts = 16;
  static constexpr part_name part_names[max_parts] = {
      {"parts[0].y", "parts[0].state"},   {"parts[1].y", "parts[1].state"},
      {"parts[2].y", "parts[2].state"},   {"parts[3].y", "parts[3].state"},
      {"parts[4].y", "parts[4].state"},   {"parts[5].y", "parts[5].state"},
      {"parts[6].y", "parts[6].state"},   {"parts[7].y", "parts[7].state"},
      {"parts[8].y", "parts[8].state"},   {"parts[9].y", "parts[9].state"},
      {"parts[10].y", "parts[10].state"}, {"parts[11].y", "parts[11].state"},
      {"parts[12].y", "parts[12].state"}, {"parts[13].y", "parts[13].state"},
      {"parts[14].y", "parts[14].state"}, {"parts[15].y", "parts[15].state"},
  };
};

SLICESORT_OPERATORS_END

#undef SLICESORT_MERGE_HAS_NO_BACKWARD

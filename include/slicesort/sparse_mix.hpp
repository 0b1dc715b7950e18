// SPDX-License-Identifier: Apache-2.0
/// Sparse-factor mixing: a chain of factors. Each factor replaces every row by a weighted sum of a
/// few rows, which a topology selects; each factor has its own weights.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/sparse_mix/host.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/error.hpp>
#include <slicesort/policies/checkpoints.hpp>
#include <slicesort/policies/topology.hpp>
#include <slicesort/saved.hpp>

#include <type_traits>

SLICESORT_OPERATORS_BEGIN

/// A chain of sparse factors (Paramixer, section 3). Factor `m` (the first is 0) mixes the rows of
/// every sample, in the same way for all channels:
/// `z[i] = sum_k w[m, b, i, k] * v[(i + offset(k, m)) mod length]`; its output, `z` plus the
/// residual, is the next factor's input. The caller provides the weights (in the paper one MLP per
/// factor computes them from the rows).
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`; w, dw:
///   `[factors, batch, length, links]`, or `[batch, length, links]` for one factor; states:
///   `saved_extents`. Any strides (output strides must not overlap: weights shared by all samples
///   have a batch stride of 0, but their gradient has one part per sample). `ceil_log2(length)`
///   factors connect all rows; 0 factors copy x.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; all tensors have
///   the same type.
/// - **Arithmetic** sums start with the residual and add links 0, 1, ... by fused multiply-adds in
///   the accumulator's type (double for double, else float). The output of each factor is rounded
///   to the element type, so a chain is bit-identical to separate calls of its factors.
/// - **Links** to the same row add up, and each has its own gradient.
/// - **Saved** the inputs of all factors but the first, or some of them (`checkpoints`); results
///   are bit-identical for every choice. Inference and chains of one factor save nothing.
/// - **Gradient** of x and, if requested, of w. The gradient of w is a sum over channels in a fixed
///   order.
/// - **Lengths** only the n valid rows of a sample take part, and links wrap around modulo n. The
///   other rows and their gradients are copied unchanged; their weights are not read, and the
///   gradients of their weights are 0.
/// - **Aliasing** outputs must not overlap inputs or each other.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **NaN** and infinities propagate as in any sum of products; every NaN result is the same
///   canonical NaN.
/// - **Determinism** bit-identical for any backend, thread count, instruction set, split of the
///   batch and `checkpoints`.
/// - **Cost** `factors * links` multiply-adds per element; backward as many, or twice as many with
///   dw; `recompute` adds the cost of at least one more forward.
///
/// @tparam Topology selects the linked rows: `topology::chord`, `cdil`, `offsets`, or a
///         user-defined type (`topology.hpp`).
/// @tparam Residual the input that each factor adds: `residual::per_factor`, `none`, `initial`.
template <class Topology = topology::chord, class Residual = residual::per_factor>
class sparse_mix {
  static_assert(
      detail::has_offset<Topology>,
      "slicesort: a topology needs `index_t offset(index_t link, index_t factor) const`.");
  static_assert(detail::is_residual<Residual>::value,
                "slicesort: the residual must be residual::per_factor, none or initial.");

  // The state has the element type of x, so that a braced argument has a type.
  template <class X>
  using saved_of = saved_states<typename detail::view_of_rank3_t<X>::value_type>;
  template <class X>
  using const_saved_of = const_saved_states<typename detail::view_of_rank3_t<X>::value_type>;

 public:
  /// Takes a topology, a residual and `checkpoints`, all optional and in any order.
  template <class... Policies>
  constexpr explicit sparse_mix(Policies const&... policies)
      : topology_(detail::choose<Topology>(policies...)),
        saved_(detail::choose<checkpoints>(policies...)) {
    static_assert(
        detail::in_any_order<Topology, Residual, checkpoints>::template accepts<Policies...>,
        "slicesort: sparse_mix takes a topology, a residual and checkpoints.");
  }

  constexpr Topology const& topology() const { return topology_; }
  constexpr checkpoints saved() const { return saved_; }

  /// Shape of the states that a call with x and w of these shapes saves.
  constexpr stack_extents saved_extents(extents3 x, stack_extents w) const {
    return {saved_.states(w.outer), x.batch, x.length, x.channels};
  }

  /// Bytes of workspace for a forward or backward call with x and w of these shapes; arithmetic
  /// only. Rejects shapes, topologies and checkpoints that `forward` rejects.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x, stack_extents w) const {
    detail::mix_shape const shape{x, w.outer, w.channels, saved_.every};
    return detail::workspace_bytes<op, T>(
        exec, "sparse_mix.workspace_bytes", shape, [&](detail::checker& c) {
          auto const source = detail::describe_shape("x", x),
                     weights = detail::describe_shape("w", w, weight_axes);
          c.shape(source);
          c.shape(weights);
          check_factors(c, source, weights);
        });
  }
  /// Overload that takes element type and shapes from views.
  template <class Exec, class X, class W, detail::if_policy<Exec> = 0,
            detail::if_view_of_rank3<X> = 0, detail::if_view_of_stack<W> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x, W const& w) const {
    return workspace_bytes<detail::element_of_rank3<X>>(exec, detail::extents_of(x),
                                                        detail::to_stack(w).extents());
  }

  /// Applies the factors `w` to `x`, writes the result to `y`, and the states to `state` unless it
  /// is `no_saved`.
  template <class Exec, class X, class W, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, W const& w, Y const& y,
                                saved_of<X> state, workspace memory = {},
                                forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options);
    params.weights = detail::input_stack_of<typename decltype(params)::element>(w);
    params.config = make_config(params.weights.extents());
    params.states = state.view;
    params.saving = state.saving;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = detail::describe_transfer(params);
      auto const weights = detail::describe("w", params.weights, false, weight_axes);
      check_chain(c, source, weights, target, params.lengths);
      if (!state.saving) return;
      auto const states = detail::describe("states", params.states, true, state_axes);
      check_states(c, states, weights, source);
      for (auto const& other : {source, weights, target}) c.no_overlap(states, other);
    });
  }

  /// Writes only the gradient of x, which needs neither x nor states.
  template <class Exec, class DY, class W, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, W const& w, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    auto const params = backward_params(dy, w, dx, options);
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { check_backward(c, params); });
  }
  /// Writes the gradients of x and of w; `options.mode` applies to both. `x` is the input of
  /// forward and `state` its output, or `no_saved` if it saved no states.
  template <class Exec, class DY, class X, class W, class DX, class DW, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, X const& x, W const& w,
                                 const_saved_of<DY> state, DX const& dx, DW const& dw,
                                 workspace memory = {}, backward_options options = {}) const {
    auto params = backward_params(dy, w, dx, options);
    using T = typename decltype(params)::element;
    params.x = detail::input_of<T>(x);
    params.states = state.view;
    params.dweights = detail::output_stack<T>(dw);
    params.needs_weight_gradient = true;
    return detail::call<op>(exec, params, memory,
                            [&](detail::checker& c) { check_backward(c, params); });
  }

  SLICESORT_REFUSE_OTHER_CALLS(
      "(exec, x, w, y, states or slicesort::no_saved, workspace, options)",
      "(exec, dy, w, dx, workspace, options) or "
      "backward(exec, dy, x, w, states or slicesort::no_saved, dx, dw, workspace, options)");

 private:
  using op = detail::sparse_mix_op;

  static constexpr detail::residual_form residual_form() {
    if (std::is_same_v<Residual, residual::per_factor>) return detail::residual_form::per_factor;
    return std::is_same_v<Residual, residual::none> ? detail::residual_form::none
                                                    : detail::residual_form::initial;
  }
  detail::mix_config make_config(stack_extents w) const {
    detail::mix_config config{};
    config.residual = residual_form();
    config.factors = w.outer;
    config.links = w.channels;
    config.every = saved_.every;
    config.topology = &topology_;
    config.evaluate_offset = [](void const* topology, index_t link, index_t factor) {
      return static_cast<Topology const*>(topology)->offset(link, factor);
    };
    return config;
  }
  template <class DY, class W, class DX>
  auto backward_params(DY const& dy, W const& w, DX const& dx, backward_options options) const {
    auto params = detail::make_backward_params<op>(dy, dx, options);
    params.weights = detail::input_stack_of<typename decltype(params)::element>(w);
    params.config = make_config(params.weights.extents());
    return params;
  }

  template <class T>
  void check_backward(detail::checker& c, detail::sparse_mix_backward<T> const& params) const {
    auto const [source, target] = detail::describe_transfer(params);
    auto const w = detail::describe("w", params.weights, false, weight_axes);
    check_chain(c, source, w, target, params.lengths);
    if (!params.needs_weight_gradient) return;
    auto const x = detail::describe("x", params.x, false);
    auto const states = detail::describe("states", params.states, false, state_axes);
    auto const dw = detail::describe("dw", params.dweights, true, weight_axes);
    c.view(x);
    c.same_extents(x, source.name, source.extents.tensor());
    check_states(c, states, w, source);
    c.view(dw);
    c.extent(dw, "factors", dw.extents.outer, w.name, w.extents.outer);
    c.extent(dw, "batch", dw.extents.batch, source.name, source.extents.batch);
    c.extent(dw, "length", dw.extents.length, source.name, source.extents.length);
    c.extent(dw, "links", dw.extents.channels, w.name, w.extents.channels);
    for (auto const& other : {x, states}) c.no_overlap(target, other);
    for (auto const& other : {source, x, w, states, target}) c.no_overlap(dw, other);
  }

  static constexpr detail::axis_names weight_axes{"factors", "batch", "length", "links"},
      state_axes{"states", "batch", "length", "channels"};

  // Checks that apply to every call.
  void check_chain(detail::checker& c, detail::view_info const& source, detail::view_info const& w,
                   detail::view_info const& target, tensor1<index_t const> lengths) const {
    c.view(source);
    c.view(w);
    c.view(target);
    c.same_extents(target, source.name, source.extents.tensor());
    c.lengths(lengths, source.extents.tensor());
    check_factors(c, source, w);
    for (auto const& other : {source, w}) c.no_overlap(target, other);
  }
  // Checks the shapes and policies.
  void check_factors(detail::checker& c, detail::view_info const& source,
                     detail::view_info const& w) const {
    c.rows_countable(source);
    c.extent(w, "batch", w.extents.batch, source.name, source.extents.batch);
    c.extent(w, "length", w.extents.length, source.name, source.extents.length);
    index_t const factors = w.extents.outer, links = w.extents.channels;
    check_limit(c, "w.factors", factors);
    check_limit(c, "w.links", links);
    check_limit(c, "checkpoints.every", saved_.every);
    if (c.ok()) c.policy("topology", topology_, factors, "w.factors");
    if constexpr (detail::has_links<Topology>)
      if (c.ok()) c.extent(w, "links", links, "topology", topology_.links(factors));
  }
  static void check_limit(detail::checker& c, char const* name, index_t value) {
    if (value < 0 || value > detail::mix_shape::limit)
      c.fail(error_kind::argument, "%s is %lld, must be in 0..%lld", name,
             static_cast<long long>(value), static_cast<long long>(detail::mix_shape::limit));
  }
  void check_states(detail::checker& c, detail::view_info const& states, detail::view_info const& w,
                    detail::view_info const& source) const {
    if (!c.ok() || saved_.states(w.extents.outer) == 0) return;
    c.view(states);
    c.extent(states, "states", states.extents.outer, "checkpoints", saved_.states(w.extents.outer));
    c.same_extents(states, source.name, source.extents.tensor());
  }

  Topology topology_;
  checkpoints saved_;
};

template <class... Policies>
sparse_mix(Policies...)
    -> sparse_mix<detail::first_matching_t<detail::is_topology, topology::chord, Policies...>,
                  detail::first_matching_t<detail::is_residual, residual::per_factor, Policies...>>;

SLICESORT_OPERATORS_END

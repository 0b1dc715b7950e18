// SPDX-License-Identifier: Apache-2.0
/// The entropic relaxation of CSP: channels are shifted, then the rows of every group are mixed by
/// a doubly stochastic matrix that follows a reference channel.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/detail/sinkhorn_csp/host.hpp>
#include <slicesort/detail/sinkhorn_csp/params.hpp>
#include <slicesort/error.hpp>
#include <slicesort/policies/alignment.hpp>
#include <slicesort/policies/grouping.hpp>
#include <slicesort/policies/shift.hpp>
#include <slicesort/sinkhorn.hpp>

#include <limits>
#include <type_traits>

SLICESORT_OPERATORS_BEGIN

/// CSP with Sinkhorn's algorithm in place of the sort (CSP, eq. 8 and 9). Every channel `c` of
/// every sample is shifted circularly down by `J_c` rows: `w[n] = x[(n - J_c) mod length]`. Then,
/// in each group of `G` consecutive rows, `y = T w`. Here `v` is the reference channel, which is
/// not shifted, and T is `exp(v w' / tau)` after `iterations` normalizations of its rows and then
/// its columns. Rows of T correspond to rows of v. As tau decreases and iterations increase, y
/// converges to the result of `csp<Shift, reference>` (CSP, Theorem 2), provided that no two values
/// of a group are equal.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`, any strides (output strides must not
///   overlap).
/// - **dtypes** float, double.
/// - **Reference** is returned unchanged: the paper's P_1 is the identity.
/// - **Groups, lengths** as in `csp`. Rows past a length are copied unchanged.
/// - **Arithmetic** in the element type and in the log domain: no finite input overflows, because
///   the two factors of a logit are clamped to 2^60 (double: 2^508). exp and log are implemented
///   by the library. The error of T is proportional to `|v w' / tau|` times the unit roundoff, like
///   the effect of rounding x.
/// - **Saved** nothing; backward takes x, repeats the iterations and keeps their potentials in the
///   workspace.
/// - **Gradient** exact for the finite number of iterations: it propagates through w directly, and
///   through T to both w and v. The gradient of the reference channel is the sum over all channels
///   in order, in double, rounded once.
/// - **Aliasing** outputs must not overlap inputs.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **NaN** and infinities spread to their whole group in that channel, and from the reference to
///   the group in all channels. Every NaN result is the same canonical NaN.
/// - **Determinism** bit-identical for any backend, thread count and split of the batch, unless
///   compiler flags allow different rounding (`-ffast-math`, or Clang's `-ffp-contract=fast`).
/// - **Cost** `G * (2 * iterations + 1)` exponentials per element; backward about twice as many.
///   Workspace: `4 * iterations` groups per thread (or block); backward also needs one
///   element per tensor element, up to a million.
///
/// @tparam Shift number of rows by which each channel is shifted: `shift::linear`, ... or a
///         user-defined type (`shift.hpp`).
template <class Shift = shift::linear>
class sinkhorn_csp {
  static_assert(detail::has_shift<Shift>,
                "slicesort: a shift policy needs `index_t shift(index_t channel, index_t channels, "
                "index_t length) const`.");

 public:
  /// Takes the groups and the relaxation, then optionally a shift and a `reference` in any order.
  template <class... Policies>
  constexpr sinkhorn_csp(grouping groups, sinkhorn relaxation, Policies const&... policies)
      : groups_(groups),
        relaxation_(relaxation),
        shift_(detail::choose<Shift>(policies...)),
        reference_(detail::choose<slicesort::reference>(policies...)) {
    static_assert(detail::in_any_order<Shift, slicesort::reference>::template accepts<Policies...>,
                  "slicesort: sinkhorn_csp takes groups, a sinkhorn, a shift and a reference.");
  }

  constexpr sinkhorn const& relaxation() const { return relaxation_; }
  constexpr Shift const& shift() const { return shift_; }
  constexpr slicesort::reference reference() const { return reference_; }

  /// Rows of a whole group in tensors of this shape, `1..max(length, 1)`.
  constexpr index_t group(extents3 extents) const { return groups_.rows(extents.length); }

  /// Shift of a channel, `0..length-1` rows, in a sample with `length` valid rows of a tensor of
  /// this shape.
  constexpr index_t shift_of(index_t channel, extents3 extents, index_t length) const {
    if (channel == reference_.channel) return 0;
    return detail::wrap_row(shift_.shift(channel, extents.channels, extents.length), length);
  }

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only.
  /// Rejects shapes and policies that `forward` rejects.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) const {
    require_element<T>();
    return detail::workspace_bytes<op, T>(exec, "sinkhorn_csp.workspace_bytes",
                                          {x, group(x), iterations()}, [&](detail::checker& c) {
                                            auto const info = detail::describe_shape("x", x);
                                            detail::check_extents(c, info);
                                            check_policies(c, info);
                                          });
  }
  /// Overload that takes element type and shape from a view.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) const {
    return workspace_bytes<detail::element_of_rank3<X>>(exec, detail::extents_of(x));
  }

  /// Mixes the rows of `x` into `y`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Y const& y, workspace memory = {},
                                forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options);
    set_config(params);
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = detail::describe_transfer(params);
      c.view(source);
      check_mixing(c, source, source, target, params.lengths);
    });
  }

  /// Writes the gradient to `dx`, or adds it with `grad_mode::accumulate`. `x` is the input of
  /// forward.
  template <class Exec, class DY, class X, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, X const& x, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    auto params = detail::make_backward_params<op>(dy, dx, options);
    auto const values = detail::input(x);
    constexpr bool same_type =
        std::is_same_v<typename decltype(values)::value_type, typename decltype(params)::element>;
    static_assert(same_type, "slicesort: x and dy must have the same element type.");
    if constexpr (same_type) params.x = values;
    set_config(params);
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = detail::describe_transfer(params);
      auto const info = detail::describe("x", params.x, false);
      c.view(source);
      c.view(info);
      c.same_extents(source, info.name, info.extents.tensor());
      check_mixing(c, source, info, target, params.lengths);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, x, y, workspace, options)",
                               "(exec, dy, x, dx, workspace, options)");

 private:
  using op = detail::sinkhorn_csp_op;

  template <class T>
  static constexpr void require_element() {
    static_assert(
        std::is_same_v<T, float> || std::is_same_v<T, double>,
        "slicesort: the element type of sinkhorn_csp must be float or double: its sums of "
        "exponentials say nothing in 16 bits.");
  }

  template <class Params>
  void set_config(Params& params) const {
    require_element<typename Params::element>();
    params.tau = relaxation_.tau();
    params.iterations = iterations();
    params.config.group = group(params.x.extents());
    params.config.reference = reference_.channel;
    params.config.policies = this;
    params.config.shift_by = [](void const* policies, index_t channel, extents3 extents) {
      return static_cast<sinkhorn_csp const*>(policies)->shift_.shift(channel, extents.channels,
                                                                      extents.length);
    };
    params.config.is_descending = [](void const*, index_t, extents3) { return false; };
  }

  constexpr index_t iterations() const { return relaxation_.half_steps().count / 2; }

  // Checks the output, the lengths and the policies; requires valid inputs.
  void check_mixing(detail::checker& c, detail::view_info const& source, detail::view_info const& x,
                    detail::view_info const& target, tensor1<index_t const> lengths) const {
    c.view(target);
    c.same_extents(target, x.name, x.extents.tensor());
    c.no_overlap(target, source);
    c.no_overlap(target, x);
    c.lengths(lengths, x.extents.tensor());
    c.rows_countable(x);
    check_policies(c, x);
  }

  void check_policies(detail::checker& c, detail::view_info const& x) const {
    if (char const* violation = groups_.validate())
      c.fail(error_kind::argument, "groups %s", violation);
    if (!(relaxation_.tau() > 0) || relaxation_.tau() > std::numeric_limits<double>::max())
      c.fail(error_kind::argument, "tau is %g, must be positive and finite", relaxation_.tau());
    if (relaxation_.half_steps().last != side::columns || relaxation_.half_steps().count % 2 != 0)
      c.fail(error_kind::argument,
             "sinkhorn has %lld half-steps that end with %s, must have an even number that ends "
             "with columns",
             static_cast<long long>(relaxation_.half_steps().count),
             relaxation_.half_steps().last == side::columns ? "columns" : "rows");
    index_t const t = iterations(), limit = detail::sinkhorn_csp_shape::max_iterations;
    if (t < 1 || t > limit)
      c.fail(error_kind::argument, "iterations is %lld, must be in 1..%lld",
             static_cast<long long>(t), static_cast<long long>(limit));
    c.policy("shift", shift_, x.extents.channels);
    c.policy("alignment", reference_, x.extents.channels);
  }

  grouping groups_;
  sinkhorn relaxation_;
  Shift shift_;
  slicesort::reference reference_;
};

template <class... Policies>
sinkhorn_csp(grouping, sinkhorn, Policies...)
    -> sinkhorn_csp<detail::first_matching_t<detail::is_shift, shift::linear, Policies...>>;

SLICESORT_OPERATORS_END

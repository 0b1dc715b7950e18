// SPDX-License-Identifier: Apache-2.0
/// Channel-wise sample permutation: shifts channels along the sequence by different steps, then
/// orders the rows of every group.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/csp/host.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/error.hpp>
#include <slicesort/policies/alignment.hpp>
#include <slicesort/policies/grouping.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/policies/shift.hpp>
#include <slicesort/saved.hpp>

SLICESORT_TYPES_BEGIN

/// State that `csp` saves, as small as the groups allow; its shape and width are
/// `csp::saved_extents` and `csp::saved_width`. Groups of two rows: one bit per pair,
/// `[batch, ceil(length / 16), channels]` of `std::uint8_t`; bit `p % 8` of row `p / 8` is set if
/// the rows of pair `p` were exchanged. Larger groups: `order[b, n, c]`, the row of its group that
/// became row `n`, `[batch, length, channels]` of `std::uint8_t` (groups of up to 256 rows),
/// `std::uint16_t` (65536), or a 32-bit type. Groups of one row have no state.
using saved_order = saved_argument<index_tensor3>;

/// State of `csp` as `backward` reads it, `[batch, rows, channels]` with the rows and the type of
/// `saved_order`.
using const_saved_order = const_saved_argument<const_index_tensor3>;

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// Shifts every channel `c` of every sample circularly down by `J_c` rows, then orders the rows of
/// each group of `G` consecutive rows (CSP, eq. 3 to 5):
/// `w[n] = x[(n - J_c) mod length]`, `y[n] = w[g + order[n]]` with `g` the first row of n's group.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`, any strides (output strides must not
///   overlap); order: `saved_extents`, any strides.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Order** one total order on bits: -0 == +0; every NaN equal and above +inf; ties keep the
///   lower row of `w` first. Values move bit for bit.
/// - **Groups** `group_size{G}` or `group_count{K}`, which is `G = ceil(length / K)`; the last may
///   be shorter. G = 1: shift only; G = 2: exchanges within pairs; K = 1: a complete sort.
/// - **Lengths** shifts are modulo n, the number of valid rows, and groups are cut from the first n
///   rows. The other rows are copied unchanged.
/// - **Saved** `order`, one bit per pair, or 8, 16 or 32 bits per row; or `no_saved`.
/// - **Gradient** the transpose of the composed permutation. The ranks of a reference channel get
///   no gradient.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is an error.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** bit-identical for any backend, thread count and split of the batch.
/// - **Cost** one pass over the tensor; O(log^2 G) comparators per element; backward takes one
///   pass.
///
/// @tparam Shift number of rows by which each channel is shifted: `shift::linear`, ... or a
///         user-defined type (`shift.hpp`).
/// @tparam Alignment order of groups: `reference`, `ascending`, ... or a user-defined type
///         (`alignment.hpp`).
template <class Shift = shift::linear, class Alignment = reference>
class csp {
  static constexpr bool has_reference = detail::follows_reference<Alignment>;
  static_assert(detail::has_shift<Shift>,
                "slicesort: a shift policy needs `index_t shift(index_t channel, index_t channels, "
                "index_t length) const`.");

 public:
  using saved = saved_order;
  using const_saved = const_saved_order;

  /// Takes the groups, then optionally a shift and an alignment in any order.
  template <class... Policies>
  constexpr explicit csp(grouping groups, Policies const&... policies)
      : groups_(groups),
        shift_(detail::choose<Shift>(policies...)),
        alignment_(detail::choose<Alignment>(policies...)) {
    static_assert(detail::in_any_order<Shift, Alignment>::template accepts<Policies...>,
                  "slicesort: csp takes groups, a shift and an alignment.");
  }

  constexpr Shift const& shift() const { return shift_; }
  constexpr Alignment const& alignment() const { return alignment_; }

  /// Rows of a whole group in tensors of this shape, `1..max(length, 1)`.
  constexpr index_t group(extents3 extents) const { return groups_.rows(extents.length); }

  /// Shift of a channel, `0..length-1` rows, in a sample with `length` valid rows of a tensor
  /// of this shape.
  constexpr index_t shift_of(index_t channel, extents3 extents, index_t length) const {
    if (channel == reference_of(extents.channels)) return 0;
    return detail::wrap_row(shift_.shift(channel, extents.channels, extents.length), length);
  }

  /// Shape and element width of the state that a call of this shape saves.
  constexpr extents3 saved_extents(extents3 extents) const {
    return detail::saved_order_extents(extents, group(extents));
  }
  constexpr index_width saved_width(extents3 extents) const {
    return detail::saved_order_width(group(extents));
  }

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only.
  /// Rejects shapes and policies that `forward` rejects.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) const {
    return detail::workspace_bytes<op, T>(exec, "csp.workspace_bytes", {x, group(x)},
                                          [&](detail::checker& c) {
                                            auto const input = detail::describe_shape("x", x);
                                            detail::check_extents(c, input);
                                            check_policies(c, input, reference_of(x.channels));
                                          });
  }
  /// Overload that takes element type and shape from a view.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) const {
    return workspace_bytes<detail::element_of_rank3<X>>(exec, detail::extents_of(x));
  }

  /// Permutes `x` into `y` and writes the order, unless `state` is `no_saved`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Y const& y, saved state,
                                workspace memory = {}, forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options);
    params.config = config_of(params.x.extents());
    params.order = state.view;
    params.saving = state.saving;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = detail::check_transfer(c, params);
      check_policies(c, source, params.config.reference);
      if (params.saving)
        check_order(c, detail::describe("order", params.order, true), source, target);
    });
  }

  /// Writes each row of `dy` to the source row in `x`, or adds it with `grad_mode::accumulate`.
  /// `state` is the output of forward; its indices are trusted, not checked.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, const_saved state, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    auto params = detail::make_backward_params<op>(dy, dx, options);
    params.config = config_of(params.dy.extents());
    params.order = state.view;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = detail::check_transfer(c, params);
      check_policies(c, source, params.config.reference);
      check_order(c, detail::describe("order", params.order, false), source, target);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, x, y, order or slicesort::no_saved, workspace, options)",
                               "(exec, dy, order, dx, workspace, options)");

 private:
  using op = detail::csp_op<has_reference>;

  constexpr index_t reference_of(index_t channels) const {
    if constexpr (has_reference)
      return alignment_.reference_channel(channels);
    else
      return -1;
  }
  constexpr bool descends(index_t channel, extents3 extents) const {
    if constexpr (has_reference)
      return (void)channel, (void)extents, false;
    else
      return !detail::ascends(alignment_, channel, extents.channels);
  }
  detail::csp_config config_of(extents3 shape) const {
    detail::csp_config config{};
    config.group = group(shape);
    config.reference = reference_of(shape.channels);
    config.policies = this;
    config.shift_by = [](void const* policies, index_t channel, extents3 extents) {
      return static_cast<csp const*>(policies)->shift_.shift(channel, extents.channels,
                                                             extents.length);
    };
    config.is_descending = [](void const* policies, index_t channel, extents3 extents) {
      return static_cast<csp const*>(policies)->descends(channel, extents);
    };
    return config;
  }

  // Checks the policies for a tensor of this shape. The alignment returns its channel only once, so
  // that the call uses the checked one.
  void check_policies(detail::checker& c, detail::view_info const& input, index_t reference) const {
    if (char const* violation = groups_.validate())
      c.fail(error_kind::argument, "groups %s", violation);
    c.policy("shift", shift_, input.extents.channels);
    c.policy("alignment", alignment_, input.extents.channels);
    if constexpr (has_reference) {
      if (input.extents.channels > 0 && (reference < 0 || reference >= input.extents.channels))
        c.fail(error_kind::argument, "alignment: the reference is channel %lld, must be in 0..%lld",
               static_cast<long long>(reference),
               static_cast<long long>(input.extents.channels - 1));
    }
  }
  void check_order(detail::checker& c, detail::view_info const& order,
                   detail::view_info const& input, detail::view_info const& output) const {
    if (!c.ok() || group(input.extents.tensor()) == 1) return;
    c.view(order);
    c.same_extents(order, "saved_extents()", saved_extents(input.extents.tensor()));
    auto const bytes = static_cast<index_t>(saved_width(input.extents.tensor()));
    if (order.element_bytes != bytes)
      c.fail(error_kind::argument,
             "%s has %lld-bit elements, must have %lld-bit ones (groups of %lld rows)", order.name,
             static_cast<long long>(8 * order.element_bytes), static_cast<long long>(8 * bytes),
             static_cast<long long>(group(input.extents.tensor())));
    c.no_overlap(order, input);
    c.no_overlap(order, output);
  }

  grouping groups_;
  Shift shift_;
  Alignment alignment_;
};

template <class... Policies>
csp(grouping, Policies...)
    -> csp<detail::first_matching_t<detail::is_shift, shift::linear, Policies...>,
           detail::first_matching_t<detail::is_no_shift, reference, Policies...>>;

SLICESORT_OPERATORS_END

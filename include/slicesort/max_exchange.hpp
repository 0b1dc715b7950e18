// SPDX-License-Identifier: Apache-2.0
/// Max-exchange, a variant of slicing-sort: the maximum of every column goes to the readout row.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/refused_calls.hpp>
#include <slicesort/detail/max_exchange/host.hpp>
#include <slicesort/detail/max_exchange/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

SLICESORT_TYPES_BEGIN

/// The state that `max_exchange` saves, `[batch, 1, channels]`: `maximum[b, 0, c]` is the row that
/// was exchanged with the readout row. 16-bit (`std::uint16_t`, length <= 65536) or 32-bit
/// (`std::int32_t`, `std::uint32_t`).
using saved_maximum = saved_argument<index_tensor3>;

/// The state of `max_exchange` as `backward` reads it.
using const_saved_maximum = const_saved_argument<const_index_tensor3>;

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// Exchanges the first maximum of every column `x[b, :, c]` with its row `row`; all other rows stay
/// in place (Sliceformer's max-exchange: `row` is the readout row, 0 for a class token). Backward
/// is the same exchange of the gradient.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`, any strides (outputs without repeats);
///   maximum: `[batch, 1, channels]`.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Order** one total order on bits: -0 == +0; every NaN equal and above +inf; the first of
///   equals is the maximum. Values move bit for bit.
/// - **Saved** `maximum`, one row number per column, or `no_saved`. Not written when the length is
///   0.
/// - **Lengths** the maximum is one of the valid rows; the others are copied through. A sample of
///   length 0 is copied (`maximum` is `row`); `0 < lengths[b] <= row` is refused.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is refused.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written. `row` must be a
///   row: `0 <= row < length`, unless the length is 0.
/// - **Determinism** bit-identical for any thread count, instruction set and split of the batch.
/// - **Cost** one pass over the tensor, forward and backward. No workspace.
class max_exchange {
 public:
  using saved = saved_maximum;
  using const_saved = const_saved_maximum;

  constexpr explicit max_exchange(index_t row = 0) : row_(row) {}

  constexpr index_t row() const { return row_; }

  /// Bytes of workspace for a forward or backward call with x of this shape; arithmetic only. A
  /// shape that every call refuses is refused here.
  template <class T, class Exec>
  static detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) {
    detail::require_dtype<T>();
    return detail::workspace_bytes<op, T>(
        exec, "max_exchange.workspace_bytes", x,
        [&](detail::checker& c) { detail::check_extents(c, detail::describe_shape("x", x)); });
  }
  /// The same for the view of an x of this element type and shape.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  static detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) {
    return workspace_bytes<detail::element_of_rank3<X>>(exec,
                                                        detail::view_of_rank3_t<X>(x).extents());
  }

  /// Writes `x` with the exchange to `y`, and the maxima's rows, unless `state` is `no_saved`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Y const& y, saved state,
                                workspace memory = {}, forward_options options = {}) const {
    auto const v = detail::transfer_of(x, y);
    detail::max_exchange_forward<typename decltype(v)::element> params{};
    params.row = row_;
    params.x = v.in;
    params.y = v.out;
    params.maximum = state.view;
    params.saving = state.saving;
    params.lengths = options.lengths;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const in = detail::describe("x", v.in, false), out = detail::describe("y", v.out, true);
      check_rows(c, in, out, options.lengths);
      if (state.saving) check_maximum(c, detail::describe("maximum", state.view, true), in, out);
    });
  }

  /// Writes `dy` with the exchange to `dx`, or adds it with `grad_mode::accumulate`. `state` is
  /// what forward wrote; its indices are trusted, not checked.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, const_saved state, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    auto const v = detail::transfer_of(dy, dx);
    using T = typename decltype(v)::element;
    detail::max_exchange_backward<T> const params{row_, v.in, state.view, v.out, options.mode};
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const in = detail::describe("dy", v.in, false),
                 out = detail::describe("dx", v.out, true);
      check_rows(c, in, out, options.lengths);
      check_maximum(c, detail::describe("maximum", state.view, false), in, out);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS("(exec, x, y, maximum or slicesort::no_saved, workspace, options)",
                               "(exec, dy, maximum, dx, workspace, options)");

 private:
  using op = detail::max_exchange_op;

  void check_rows(detail::checker& c, detail::view_info const& in, detail::view_info const& out,
                  tensor1<index_t const> lengths) const {
    detail::check_transfer(c, in, out, lengths);
    index_t const length = in.extents.length;
    if (row_ < 0 || (length > 0 && row_ >= length))
      c.fail(error_kind::argument, "row is %lld, must be in 0..%lld (a row of %s)",
             static_cast<long long>(row_), static_cast<long long>(length > 0 ? length - 1 : 0),
             in.name);
    for (index_t b = 0; c.ok() && c.reads_memory() && b < detail::distinct_lengths(lengths); ++b)
      if (lengths(b) > 0 && lengths(b) <= row_)
        c.fail(error_kind::argument, "lengths[%lld] is %lld, must be 0 or more than %lld (row)",
               static_cast<long long>(b), static_cast<long long>(lengths(b)),
               static_cast<long long>(row_));
  }

  static void check_maximum(detail::checker& c, detail::view_info const& maximum,
                            detail::view_info const& in, detail::view_info const& out) {
    c.view(maximum);
    if (maximum.extents.length != 1)
      c.fail(error_kind::argument, "maximum.length is %lld, must be 1",
             static_cast<long long>(maximum.extents.length));
    c.same_extents(maximum, in.name, {in.extents.batch, 1, in.extents.channels});
    c.index_holds(maximum, in.extents.length);
    c.no_overlap(maximum, in);
    c.no_overlap(maximum, out);
  }

  index_t row_;
};

SLICESORT_OPERATORS_END

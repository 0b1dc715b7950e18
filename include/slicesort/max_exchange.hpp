// SPDX-License-Identifier: Apache-2.0
/// Max-exchange, a variant of slicing-sort: the maximum of every column goes to the readout row.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/max_exchange/host.hpp>
#include <slicesort/detail/max_exchange/params.hpp>
#include <slicesort/saved.hpp>

SLICESORT_TYPES_BEGIN

/// The state that `max_exchange` saves, `[batch, 1, channels]`: `maximum[b, 0, c]` is the row that
/// was exchanged with the readout row. 16-bit (`std::uint16_t`, length <= 65536) or 32-bit
/// (`std::int32_t`, `std::uint32_t`).
using saved_maximum = saved_argument<index_tensor3>;

/// The state of `max_exchange` as `backward` reads it: `[batch, 1, channels]`, of the types of
/// `saved_maximum`.
using const_saved_maximum = const_saved_argument<const_index_tensor3>;

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// Exchanges the first maximum of every column `x[b, :, c]` with its row `row`; all other rows stay
/// in place (Sliceformer's max-exchange: `row` is the readout row, 0 for a class token). Backward
/// applies the same exchange to the gradient.
///
/// - **Shapes** x, y, dy, dx: `[batch, length, channels]`, any strides (output strides must not
///   overlap); maximum: `[batch, 1, channels]`.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Order** one total order on bits: -0 == +0; every NaN equal and above +inf; of equal maxima
///   the first one counts. Values move bit for bit.
/// - **Saved** `maximum`, one row index per column, or `no_saved`. Not written when the length is
///   0.
/// - **Lengths** only valid rows are searched; the others are copied unchanged. A sample of length
///   0 is copied (`maximum` is `row`); `0 < lengths[b] <= row` is an error.
/// - **Aliasing** y may be x, and dx may be dy (same view); any other overlap is an error.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written. Requires
///   `0 <= row < length`, unless the length is 0.
/// - **Determinism** bit-identical for any thread count, instruction set and split of the batch.
/// - **Cost** one pass over the tensor, forward and backward. No workspace.
class max_exchange : public detail::sized_by_shape<detail::max_exchange_op> {
 public:
  using saved = saved_maximum;
  using const_saved = const_saved_maximum;

  constexpr explicit max_exchange(index_t row = 0) : row_(row) {}

  constexpr index_t row() const { return row_; }

  /// Writes `x` with exchanged rows to `y`, and the rows of the maxima to `state`, unless it is
  /// `no_saved`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Y const& y, saved state,
                                workspace memory = {}, forward_options options = {}) const {
    auto params = detail::make_forward_params<op>(x, y, options, op::config{row_});
    params.state = state.view;
    params.saving = state.saving;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = detail::check_transfer(c, params);
      check_row(c, source, params.lengths);
      if (state.saving)
        check_maximum(c, detail::describe("maximum", state.view, true), source, target);
    });
  }

  /// Writes `dy` with exchanged rows to `dx`, or adds it with `grad_mode::accumulate`. `state` is
  /// the output of forward; its indices are trusted, not checked.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, const_saved state, DX const& dx,
                                 workspace memory = {}, backward_options options = {}) const {
    auto params = detail::make_backward_params<op>(dy, dx, options, op::config{row_});
    params.state = state.view;
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const [source, target] = detail::check_transfer(c, params);
      check_row(c, source, params.lengths);
      check_maximum(c, detail::describe("maximum", state.view, false), source, target);
    });
  }

  SLICESORT_REFUSE_OTHER_TRANSFERS(
      "(exec, x, y, maximum or slicesort::no_saved, workspace, options)",
      "(exec, dy, maximum, dx, workspace, options)");

 private:
  using op = detail::max_exchange_op;

  void check_row(detail::checker& c, detail::view_info const& source,
                 tensor1<index_t const> lengths) const {
    index_t const length = source.extents.length;
    if (row_ < 0 || (length > 0 && row_ >= length))
      c.fail(error_kind::argument, "row is %lld, must be in 0..%lld (a row of %s)",
             static_cast<long long>(row_), static_cast<long long>(length > 0 ? length - 1 : 0),
             source.name);
    for (index_t b = 0; c.ok() && c.can_read_memory() && b < detail::distinct_length_count(lengths);
         ++b)
      if (lengths(b) > 0 && lengths(b) <= row_)
        c.fail(error_kind::argument, "lengths[%lld] is %lld, must be 0 or more than %lld (row)",
               static_cast<long long>(b), static_cast<long long>(lengths(b)),
               static_cast<long long>(row_));
  }

  static void check_maximum(detail::checker& c, detail::view_info const& maximum,
                            detail::view_info const& source, detail::view_info const& target) {
    c.view(maximum);
    if (maximum.extents.length != 1)
      c.fail(error_kind::argument, "maximum.length is %lld, must be 1",
             static_cast<long long>(maximum.extents.length));
    c.same_extents(maximum, source.name, {source.extents.batch, 1, source.extents.channels});
    c.index_fits(maximum, source.extents.length);
    c.no_overlap(maximum, source);
    c.no_overlap(maximum, target);
  }

  index_t row_;
};

SLICESORT_OPERATORS_END

// SPDX-License-Identifier: Apache-2.0
/// Top-k: the first k rows of every sorted column, without a sort of the others.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/top_k/host.hpp>
#include <slicesort/detail/top_k/params.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>

SLICESORT_TYPES_BEGIN

/// Order of the outputs of `top_k`: sorted, or by row index.
enum class top_k_output { sorted, by_index };

/// Place of NaN in `top_k`: by the total order (above +infinity, so first in descending columns),
/// or after all numbers.
enum class nan_order { total, last };

/// Indices of `top_k`, `[batch, k, channels]`: the row of x that each output is from. 16-bit
/// (`std::uint16_t`, length <= 65536) or 32-bit (`std::int32_t`, `std::uint32_t`).
using top_k_indices = saved_argument<index_tensor3>;

/// Indices of `top_k` as `backward` reads them: `[batch, k, channels]`, of the types of
/// `top_k_indices`.
using const_top_k_indices = const_saved_argument<const_index_tensor3>;

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// Selects the first k rows of every column `x[b, :, c]` in the order of `slicing_sort<Order>`: the
/// largest k values if `Order` is `descending`, the smallest if it is `ascending`.
///
/// - **Shapes** x, dx: `[batch, length, channels]`; values, indices, dy: `[batch, k, channels]`;
///   any strides (output strides must not overlap). To select along any axis of a tensor, name
///   that axis the length.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`.
/// - **Order** one total order on bits: -0 == +0; every NaN equal and above +inf, or last with
///   `nan_order::last`; of equal values the lower row comes first, also where only some of them are
///   selected. Values move bit for bit.
/// - **Output** sorted, or with `top_k_output::by_index` in the order of the rows of x.
/// - **Gradient** `dx[b, indices[b, n, c], c] = dy[b, n, c]`, and 0 elsewhere.
/// - **Lengths** only valid rows are selected from. If a sample has fewer than k, its rows from
///   `lengths[b]` to k - 1 follow unchanged with their own indices, as in `slicing_sort`.
/// - **Aliasing** no output may overlap another argument.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written. Requires
///   `0 <= k <= length`.
/// - **Determinism** the same bits for any thread count, instruction set, split and backend.
/// - **Cost** on the host two passes over the column and a sort of about k rows; a sort of the
///   column if k is more than a quarter of its length. Backward writes dx once.
///
/// @tparam Order selects the channels that ascend: `descending`, `ascending`, or any other policy
///         of `order.hpp`.
template <class Order = descending>
class top_k {
 public:
  using saved = top_k_indices;
  using const_saved = const_top_k_indices;

  constexpr explicit top_k(index_t k, top_k_output output = top_k_output::sorted,
                           nan_order nan = nan_order::total, Order order = {})
      : config_{order, k, output == top_k_output::by_index, nan == nan_order::last} {}

  constexpr index_t k() const { return config_.k; }
  constexpr Order const& order() const { return config_.order; }

  /// Bytes of workspace for a forward call with x of this shape; arithmetic only. Backward needs
  /// none. A shape that every call rejects is rejected here.
  template <class T, class Exec>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, extents3 x) const {
    return detail::workspace_bytes<op, T>(exec, "top_k.workspace_bytes", config_.shape_of(x),
                                          [&](detail::checker& c) {
                                            auto const source = detail::describe_shape("x", x);
                                            detail::check_extents(c, source);
                                            check_k(c, source);
                                            c.policy("order", config_.order, x.channels);
                                          });
  }
  /// The same for the view of an x of this element type and shape.
  template <class Exec, class X, detail::if_policy<Exec> = 0, detail::if_view_of_rank3<X> = 0>
  detail::outcome_size<Exec> workspace_bytes(Exec const& exec, X const& x) const {
    return workspace_bytes<detail::element_of_rank3<X>>(exec, detail::extents_of(x));
  }

  /// Writes the selected rows of `x` to `values`, and their numbers to `indices` unless it is
  /// `no_saved`.
  template <class Exec, class X, class Y, detail::if_policy<Exec> = 0,
            detail::if_view_of_rank3<Y> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, Y const& values, saved indices,
                                workspace memory = {}, forward_options options = {}) const {
    auto params = params_of(x, indices, options);
    params.values = detail::output<typename decltype(params)::element>(values);
    return call(exec, params, true, indices.saving, memory);
  }
  /// Writes the indices alone.
  template <class Exec, class X, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, no_saved_t, saved indices,
                                workspace memory = {}, forward_options options = {}) const {
    return call(exec, params_of(x, indices, options), false, indices.saving, memory);
  }

  /// `dx[b, indices[b, n, c], c] = dy[b, n, c]` and 0 elsewhere, or `+=` with
  /// `grad_mode::accumulate`. `indices` are the output of forward; they are trusted, not checked.
  template <class Exec, class DY, class DX, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> backward(Exec const& exec, DY const& dy, const_saved indices, DX const& dx,
                                 workspace memory = {},
                                 grad_mode mode = grad_mode::overwrite) const {
    auto const view = detail::input(dy);
    using T = typename decltype(view)::value_type;
    detail::top_k_backward<T> params{view, indices.view, detail::output<T>(dx), mode};
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const source = detail::describe("dy", params.dy, false),
                 rows = detail::describe("indices", params.indices, false),
                 target = detail::describe("dx", params.dx, true);
      c.view(target);
      c.rows_countable(target);
      check_k(c, target);
      check_selected(c, source, target);
      check_selected(c, rows, target);
      c.index_fits(rows, target.extents.length);
    });
  }

  SLICESORT_REFUSE_OTHER_CALLS(
      "(exec, x, values or slicesort::no_saved, indices or slicesort::no_saved, workspace, "
      "options)",
      "(exec, dy, indices, dx, workspace, grad_mode)");

 private:
  using op = detail::top_k_op<Order>;

  template <class X>
  auto params_of(X const& x, saved const& indices, forward_options const& options) const {
    auto const view = detail::input(x);
    detail::top_k_forward<Order, typename decltype(view)::value_type> params{config_};
    params.x = view;
    params.indices = indices.view;
    params.lengths = options.lengths;
    return params;
  }
  template <class Exec, class Params>
  detail::outcome<Exec> call(Exec const& exec, Params const& params, bool stores_values,
                             bool stores_indices, workspace memory) const {
    return detail::call<op>(exec, params, memory, [&](detail::checker& c) {
      auto const source = detail::describe("x", params.x, false),
                 values = detail::describe("values", params.values, true),
                 rows = detail::describe("indices", params.indices, true);
      c.view(source);
      c.rows_countable(source);
      check_k(c, source);
      c.lengths(params.lengths, source.extents.tensor());
      if (stores_values) check_selected(c, values, source);
      if (stores_indices) {
        check_selected(c, rows, source);
        c.index_fits(rows, source.extents.length);
        if (stores_values) c.no_overlap(rows, values);
      }
      c.policy("order", config_.order, source.extents.channels);
    });
  }

  void check_k(detail::checker& c, detail::view_info const& x) const {
    if (config_.k < 0 || config_.k > x.extents.length)
      c.fail(error_kind::argument, "k is %lld, must be in 0..%lld (length of %s)",
             static_cast<long long>(config_.k), static_cast<long long>(x.extents.length), x.name);
  }
  // Checks a tensor of k rows for each column of `x`.
  void check_selected(detail::checker& c, detail::view_info const& v,
                      detail::view_info const& x) const {
    c.view(v);
    if (v.extents.length != config_.k)
      c.fail(error_kind::argument, "%s.length is %lld, must be %lld (k)", v.name,
             static_cast<long long>(v.extents.length), static_cast<long long>(config_.k));
    c.same_extents(v, x.name, {x.extents.batch, config_.k, x.extents.channels});
    c.no_overlap(v, x);
  }

  detail::top_k_config<Order> config_;
};

SLICESORT_OPERATORS_END

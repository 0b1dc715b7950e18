// SPDX-License-Identifier: Apache-2.0
/// Argsort: the permutation that sorts every column, without the sorted values.
#pragma once

#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/slicing_sort/host.hpp>
#include <slicesort/detail/slicing_sort/params.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>

SLICESORT_DETAIL_BEGIN

struct argsort_names {
  static constexpr char const *forward_name = "argsort.forward",
                              *workspace_bytes_name = "argsort.workspace_bytes";
};

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

#define SLICESORT_ARGSORT_HAS_NO_BACKWARD \
  "slicesort: argsort has no backward, because indices have no gradient; slicing_sort has one."

/// `indices[b, n, c]` is the row of `x[b, :, c]` that a sort moves to row `n`, independently for
/// every sample `b` and channel `c`: the permutation of `slicing_sort`, whose values are not
/// written.
///
/// - **Shapes** x, indices: `[batch, length, channels]`, any strides (output strides must not
///   overlap). To sort along any axis of a tensor, name that axis the length.
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`. Indices of
///   `std::uint16_t` (length <= 65536), `std::int32_t` or `std::uint32_t`.
/// - **Order** one total order on bits: -0 == +0; every NaN equal and above +inf; ties keep the
///   lower row first, ascending and descending alike.
/// - **Lengths** only valid rows are sorted; the index of every other row is its own.
/// - **Gradient** none.
/// - **Aliasing** x and indices must not overlap.
/// - **Errors** `invalid_argument`, `workspace_error`; before anything is written.
/// - **Determinism** the same indices for any thread count, instruction set, split and backend.
/// - **Cost** as `slicing_sort` without its output.
///
/// @tparam Order selects the channels that ascend: `ascending`, `descending`, or any other policy
///         of `order.hpp`.
template <class Order = ascending>
class argsort
    : public detail::sized_by_shape<detail::slicing_sort_op<Order>, detail::argsort_names> {
 public:
  constexpr argsort() = default;
  constexpr explicit argsort(Order order) : order_(order) {}

  constexpr Order const& order() const { return order_; }

  /// Writes the sorting permutation of every column of `x` to `indices`.
  template <class Exec, class X, detail::if_policy<Exec> = 0>
  detail::outcome<Exec> forward(Exec const& exec, X const& x, index_tensor3 indices,
                                workspace memory = {}, forward_options options = {}) const {
    auto const view = detail::input(x);
    detail::transfer_forward<op, typename decltype(view)::value_type> params{{order_}};
    params.x = view;
    params.state = indices;
    params.saving = true;
    params.lengths = options.lengths;
    auto const rules = [&](detail::checker& c) {
      auto const source = detail::describe("x", params.x, false),
                 target = detail::describe("indices", indices, true);
      c.view(source);
      c.view(target);
      c.same_extents(target, source.name, source.extents.tensor());
      c.lengths(params.lengths, source.extents.tensor());
      c.rows_countable(source);
      c.index_fits(target, source.extents.length);
      c.no_overlap(target, source);
      c.policy("order", order_, source.extents.channels);
    };
    return detail::call<op>(exec, params, memory, rules, detail::argsort_names::forward_name);
  }

  SLICESORT_REFUSE_OTHER(forward, "forward(exec, x, indices, workspace, options)");
  SLICESORT_REFUSE_ALL(backward, SLICESORT_ARGSORT_HAS_NO_BACKWARD);

 private:
  using op = detail::slicing_sort_op<Order>;

  Order order_{};
};

#undef SLICESORT_ARGSORT_HAS_NO_BACKWARD

SLICESORT_OPERATORS_END

// SPDX-License-Identifier: Apache-2.0
// csp and sinkhorn_csp with element type, tensor rank and policies chosen at run time.
#pragma once

#include "policies/named_order.hpp"
#include "policies/named_shift.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/sinkhorn_csp.hpp>

#include <string>

namespace bindings {

/// Policies of csp as text. `alignment` is an order, or `reference{channel}`.
struct csp_policies {
  std::string groups, shift, alignment;
};

namespace detail {

template <class F>
auto with_csp(csp_policies const& policies, F const& f) {
  named_shift const shift(policies.shift);
  auto const groups = named_grouping(policies.groups);
  auto const& alignment = policies.alignment;
  if (is_reference(alignment))
    return f(ss::csp<named_shift, ss::reference>(groups, shift, named_reference(alignment)));
  return f(ss::csp<named_shift, named_order>(groups, shift, named_order(alignment, "alignment")));
}

}  // namespace detail

/// Shape and dtype of the saved state. With groups of one row nothing is saved, and the array is
/// ignored.
struct csp_state {
  ss::extents3 extents;
  dtype type;
};
inline csp_state saved_csp_state(csp_policies const& policies, ss::extents3 x) {
  return detail::with_csp(policies, [&](auto const& op) -> csp_state {
    auto const width = op.saved_width(x);
    return {op.saved_extents(x), width == ss::index_width::bits8    ? dtype::u8
                                 : width == ss::index_width::bits16 ? dtype::u16
                                                                    : dtype::i32};
  });
}

template <class Call>
void csp(Call& call, csp_policies const& policies, array const& x, array const& y,
         optional_array const& order, optional_array const& lengths) {
  detail::with_csp(policies, [&](auto const& op) {
    with_element(x, [&](auto element) {
      using T = decltype(element);
      auto const x_view = view3<T const>(x);
      op.forward(call.exec, x_view, view3<T>(y), saved_view(order), call.memory,
                 lengths_of(lengths));
    });
  });
}
template <class Call>
void csp_backward(Call& call, csp_policies const& policies, array const& dy, array const& order,
                  array const& dx, optional_array const& lengths) {
  detail::with_csp(policies, [&](auto const& op) {
    with_element(dy, [&](auto element) {
      using T = decltype(element);
      auto const dy_view = view3<T const>(dy);
      op.backward(call.exec, dy_view, index_view(order), view3<T>(dx), call.memory,
                  lengths_of(lengths));
    });
  });
}

/// Policies of sinkhorn_csp as text, and the parameters of Sinkhorn's algorithm.
struct sinkhorn_policies {
  std::string groups, shift;
  double tau;
  index_t iterations, reference;

  ss::sinkhorn_csp<named_shift> op() const {
    return {
        named_grouping(groups), {tau, iterations}, named_shift(shift), ss::reference{reference}};
  }
};

template <class Call>
void sinkhorn_csp(Call& call, sinkhorn_policies const& policies, array const& x, array const& y,
                  optional_array const& lengths) {
  auto const op = policies.op();
  with_float(x, [&](auto element) {
    using T = decltype(element);
    auto const x_view = view3<T const>(x);
    op.forward(call.exec, x_view, view3<T>(y), call.memory, lengths_of(lengths));
  });
}
template <class Call>
void sinkhorn_csp_backward(Call& call, sinkhorn_policies const& policies, array const& dy,
                           array const& x, array const& dx, optional_array const& lengths) {
  auto const op = policies.op();
  with_float(dy, [&](auto element) {
    using T = decltype(element);
    auto const dy_view = view3<T const>(dy);
    op.backward(call.exec, dy_view, view3<T const>(x), view3<T>(dx), call.memory,
                lengths_of(lengths));
  });
}

}  // namespace bindings

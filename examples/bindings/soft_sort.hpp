// SPDX-License-Identifier: Apache-2.0
// soft_sort and soft_rank with element type and regularization chosen at run time.
#pragma once

#include "policies/policy.hpp"

#include <slicesort/soft_sort.hpp>

#include <string>

namespace bindings {

struct soft_sort_settings {
  bool ranks;
  std::string regularization;  // "l2", "kl" or "entropic"
  double strength;
};

namespace detail {

template <class F>
void with_soft_sort(soft_sort_settings const& settings, F const& f) {
  policy const parsed("regularization", settings.regularization, {{"l2"}, {"kl"}, {"entropic"}});
  auto const with_regularization = [&](auto regularization) {
    using R = decltype(regularization);
    if (settings.ranks) return f(ss::soft_rank<R>(settings.strength));
    f(ss::soft_sort<R>(settings.strength));
  };
  if (parsed.alternative() == 0) return with_regularization(ss::regularization::l2{});
  with_regularization(ss::regularization::entropic{});
}

}  // namespace detail

template <class Call>
void soft_sort(Call& call, soft_sort_settings const& settings, array const& x, array const& y,
               array const& perm, array const& pools, optional_array const& lengths) {
  detail::with_soft_sort(settings, [&](auto const& op) {
    with_element(x, [&](auto element) {
      using T = decltype(element);
      auto const x_view = view3<T const>(x);
      op.forward(call.exec, x_view, view3<T>(y), {index_view(perm), index_view(pools)}, call.memory,
                 lengths_of(lengths));
    });
  });
}
template <class Call>
void soft_sort_backward(Call& call, soft_sort_settings const& settings, array const& dy,
                        array const& x, array const& perm, array const& pools, array const& dx,
                        optional_array const& lengths) {
  detail::with_soft_sort(settings, [&](auto const& op) {
    with_element(dy, [&](auto element) {
      using T = decltype(element);
      auto const dy_view = view3<T const>(dy);
      ss::const_saved_pools const state(index_view(perm), index_view(pools));
      op.backward(call.exec, dy_view, view3<T const>(x), state, view3<T>(dx), call.memory,
                  lengths_of(lengths));
    });
  });
}

}  // namespace bindings

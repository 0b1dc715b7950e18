// SPDX-License-Identifier: Apache-2.0
// shuffle with run-time types, ranks and forms.
#pragma once

#include "policy.hpp"

#include <slicesort/shuffle.hpp>

#include <cstdint>
#include <string>

namespace bindings {
namespace detail {

template <class F>
void with_shuffle(index_t seed, std::string const& form, F const& f) {
  policy const parsed("form", form, {{"shared_by_channels"}, {"per_channel"}});
  auto const bits = static_cast<std::uint64_t>(seed);
  if (parsed.form() == 0) return f(ss::shuffle<ss::shared_by_channels>(bits));
  f(ss::shuffle<ss::per_channel>(bits));
}

}  // namespace detail

template <class Call>
void shuffle(Call& call, index_t seed, std::string const& form, array const& x, array const& y,
             optional_array const& lengths) {
  detail::with_shuffle(seed, form, [&](auto const& op) {
    with_element(x, [&](auto zero) {
      using T = decltype(zero);
      auto const x_view = view3<T const>(x);
      op.forward(call.exec, x_view, view3<T>(y), call.memory, lengths_of(lengths));
    });
  });
}
template <class Call>
void shuffle_backward(Call& call, index_t seed, std::string const& form, array const& dy,
                      array const& dx, optional_array const& lengths) {
  detail::with_shuffle(seed, form, [&](auto const& op) {
    with_element(dy, [&](auto zero) {
      using T = decltype(zero);
      auto const dy_view = view3<T const>(dy);
      op.backward(call.exec, dy_view, view3<T>(dx), call.memory, lengths_of(lengths));
    });
  });
}

}  // namespace bindings

// SPDX-License-Identifier: Apache-2.0
// Run-time dispatch for shuffle: element type, tensor rank, and one permutation for all channels or
// one per channel.
#pragma once

#include "policies/policy.hpp"

#include <slicesort/shuffle.hpp>

#include <cstdint>
#include <string>

namespace bindings {
namespace detail {

template <class F>
void with_shuffle(index_t seed, std::string const& sharing, F const& f) {
  policy const parsed("form", sharing, {{"shared_by_channels"}, {"per_channel"}});
  auto const bits = static_cast<std::uint64_t>(seed);
  if (parsed.alternative() == 0) return f(ss::shuffle<ss::shared_by_channels>(bits));
  f(ss::shuffle<ss::per_channel>(bits));
}

}  // namespace detail

template <class Call>
void shuffle(Call& call, index_t seed, std::string const& sharing, array const& x, array const& y,
             optional_array const& lengths) {
  detail::with_shuffle(seed, sharing, [&](auto const& op) {
    with_element(x, [&](auto element) {
      using T = decltype(element);
      auto const x_view = view3<T const>(x);
      op.forward(call.exec, x_view, view3<T>(y), call.memory, lengths_of(lengths));
    });
  });
}
template <class Call>
void shuffle_backward(Call& call, index_t seed, std::string const& sharing, array const& dy,
                      array const& dx, optional_array const& lengths) {
  detail::with_shuffle(seed, sharing, [&](auto const& op) {
    with_element(dy, [&](auto element) {
      using T = decltype(element);
      auto const dy_view = view3<T const>(dy);
      op.backward(call.exec, dy_view, view3<T>(dx), call.memory, lengths_of(lengths));
    });
  });
}

}  // namespace bindings

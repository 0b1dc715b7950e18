// SPDX-License-Identifier: Apache-2.0
/// Alignment policies: in which order CSP puts the rows of a group. Semantic policies. An alignment
/// is either an order policy (`order.hpp`: `ascending`, which is what the published code does,
/// `descending`, .. or a type of yours), which sorts every group; or `reference`, or a type of
/// yours with `index_t reference_channel(index_t channels) const`, whose groups take the order of
/// one channel's.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace v0 {

/// In every group the rows of each channel take the order of channel `channel`'s rows, which
/// themselves stay (CSP, eq. 5): `out[n] = sorted(w)[rank of v_channel[n] in its group]`, the
/// optimal-transport matching of the two.
struct reference {
  index_t channel = 0;

  constexpr index_t reference_channel(index_t) const { return channel; }
  constexpr char const* validate(index_t channels) const {
    return 0 <= channel && (channel < channels || channels == 0)
               ? nullptr
               : "reference: channel must be one of the channels";
  }
};

namespace detail {

// Whether an alignment follows a channel: `index_t reference_channel(index_t channels) const`.
template <class Alignment, class = void>
inline constexpr bool follows_reference = false;
template <class Alignment>
inline constexpr bool follows_reference<
    Alignment,
    std::enable_if_t<std::is_convertible_v<
        decltype(std::declval<Alignment const&>().reference_channel(index_t{})), index_t>>> = true;

}  // namespace detail
}  // namespace v0
}  // namespace slicesort

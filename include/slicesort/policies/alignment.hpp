// SPDX-License-Identifier: Apache-2.0
/// Alignment policies (semantic): order of the rows in a CSP group. An order policy (`order.hpp`)
/// sorts every group: `ascending` (like the published code), `descending`, ... or a user-defined
/// type. `reference`, or a user-defined type with
/// `index_t reference_channel(index_t channels) const`, gives every group the order of one channel.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// In each group, every channel takes the row order of channel `channel`, which itself stays
/// unchanged (CSP, eq. 5): `out[n] = sorted(w)[rank of v_channel[n] in its group]`. This is the
/// optimal-transport matching of the two channels.
///
/// - **Errors** `invalid_argument` unless `channel` is one of the channels.
struct reference {
  index_t channel = 0;

  SLICESORT_ABI_TAG constexpr index_t reference_channel(index_t) const { return channel; }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t channels) const {
    return 0 <= channel && (channel < channels || channels == 0)
               ? nullptr
               : "reference: channel must be one of the channels";
  }
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// True if an alignment follows a channel: `index_t reference_channel(index_t channels) const`.
template <class Alignment, class = void>
inline constexpr bool follows_reference = false;
template <class Alignment>
inline constexpr bool follows_reference<
    Alignment,
    std::enable_if_t<std::is_convertible_v<
        decltype(std::declval<Alignment const&>().reference_channel(index_t{})), index_t>>> = true;

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
/// Order policies (semantic): select the channels that sorting operators sort in ascending order. A
/// user-defined policy is any copyable type with
/// `bool ascending(index_t channel, index_t channels) const`. It may add
/// `char const* validate(index_t channels) const`, which returns null or the error of its
/// parameters. No policy may throw, and its results must not change during a call.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Computes a * b modulo m, for a and b in 0..m-1 and m up to 2^62. No product overflows.
SLICESORT_HD constexpr index_t product_modulo(index_t a, index_t b, index_t m) {
  index_t sum = 0;
  for (; b > 0; b /= 2) {
    if (b % 2 == 1) sum = sum >= m - a ? sum - (m - a) : sum + a;
    a = a >= m - a ? a - (m - a) : a + a;
  }
  return sum;
}

// Computes a * 2^k modulo m, for a in 0..m-1, m in 2..2^62 and k >= 0, in a few steps per bit of k.
SLICESORT_HD constexpr index_t doubled_modulo(index_t a, index_t k, index_t m) {
  constexpr index_t max_doublings = 64;
  for (; 0 < k && k <= max_doublings; --k) a = a >= m - a ? a - (m - a) : a + a;
  for (index_t power = 2 % m; k > 0; k /= 2) {
    if (k % 2 == 1) a = product_modulo(a, power, m);
    power = product_modulo(power, power, m);
  }
  return a;
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// Every channel ascends.
struct ascending {};

/// Every channel descends: NaN first; ties keep the lower source row first, as in `ascending`.
struct descending {};

/// In each head of `channels / heads` channels, the first `floor(channels / heads / 2)` ascend and
/// the others descend. `channels` must be a multiple of `heads`.
///
/// - **Errors** `invalid_argument` unless `heads` is at least 1 and divides the channels.
struct half_half {
  index_t heads = 1;

  SLICESORT_HD_ABI_TAG constexpr bool ascending(index_t channel, index_t channels) const {
    index_t const per_head = channels / heads;
    return channel % per_head < per_head / 2;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t channels) const {
    return heads >= 1 && channels % heads == 0 ? nullptr
                                               : "half_half: channels must be a multiple of heads";
  }
};

/// Order-interleave of Sliceformer (eq. 5 and 6): with `layer` in `1..layers` and the column
/// `i = channel + 1`, `(q, r) = divmod(2^(layers-layer) * i, channels)`; descending if and only if
/// `q` is odd and `r != 0`. Computed exactly in integers, without the sine of eq. 6.
///
/// - **Errors** `invalid_argument` unless `layer` is in 1..layers.
struct interleave {
  index_t layer = 1;
  index_t layers = 1;

  SLICESORT_HD_ABI_TAG constexpr bool ascending(index_t channel, index_t channels) const {
    // q mod 2 and r follow from 2^k * i mod 2 * channels.
    index_t const period = 2 * channels;
    return detail::doubled_modulo((channel + 1) % period, layers - layer, period) <= channels;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return layer >= 1 && layer <= layers ? nullptr : "interleave: layer must be in 1..layers";
  }
};

/// The published code's Haar form: in each head of `D = channels / heads` channels, blocks of
/// `w = max(1, D >> level)` alternate, and the odd blocks descend. If `level > 0`, so do all
/// channels from (last descending + w) to the end of the head. `channels` must be a multiple of
/// `heads`.
///
/// - **Errors** `invalid_argument` unless `level` is at least 0, and `heads` is at least 1 and
///   divides the channels.
struct haar_interleave {
  index_t level = 0;
  index_t heads = 1;

  SLICESORT_HD_ABI_TAG constexpr bool ascending(index_t channel, index_t channels) const {
    index_t const per_head = channels / heads;
    index_t const head_channel = channel % per_head;
    index_t const shifted = level < 63 ? per_head >> level : 0;
    index_t const width = shifted > 1 ? shifted : 1;
    index_t const pairs = per_head / (2 * width);  // whole (ascending, descending) pairs of blocks
    if (head_channel < pairs * 2 * width) return (head_channel / width) % 2 == 0;
    // The last descending channel is pairs * 2 * width - 1; the tail descends from one width later.
    return !(level > 0 && pairs > 0 && head_channel >= pairs * 2 * width - 1 + width);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t channels) const {
    if (level < 0) return "haar_interleave: level must not be negative";
    return heads >= 1 && channels % heads == 0
               ? nullptr
               : "haar_interleave: channels must be a multiple of heads";
  }
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <class Order, class = void>
inline constexpr bool has_ascending = false;
template <class Order>
inline constexpr bool has_ascending<
    Order, std::enable_if_t<std::is_convertible_v<
               decltype(std::declval<Order const&>().ascending(index_t{}, index_t{})), bool>>> =
    true;

SLICESORT_HD constexpr bool ascends(ascending, index_t, index_t) { return true; }
SLICESORT_HD constexpr bool ascends(descending, index_t, index_t) { return false; }
template <class Order>
SLICESORT_HD constexpr bool ascends(Order const& order, index_t channel, index_t channels) {
  static_assert(has_ascending<Order>,
                "slicesort: an order policy needs `bool ascending(index_t channel, index_t "
                "channels) const`.");
  return order.ascending(channel, channels);
}

// True if a policy validates the number of channels: `char const* validate(index_t channels) const`
// returns null, or the error of its parameters.
template <class Order, class = void>
inline constexpr bool has_validate = false;
template <class Order>
inline constexpr bool
    has_validate<Order, decltype(void(std::declval<Order const&>().validate(index_t{})))> = true;

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
/// Shift policies (semantic): number of rows by which CSP moves each channel down,
/// `w[n] = v[(n - J_c) mod length]` (CSP, eq. 3; page `csp.md` lists where paper and published code
/// differ). A user-defined policy is any copyable type with
/// `index_t shift(index_t channel, index_t channels, index_t length) const`. It may add
/// `char const* validate(index_t channels) const`, which returns null or the error of its
/// parameters. `length` is the length of the tensor. The result may be any integer and is taken
/// modulo the sample's length. Shifts are computed on the host, once per call, also for
/// `exec::cuda`.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Computes base^exponent for base >= 1, or any value above `limit` if the power exceeds it.
constexpr index_t bounded_power(index_t base, index_t exponent, index_t limit) {
  if (base == 1) return 1;
  index_t power = 1;
  for (; exponent > 0 && power <= limit; --exponent) {
    if (power > limit / base) return limit + 1;
    power *= base;
  }
  return power;
}

// True if a * b <= limit; requires values >= 0.
constexpr bool product_at_most(index_t a, index_t b, index_t limit) {
  return b == 0 || a <= limit / b;
}
// Doubles represent all integers up to this one exactly.
inline constexpr index_t exact_in_double = index_t{1} << 53;

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

namespace shift {

/// No channel moves.
struct none {
  SLICESORT_ABI_TAG constexpr index_t shift(index_t, index_t, index_t) const { return 0; }
};

/// `(c + 1) * ceil(length / channels) mod length` (CSP, section 3.1).
struct linear {
  SLICESORT_ABI_TAG constexpr index_t shift(index_t channel, index_t channels,
                                            index_t length) const {
    index_t const step = (length + channels - 1) / channels;
    return length == 0 ? 0 : (channel + 1) * step % length;
  }
};

/// 0 for channel 0, else `step * (c - 1) mod length` (published code, where `step` is the group
/// size 2).
///
/// - **Errors** `invalid_argument` unless `step` is at least 0.
struct linear_step {
  index_t step = 2;

  SLICESORT_ABI_TAG constexpr index_t shift(index_t channel, index_t, index_t length) const {
    return channel == 0 || length == 0 ? 0 : step % length * ((channel - 1) % length) % length;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return step >= 0 ? nullptr : "linear_step: step must not be negative";
  }
};

/// `channels * floor(c / D) / D mod length` with `D = channels / heads` (CSP, eq. 3 for multi-head
/// attention): all channels of a head move by the same number of rows, `heads` more than in the
/// previous head.
///
/// - **Errors** `invalid_argument` unless `heads` is at least 1 and divides the channels.
struct per_head {
  index_t heads = 1;

  SLICESORT_ABI_TAG constexpr index_t shift(index_t channel, index_t channels,
                                            index_t length) const {
    if (length == 0) return 0;
    index_t const head = channel / (channels / heads);
    return heads % length * (head % length) % length;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t channels) const {
    return heads >= 1 && channels % heads == 0 ? nullptr
                                               : "per_head: channels must be a multiple of heads";
  }
};

/// `c mod length` (CSP, table 1).
struct modular {
  SLICESORT_ABI_TAG constexpr index_t shift(index_t channel, index_t, index_t length) const {
    return length == 0 ? 0 : channel % length;
  }
};

/// `round(length^(t / (layers * channels - 1))) - 1` with `t = layer * channels + c`, `layer` in
/// `0..layers-1`: the paper's `J^(c-1) - 1` with a real J, from 0 in the first channel of the first
/// layer to `length - 1` in the last channel of the last. `layers * channels` is at most 2^53.
///
/// - **Errors** `invalid_argument` unless `layer` is in 0..layers-1, and `layers * channels` at
///   most 2^53.
struct power {
  index_t layer = 0;
  index_t layers = 1;

  SLICESORT_ABI_TAG index_t shift(index_t channel, index_t channels, index_t length) const {
    index_t const last = layers * channels - 1, t = layer * channels + channel;
    if (length == 0 || last == 0) return 0;
    double const exponent = static_cast<double>(t) / static_cast<double>(last);
    return static_cast<index_t>(std::round(std::pow(static_cast<double>(length), exponent))) - 1;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t channels) const {
    if (layer < 0 || layer >= layers) return "power: layer must be in 0..layers-1";
    return detail::product_at_most(layers, channels, detail::exact_in_double)
               ? nullptr
               : "power: layers * channels must be at most 2^53";
  }
};

/// `ceil(length^(t / (layers * channels)))` with `t = layer * channels + c`, `layer` in
/// `0..layers-1` (published code). `layers * channels` is at most 2^53.
///
/// - **Errors** `invalid_argument` unless `layer` is in 0..layers-1, and `layers * channels` at
///   most 2^53.
struct power_ceil {
  index_t layer = 0;
  index_t layers = 1;

  SLICESORT_ABI_TAG index_t shift(index_t channel, index_t channels, index_t length) const {
    if (length == 0) return 0;
    index_t const t = layer * channels + channel, total = layers * channels;
    index_t const divisor = std::gcd(t, total), numerator = t / divisor, root = total / divisor;
    auto const length_value = static_cast<double>(length);
    // The result is an integer only if `length` is a perfect power. In that case rounding must not
    // raise it to the next integer.
    auto const base =
        static_cast<index_t>(std::llround(std::pow(length_value, 1.0 / static_cast<double>(root))));
    if (detail::bounded_power(base, root, length) == length)
      return detail::bounded_power(base, numerator, length);
    return static_cast<index_t>(std::ceil(
        std::pow(length_value, static_cast<double>(numerator) / static_cast<double>(root))));
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t channels) const {
    if (layer < 0 || layer >= layers) return "power_ceil: layer must be in 0..layers-1";
    return detail::product_at_most(layers, channels, detail::exact_in_double)
               ? nullptr
               : "power_ceil: layers * channels must be at most 2^53";
  }
};

/// User-supplied shifts, `[channels]` of `std::int32_t`, possibly negative. They must be in host
/// memory, also for `exec::cuda`, and are read during the call.
///
/// - **Errors** `invalid_argument` unless there is one shift for every channel.
struct table {
  tensor1<std::int32_t const> shifts;

  SLICESORT_ABI_TAG constexpr index_t shift(index_t channel, index_t, index_t) const {
    return shifts(channel);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t channels) const {
    return shifts.size() == channels && (shifts.data() != nullptr || channels == 0)
               ? nullptr
               : "table: there must be one shift for every channel";
  }
};

}  // namespace shift

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <class Shift, class = void>
inline constexpr bool has_shift = false;
template <class Shift>
inline constexpr bool has_shift<
    Shift,
    std::enable_if_t<std::is_convertible_v<
        decltype(std::declval<Shift const&>().shift(index_t{}, index_t{}, index_t{})), index_t>>> =
    true;

template <class Policy>
using is_shift = std::bool_constant<has_shift<Policy>>;
template <class Policy>
using is_no_shift = std::bool_constant<!has_shift<Policy>>;

SLICESORT_DETAIL_END

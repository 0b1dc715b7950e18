// SPDX-License-Identifier: Apache-2.0
// Baselines of csp: code that a good programmer would write without this library.
#pragma once

#include "host/baselines.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bench {

// Columns of one sample. Groups of one row save nothing. Pairs save one bit, longer groups an index
// per row.
struct csp_columns {
  std::size_t rows, channels, group;
  std::size_t const* shifts;  // per channel, less than `rows`
  bool is_aligned;            // groups take the order of channel 0

  // The row of x at row n of channel c after the shift.
  std::size_t source(std::size_t n, std::size_t c) const {
    return n >= shifts[c] ? n - shifts[c] : n + rows - shifts[c];
  }
};

// Item of the baseline of slicing_sort, which has no 8-bit rows.
template <class T, class Index>
using group_item = smallest_item<T, std::conditional_t<sizeof(Index) == 1, std::uint16_t, Index>>;

constexpr std::size_t round_up_to_16(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

template <class T, class Index>
constexpr std::size_t group_sort_scratch_bytes(std::size_t group) {
  return round_up_to_16(group * sizeof(group_item<T, Index>)) + round_up_to_16(group * sizeof(T)) +
         group * sizeof(std::uint32_t);
}

// Shifts without sorting.
template <class T>
void naive_shift(T const* x, T* y, csp_columns const& columns, std::size_t first,
                 std::size_t last) {
  for (std::size_t n = 0; n < columns.rows; ++n)
    for (std::size_t c = first; c < last; ++c)
      y[n * columns.channels + c] = x[columns.source(n, c) * columns.channels + c];
}

// Orders pairs by one comparison each.
template <class T, class Index>
void naive_pairs(T const* x, T* y, Index* order, csp_columns const& columns, std::size_t first,
                 std::size_t last) {
  auto const key = [](T value) { return ss::detail::ordered_key(value, true); };
  for (std::size_t n = 0; n < columns.rows; n += 2)
    for (std::size_t c = first; c < last; ++c) {
      T const upper = x[columns.source(n, c) * columns.channels + c];
      bool is_swapped = false;
      if (n + 1 == columns.rows) {
        y[n * columns.channels + c] = upper;
      } else {
        T const lower = x[columns.source(n + 1, c) * columns.channels + c];
        bool const is_descending =
            columns.is_aligned && key(x[(n + 1) * columns.channels]) < key(x[n * columns.channels]);
        is_swapped = is_descending ? !(key(lower) < key(upper)) : key(lower) < key(upper);
        y[n * columns.channels + c] = is_swapped ? lower : upper;
        y[(n + 1) * columns.channels + c] = is_swapped ? upper : lower;
      }
      if (order == nullptr) continue;
      Index& byte = order[n / 16 * columns.channels + c];
      byte = static_cast<Index>((n % 16 == 0 ? 0u : byte) | static_cast<unsigned>(is_swapped)
                                                                << n / 2 % 8);
    }
}

// Sorts every group of channels [first, last) by std::sort and stores values and rows in order, or
// in the order of channel 0. Loops over channels inside a group, because the opposite order takes
// up to twice as long. `order` may be null.
template <class T, class Index>
void std_sort_groups(T const* x, T* y, Index* order, csp_columns const& columns, std::size_t first,
                     std::size_t last, unsigned char* scratch) {
  using item = group_item<T, Index>;
  item* const items = reinterpret_cast<item*>(scratch);
  T* const values = reinterpret_cast<T*>(scratch + round_up_to_16(columns.group * sizeof(item)));
  auto* const destinations = reinterpret_cast<std::uint32_t*>(
      reinterpret_cast<unsigned char*>(values) + round_up_to_16(columns.group * sizeof(T)));
  for (std::size_t start = 0; start < columns.rows; start += columns.group) {
    std::size_t const size = std::min(columns.group, columns.rows - start);
    auto const sort_group = [&](std::size_t c) {
      std::size_t row = columns.source(start, c);
      for (std::size_t i = 0; i < size; ++i) {
        values[i] = x[row * columns.channels + c];
        items[i] = item::make(ss::detail::ordered_key(values[i], true), i);
        if (++row == columns.rows) row = 0;
      }
      std::sort(items, items + size);
    };
    for (std::size_t i = 0; i < size; ++i) destinations[i] = static_cast<std::uint32_t>(i);
    if (columns.is_aligned) {
      sort_group(0);
      for (std::size_t i = 0; i < size; ++i)
        destinations[i] = static_cast<std::uint32_t>(items[i].row());
    }
    for (std::size_t c = first; c < last; ++c) {
      sort_group(c);
      for (std::size_t i = 0; i < size; ++i) {
        std::size_t const row = items[i].row(),
                          target = (start + destinations[i]) * columns.channels + c;
        y[target] = values[row];
        if (order != nullptr) order[target] = static_cast<Index>(row);
      }
    }
  }
}

// Backward as a scatter in two nested loops over rows and channels.
template <class T, class Index>
void naive_scatter_groups(T const* dy, Index const* order, T* dx, csp_columns const& columns,
                          std::size_t first, std::size_t last) {
  for (std::size_t n = 0; n < columns.rows; ++n)
    for (std::size_t c = first; c < last; ++c) {
      std::size_t row = n;
      if (columns.group == 2)
        row = n ^ (order[n / 16 * columns.channels + c] >> n / 2 % 8 & 1u);
      else if (columns.group > 2)
        row = n / columns.group * columns.group + order[n * columns.channels + c];
      dx[columns.source(row, c) * columns.channels + c] = dy[n * columns.channels + c];
    }
}

}  // namespace bench

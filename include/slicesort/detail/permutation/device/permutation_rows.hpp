// SPDX-License-Identifier: Apache-2.0
// Permutations of all columns, for the permute kernels. `column_at` selects the permutation of a
// column, which returns the index of one row or iterates over several.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class Index>
struct permutation_rows {
  Index const* data;
  strides3 strides;

  struct column {
    Index const* data;
    index_t stride;

    SLICESORT_HD_INLINE index_t operator[](index_t row) const {
      return static_cast<index_t>(data[row * stride]);
    }
    // Iterates over the indices of `rows`, which must not be empty.
    SLICESORT_HD_INLINE row_iterator<Index const> walk(row_range rows) const {
      return walk_rows(data, stride, 0, rows);
    }
  };
  SLICESORT_HD_INLINE column column_at(column_index index) const {
    return {data + index.batch * strides.batch + index.channel * strides.channels, strides.length};
  }
};

// Calls f(permutation) with the permutation's index type.
template <class F>
void with_row_numbers(index_rows rows, F const& f) {
  if (rows.is_16_bit)
    f(permutation_rows<std::uint16_t>{static_cast<std::uint16_t const*>(rows.data), rows.strides});
  else
    f(permutation_rows<std::uint32_t>{static_cast<std::uint32_t const*>(rows.data), rows.strides});
}

SLICESORT_DETAIL_END

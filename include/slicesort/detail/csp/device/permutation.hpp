// SPDX-License-Identifier: Apache-2.0
// The permutation of csp for the permute kernels (see permutation_rows.hpp): a saved order of
// groups, then the shift.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// The forms of a saved order.
struct no_order {};        // groups of one row
struct order_of_pairs {};  // one bit a pair
struct order_of_bytes {};  // 8 bits a row
struct order_of_any_size {};

template <class Kind>
struct csp_rows {
  csp_groups groups;
  group_rows order;

  struct column {
    csp_column rows;
    csp_groups const& groups;
    std::conditional_t<std::is_same_v<Kind, order_of_any_size>, any_group_column,
                       group_column<std::uint8_t const>>
        saved;

    // The row of x that becomes row `row` of y. Even a corrupt order stays inside the column.
    SLICESORT_HD_INLINE index_t operator[](index_t row) const {
      auto const n = static_cast<std::uint32_t>(row);
      std::uint32_t m = n;
      if (n < rows.valid) {
        if constexpr (std::is_same_v<Kind, order_of_pairs>)
          m ^= saved[n / 16] >> (n / 2 % 8) & 1u;
        else if constexpr (!std::is_same_v<Kind, no_order>)
          m = groups.first_of(n) + saved[n];
        if (m >= rows.valid) m = rows.valid - 1;
      }
      return static_cast<index_t>(rows.source(m));
    }
    SLICESORT_HD_INLINE indexed_walk<column> walk(row_range at) const {
      return {*this, at.first, at.step};
    }
  };
  SLICESORT_HD_INLINE column open(column_index at) const {
    return {groups.column(at), groups, {order, at}};
  }
};

SLICESORT_DETAIL_END

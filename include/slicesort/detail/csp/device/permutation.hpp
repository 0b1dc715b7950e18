// SPDX-License-Identifier: Apache-2.0
// Permutation of csp for the permute kernels (see permutation_rows.hpp): the saved order of the
// groups, then the shift.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

struct no_order {};           // groups of one row
struct order_of_pairs {};     // 1 bit per pair
struct order_of_bytes {};     // 8 bits per row
struct order_of_any_size {};  // 16 or 32 bits per row, known at run time

template <class Kind>
struct csp_rows {
  csp_groups groups;
  order_tensor order;

  struct column {
    csp_column shifted;
    csp_groups const& groups;
    std::conditional_t<std::is_same_v<Kind, order_of_any_size>, untyped_order_column,
                       order_column<std::uint8_t const>>
        saved;

    // Returns the source of row `row` of y. Even a corrupt order stays inside the column.
    SLICESORT_HD_INLINE index_t operator[](index_t row) const {
      auto const n = static_cast<std::uint32_t>(row);
      std::uint32_t source = n;
      if (n < shifted.valid) {
        if constexpr (std::is_same_v<Kind, order_of_pairs>)
          source ^= saved[n / 16] >> (n / 2 % 8) & 1u;
        else if constexpr (!std::is_same_v<Kind, no_order>)
          source = groups.group_start(n) + saved[n];
        if (source >= shifted.valid) source = shifted.valid - 1;
      }
      return static_cast<index_t>(shifted.source(source));
    }
    SLICESORT_HD_INLINE indexed_iterator<column> walk(row_range range) const {
      return {*this, range.first, range.step};
    }
  };
  SLICESORT_HD_INLINE column column_at(column_index index) const {
    return {groups.column(index), groups, {order, index}};
  }
};

SLICESORT_DETAIL_END

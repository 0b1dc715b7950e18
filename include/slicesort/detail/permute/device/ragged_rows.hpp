// SPDX-License-Identifier: Apache-2.0
// The permutations of samples with lengths, as the permute kernels read them: rows past a length
// stay where they are, whatever is stored for them.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/permutation/device/permutation_rows.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class Index>
struct ragged_rows {
  permutation_rows<Index> perm;
  tensor1<index_t const> lengths;
  index_t length;

  struct column {
    typename permutation_rows<Index>::column perm;
    index_t valid;

    SLICESORT_HD_INLINE index_t operator[](index_t row) const {
      return row < valid ? perm[row] : row;
    }
    SLICESORT_HD_INLINE indexed_walk<column> walk(row_range rows) const {
      return {*this, rows.first, rows.step};
    }
  };
  SLICESORT_HD_INLINE column open(column_index at) const {
    return {perm.open(at), rows_of(lengths, at.batch, length)};
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// View of a tensor's columns for the sort kernels. Kernels are templates of a *view*: columns_view,
// or another class with the same members (csp's groups_view). `locate` converts the flat number of
// a column to a column index; the other members access that column.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T, class Order>
struct columns_view {
  using element = T;
  static constexpr bool in_registers = true;  // short columns are sorted in registers

  Order order;
  tensor3<T const> x;
  tensor3<T> y;     // may be x; null: not written
  index_rows perm;  // null: not written
  tensor1<index_t const> lengths;

  SLICESORT_HD index_t columns() const { return x.extents().batch * x.extents().channels; }
  SLICESORT_HD index_t length() const { return x.extents().length; }  // longest column
  SLICESORT_HD bool rows_adjacent() const { return x.strides().length == 1; }
  SLICESORT_HD bool needs_values() const { return y.data() != nullptr; }
  SLICESORT_HD bool needs_rows() const { return perm.is_present(); }

  using column_index = detail::column_index;
  SLICESORT_HD column_index locate(index_t column_number) const {
    return column_index_of(column_number, x.extents().channels);
  }
  SLICESORT_HD index_t rows(column_index) const { return length(); }
  SLICESORT_HD index_t valid(column_index column) const {
    return valid_rows(lengths, column.batch, length());
  }
  SLICESORT_HD bool ascending(column_index column) const {
    return ascends(order, column.channel, x.extents().channels);
  }
  // Input of a column, its sorted output, and the source row of each output row. Padding rows are
  // copied unchanged.
  SLICESORT_HD column_of<T const> values(column_index column) const { return {x, column}; }
  SLICESORT_HD column_of<T> results(column_index column) const { return {y, column}; }
  SLICESORT_HD index_column source_rows(column_index column) const { return {perm, column}; }
};

// Sorted runs of columns too long for shared memory, in the workspace: [columns, length].
template <class T>
struct sorted_runs {
  T* values = nullptr;
  std::uint32_t* rows = nullptr;  // null if the permutation is not saved
  index_t length = 0;

  SLICESORT_HD index_t offset(index_t column) const { return column * length; }
};

SLICESORT_DETAIL_END

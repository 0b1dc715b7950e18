// SPDX-License-Identifier: Apache-2.0
// The columns of a tensor as the sort kernels see them. A kernel is a template of a *view*:
// columns_view, or another class with the same members (csp's groups_view). Columns are numbered;
// `locate` finds one, and the other members read and write it by its index.
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
  static constexpr bool in_registers = true;  // short ones are sorted in registers

  Order order;
  tensor3<T const> x;
  tensor3<T> y;     // may be x; without data, values are not written
  index_rows perm;  // without data, the permutation is not written
  tensor1<index_t const> lengths;

  SLICESORT_HD index_t columns() const { return x.extents().batch * x.extents().channels; }
  SLICESORT_HD index_t length() const { return x.extents().length; }  // of the longest column
  SLICESORT_HD bool rows_adjacent() const { return x.strides().length == 1; }
  SLICESORT_HD bool needs_values() const { return y.data() != nullptr; }
  SLICESORT_HD bool needs_rows() const { return perm.present(); }

  using column_index = detail::column_index;
  SLICESORT_HD column_index locate(index_t number) const {
    return column_index_of(number, x.extents().channels);
  }
  SLICESORT_HD index_t rows(column_index) const { return length(); }
  SLICESORT_HD index_t valid(column_index at) const {
    return valid_rows(lengths, at.batch, length());
  }
  SLICESORT_HD bool ascending(column_index at) const {
    return ascends(order, at.channel, x.extents().channels);
  }
  // A column's input, its output in sorted order, and the source row of each output. Rows past the
  // valid ones are read and written too: they keep their places.
  SLICESORT_HD column_of<T const> values(column_index at) const { return {x, at}; }
  SLICESORT_HD column_of<T> results(column_index at) const { return {y, at}; }
  SLICESORT_HD index_column numbers(column_index at) const { return {perm, at}; }
};

// The sorted runs of columns that are too long for shared memory, in the workspace. Each column is
// contiguous: [columns, length].
template <class T>
struct sorted_runs {
  T* values = nullptr;
  std::uint32_t* rows = nullptr;  // null: not kept
  index_t length = 0;

  SLICESORT_HD index_t offset(index_t column) const { return column * length; }
};

SLICESORT_DETAIL_END

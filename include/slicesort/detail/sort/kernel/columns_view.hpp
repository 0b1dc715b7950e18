// SPDX-License-Identifier: Apache-2.0
// What sorting columns takes and gives. The kernels sort the columns of a *job*, this one or another of
// the same members (groups_view.hpp): they are numbered, and one is found, read and written by its place.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/order.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class T, class Order>
struct columns_view {
  using element = T;

  Order order;
  tensor3<T const> x;
  tensor3<T> y;     // no data: values are not wanted; may be x
  index_rows perm;  // no data: the permutation is not wanted
  tensor1<index_t const> lengths;

  SLICESORT_HD index_t columns() const { return x.extents().batch * x.extents().channels; }
  SLICESORT_HD index_t length() const { return x.extents().length; }  // the most rows of a column
  SLICESORT_HD bool rows_adjacent() const { return x.strides().length == 1; }
  SLICESORT_HD bool needs_values() const { return y.data() != nullptr; }
  SLICESORT_HD bool needs_rows() const { return perm.present(); }

  using place = column_place;
  SLICESORT_HD place locate(index_t number) const { return place_of(number, x.extents().channels); }
  SLICESORT_HD index_t rows(place) const { return length(); }
  SLICESORT_HD index_t valid(place at) const { return rows_of(lengths, at.batch, length()); }
  SLICESORT_HD bool ascending(place at) const {
    return detail::ascends(order, at.channel, x.extents().channels);
  }
  // The column's values; its results, and the row that each was, in sorted order. Rows past the valid
  // ones are read and written too: they stay.
  SLICESORT_HD column_of<T const> values(place at) const { return {x, at}; }
  SLICESORT_HD column_of<T> results(place at) const { return {y, at}; }
  SLICESORT_HD index_column numbers(place at) const { return {perm, at}; }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

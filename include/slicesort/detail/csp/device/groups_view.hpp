// SPDX-License-Identifier: Apache-2.0
// The groups of csp as columns for the sort kernels (see columns_view.hpp). Every group of every
// channel of every sample is a column, and groups of neighboring channels are neighbors.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T>
struct groups_view {
  using element = T;
  static constexpr bool in_registers = false;  // short groups have kernels of their own

  csp_groups groups;
  tensor3<T const> x;
  tensor3<T> y;      // without data, values are not written
  group_rows order;  // without data, the order is not written
  group_rows
      destinations;  // the order of every sample's reference; without data, groups come out sorted

  struct column_index {
    detail::column_index of;
    index_t first;  // row of the group
  };
  SLICESORT_HD index_t columns() const {
    return groups.extents.batch * groups.count() * groups.extents.channels;
  }
  SLICESORT_HD index_t length() const { return groups.group; }
  SLICESORT_HD bool rows_adjacent() const { return x.strides().length == 1; }
  SLICESORT_HD bool needs_values() const { return y.data() != nullptr; }
  SLICESORT_HD bool needs_rows() const { return order.present(); }

  SLICESORT_HD column_index locate(index_t number) const {
    index_t const of_all = number / groups.extents.channels, batch = of_all / groups.count();
    return {{batch, number - of_all * groups.extents.channels},
            (of_all - batch * groups.count()) * groups.group};
  }
  SLICESORT_HD index_t rows(column_index at) const {
    index_t const left = groups.extents.length - at.first;
    return left < groups.group ? left : groups.group;
  }
  SLICESORT_HD index_t valid(column_index at) const {
    index_t const left = rows_of(groups.lengths, at.of.batch, groups.extents.length) - at.first;
    return left < 0 ? 0 : left < groups.group ? left : groups.group;
  }
  SLICESORT_HD bool ascending(column_index at) const { return groups.column(at.of).ascending; }

  // The group's values after the shift.
  struct reader {
    column_of<T const> x;
    csp_column column;
    std::uint32_t first;

    SLICESORT_HD_INLINE T const& operator[](index_t row) const {
      return x[column.source(first + static_cast<std::uint32_t>(row))];
    }
    SLICESORT_HD_INLINE indexed_walk<reader> walk(index_t start, row_range rows) const {
      return {*this, start + rows.first, rows.step};
    }
  };
  SLICESORT_HD reader values(column_index at) const {
    return {column_of<T const>(x, at.of), groups.column(at.of),
            static_cast<std::uint32_t>(at.first)};
  }

  // The destination of the k-th smallest row of the group. Rows past the valid ones stay in place.
  struct target {
    any_group_column destinations;
    bool aligned;
    index_t first, valid;

    SLICESORT_HD target(groups_view const& view, column_index at)
        : destinations(view.destinations, {at.of.batch, 0}),
          aligned(view.destinations.present()),
          first(at.first),
          valid(view.valid(at)) {}
    SLICESORT_HD_INLINE index_t operator()(index_t k) const {
      return first + (aligned && k < valid ? static_cast<index_t>(destinations[first + k]) : k);
    }
  };
  struct writer {
    column_of<T> y;
    target to;
    SLICESORT_HD_INLINE T& operator[](index_t k) const { return y[to(k)]; }
    SLICESORT_HD_INLINE indexed_walk<writer> walk(index_t start, row_range rows) const {
      return {*this, start + rows.first, rows.step};
    }
  };
  SLICESORT_HD writer results(column_index at) const {
    return {column_of<T>(y, at.of), target(*this, at)};
  }
  struct row_writer {
    any_group_column order;
    target to;
    SLICESORT_HD_INLINE void set(index_t k, std::uint32_t row) const { order.set(to(k), row); }
    template <int Count, class Number>
    SLICESORT_HD_INLINE void set_rows(index_t start, row_range rows, Number const& number) const {
      copy_rows<Count>(rows, number, [&](int n, std::uint32_t row) { set(start + n, row); });
    }
  };
  SLICESORT_HD row_writer source_rows(column_index at) const {
    return {any_group_column(order, at.of), target(*this, at)};
  }
};

SLICESORT_DETAIL_END

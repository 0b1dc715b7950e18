// SPDX-License-Identifier: Apache-2.0
// Groups of csp as columns for the sort kernels (see columns_view.hpp). A column is one group of
// one channel of one sample. Groups of neighboring channels are neighboring columns.
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
  static constexpr bool in_registers = false;  // short groups have separate kernels

  csp_groups groups;
  tensor3<T const> x;
  tensor3<T> y;      // null: not written
  group_rows order;  // null: not written
  // Order of the reference of every sample. If null, groups are stored sorted.
  group_rows destinations;

  struct column_index {
    detail::column_index column;
    index_t first;  // first row of the group
  };
  SLICESORT_HD index_t columns() const {
    return groups.extents.batch * groups.count() * groups.extents.channels;
  }
  SLICESORT_HD index_t length() const { return groups.group; }
  SLICESORT_HD bool rows_adjacent() const { return x.strides().length == 1; }
  SLICESORT_HD bool needs_values() const { return y.data() != nullptr; }
  SLICESORT_HD bool needs_rows() const { return order.present(); }

  SLICESORT_HD column_index locate(index_t number) const {
    index_t const group = number / groups.extents.channels, batch = group / groups.count();
    return {{batch, number - group * groups.extents.channels},
            (group - batch * groups.count()) * groups.group};
  }
  SLICESORT_HD index_t rows(column_index index) const {
    index_t const remaining = groups.extents.length - index.first;
    return remaining < groups.group ? remaining : groups.group;
  }
  SLICESORT_HD index_t valid(column_index index) const {
    index_t const remaining =
        valid_rows(groups.lengths, index.column.batch, groups.extents.length) - index.first;
    return remaining < 0 ? 0 : remaining < groups.group ? remaining : groups.group;
  }
  SLICESORT_HD bool ascending(column_index index) const {
    return groups.column(index.column).ascending;
  }

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
  SLICESORT_HD reader values(column_index index) const {
    return {column_of<T const>(x, index.column), groups.column(index.column),
            static_cast<std::uint32_t>(index.first)};
  }

  // Destination of the k-th smallest row of the group. Rows past the valid ones stay in place.
  struct target {
    untyped_group_column destinations;
    bool aligned;
    index_t first, valid;

    SLICESORT_HD target(groups_view const& view, column_index index)
        : destinations(view.destinations, {index.column.batch, 0}),
          aligned(view.destinations.present()),
          first(index.first),
          valid(view.valid(index)) {}
    SLICESORT_HD_INLINE index_t operator()(index_t k) const {
      return first + (aligned && k < valid ? static_cast<index_t>(destinations[first + k]) : k);
    }
  };
  struct writer {
    column_of<T> y;
    target destination;
    SLICESORT_HD_INLINE T& operator[](index_t k) const { return y[destination(k)]; }
    SLICESORT_HD_INLINE indexed_walk<writer> walk(index_t start, row_range rows) const {
      return {*this, start + rows.first, rows.step};
    }
  };
  SLICESORT_HD writer results(column_index index) const {
    return {column_of<T>(y, index.column), target(*this, index)};
  }
  struct row_writer {
    untyped_group_column order;
    target destination;
    SLICESORT_HD_INLINE void set(index_t k, std::uint32_t row) const {
      order.set(destination(k), row);
    }
    template <int Count, class Row>
    SLICESORT_HD_INLINE void set_rows(index_t start, row_range rows, Row const& source) const {
      copy_rows<Count>(rows, source, [&](int n, std::uint32_t row) { set(start + n, row); });
    }
  };
  SLICESORT_HD row_writer source_rows(column_index index) const {
    return {untyped_group_column(order, index.column), target(*this, index)};
  }
};

SLICESORT_DETAIL_END

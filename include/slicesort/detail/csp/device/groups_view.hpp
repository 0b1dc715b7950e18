// SPDX-License-Identifier: Apache-2.0
// View of csp's groups as columns of the sort kernels (see columns_view.hpp). A column is one group
// of one channel of one sample. Groups of neighboring channels are neighboring columns.
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
  tensor3<T> y;        // null: not written
  order_tensor order;  // null: not written
  // Order of each sample's reference channel. If null, groups are stored sorted.
  order_tensor destinations;

  struct group_index {
    detail::column_index column;
    index_t first_row;
  };
  using column_index = group_index;  // name that the sort kernels use
  SLICESORT_HD index_t columns() const {
    return groups.extents.batch * groups.per_channel() * groups.extents.channels;
  }
  SLICESORT_HD index_t length() const { return groups.group; }
  SLICESORT_HD bool rows_adjacent() const { return x.strides().length == 1; }
  SLICESORT_HD bool needs_values() const { return y.data() != nullptr; }
  SLICESORT_HD bool needs_rows() const { return order.is_present(); }

  SLICESORT_HD group_index locate(index_t column_number) const {
    index_t const group = column_number / groups.extents.channels,
                  batch = group / groups.per_channel();
    return {{batch, column_number - group * groups.extents.channels},
            (group - batch * groups.per_channel()) * groups.group};
  }
  SLICESORT_HD index_t rows(group_index index) const {
    index_t const remaining = groups.extents.length - index.first_row;
    return remaining < groups.group ? remaining : groups.group;
  }
  SLICESORT_HD index_t valid(group_index index) const {
    index_t const remaining =
        valid_rows(groups.lengths, index.column.batch, groups.extents.length) - index.first_row;
    return remaining < 0 ? 0 : remaining < groups.group ? remaining : groups.group;
  }
  SLICESORT_HD bool ascending(group_index index) const {
    return groups.column(index.column).ascending;
  }

  struct value_reader {
    column_of<T const> x;
    csp_column column;
    std::uint32_t first_row;

    SLICESORT_HD_INLINE T const& operator[](index_t row) const {
      return x[column.source(first_row + static_cast<std::uint32_t>(row))];
    }
    SLICESORT_HD_INLINE indexed_iterator<value_reader> walk(index_t start, row_range rows) const {
      return {*this, start + rows.first, rows.step};
    }
  };
  SLICESORT_HD value_reader values(group_index index) const {
    return {column_of<T const>(x, index.column), groups.column(index.column),
            static_cast<std::uint32_t>(index.first_row)};
  }

  // Maps the k-th row of the sorted group to its destination. Padding rows stay in place.
  struct destination_map {
    untyped_order_column destinations;
    bool aligned;
    index_t first_row, valid;

    SLICESORT_HD destination_map(groups_view const& view, group_index index)
        : destinations(view.destinations, {index.column.batch, 0}),
          aligned(view.destinations.is_present()),
          first_row(index.first_row),
          valid(view.valid(index)) {}
    SLICESORT_HD_INLINE index_t operator()(index_t k) const {
      return first_row +
             (aligned && k < valid ? static_cast<index_t>(destinations[first_row + k]) : k);
    }
  };
  struct value_writer {
    column_of<T> y;
    destination_map destination_of;
    SLICESORT_HD_INLINE T& operator[](index_t k) const { return y[destination_of(k)]; }
    SLICESORT_HD_INLINE indexed_iterator<value_writer> walk(index_t start, row_range rows) const {
      return {*this, start + rows.first, rows.step};
    }
  };
  SLICESORT_HD value_writer results(group_index index) const {
    return {column_of<T>(y, index.column), destination_map(*this, index)};
  }
  struct source_row_writer {
    untyped_order_column order;
    destination_map destination_of;
    SLICESORT_HD_INLINE void set(index_t k, std::uint32_t row) const {
      order.set(destination_of(k), row);
    }
    template <int Count, class Row>
    SLICESORT_HD_INLINE void set_rows(index_t start, row_range rows, Row const& source) const {
      copy_rows<Count>(rows, source, [&](int n, std::uint32_t row) { set(start + n, row); });
    }
  };
  SLICESORT_HD source_row_writer source_rows(group_index index) const {
    return {untyped_order_column(order, index.column), destination_map(*this, index)};
  }
};

SLICESORT_DETAIL_END

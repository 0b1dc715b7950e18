// SPDX-License-Identifier: Apache-2.0
// Sorts short groups. One thread shifts, sorts and aligns a group in its registers.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/device/group_tile.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/csp/device/groups_view.hpp>
#include <slicesort/detail/sort/device/network.hpp>
#include <slicesort/detail/sort/device/sort_packed_rows.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Rows is a power of two, at least the group size. Row orders, also those of reference channels,
// are stored as 8-bit integers.
template <class T, int Rows>
struct sort_short_groups_kernel {
  // Estimate of the registers for packed keys.
  static constexpr int registers = Rows * static_cast<int>(sizeof(T)) / 2;
  static constexpr int max_threads = registers <= 8 ? 1024 : registers <= 32 ? 512 : 256;
  // log2 of the rows between two free rows of the tile, at least one unit.
  static constexpr int interval_log2 = Rows <= 8    ? 3
                                       : Rows <= 16 ? 4
                                       : Rows <= 32 ? 5
                                       : Rows <= 64 ? 6
                                                    : 7;
  using tile_type = group_tile<T, interval_log2>;

  groups_view<T> view;
  tile_type tile;  // each unit is one group

  template <class SharedAllocator>
  SLICESORT_HD T* shared(SharedAllocator& shared_memory) const {
    return tile.allocate_tile(shared_memory, view.groups.extents);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = tile.begin_work(block, view.groups, view.x);
    if (!work.has_column) return;
    for (std::uint32_t unit = work.first_unit; unit < work.end_unit; unit += work.unit_step) {
      std::uint32_t const first_row = unit * static_cast<std::uint32_t>(view.groups.group);
      auto const rows_left = static_cast<std::uint32_t>(view.groups.extents.length) - first_row;
      int const length =
          static_cast<int>(rows_left < view.groups.group ? rows_left : view.groups.group);
      auto const valid_left = static_cast<int>(work.column.valid) - static_cast<int>(first_row);
      int const valid = valid_left < 0 ? 0 : valid_left < length ? valid_left : length;
      sort_packed_rows<Block, T, Rows>(short_group{view, work, first_row, length, valid}, length,
                                       valid, work.column.ascending);
    }
  }

 private:
  // Access to one group for sort_packed_rows.
  struct short_group {
    groups_view<T> const& view;
    typename tile_type::thread_work const& work;
    std::uint32_t first_row;
    int length, valid;

    template <std::size_t Count>
    SLICESORT_HD_INLINE void read(int row, bits_t<T> (&value)[Count]) const {
      work.read(first_row + static_cast<std::uint32_t>(row),
                first_row + static_cast<std::uint32_t>(length), value);
    }
    SLICESORT_HD_INLINE T operator[](int row) const {
      return work[first_row + static_cast<std::uint32_t>(row)];
    }
    SLICESORT_HD_INLINE bool needs_values() const { return view.needs_values(); }
    template <int, class Row>
    SLICESORT_HD_INLINE void store_sources(Row const& row) const {
      if (!view.needs_rows()) return;
      order_column<std::uint8_t> const order(view.order, work.index);
      store(order.data + static_cast<index_t>(first_row) * order.stride, order.stride, row);
    }
    template <int, class Value>
    SLICESORT_HD_INLINE void store_values(Value const& value) const {
      column_of<T> const y(view.y, work.index);
      store(y.data + static_cast<index_t>(first_row) * y.stride, y.stride,
            [&](int i) { return bit_cast<T>(value(i)); });
    }

   private:
    template <class Element, class Value>
    SLICESORT_HD_INLINE void store(Element* out, index_t stride, Value const& value) const {
      if (!view.destinations.is_present())
        return store_register_rows<Rows>(out, stride, length, value);
      order_column<std::uint8_t const> const destinations(view.destinations, {work.index.batch, 0});
      for_register_rows<Rows>(length, [&](int i) {
        index_t const offset =
            i < valid ? static_cast<index_t>(destinations[static_cast<index_t>(first_row) + i]) : i;
        out[offset * stride] = static_cast<Element>(value(i));
      });
    }
  };
};

SLICESORT_DETAIL_END

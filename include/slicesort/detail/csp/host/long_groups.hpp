// SPDX-License-Identifier: Apache-2.0
// Sorts groups that are too long for 16-bit row numbers, by radix sort of their channels, which are
// contiguous in scratch memory.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/sort/host/radix_sort.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

constexpr bool is_long_group(index_t group) { return group > 65536; }

template <class T>
class csp_long_groups {
 public:
  csp_long_groups() = default;
  csp_long_groups(arena& memory, index_t group, bool aligned) : radix_(memory, group) {
    auto const elements = static_cast<std::size_t>(aligned ? radix_tile<T>::columns * group : 0);
    values_ = memory.take<T>(elements);
    row_numbers_ = memory.take<std::uint32_t>(elements);
  }

  // Sorts the groups of a tile whose shifted channels are in `scratch.columns`. Sorted row k of the
  // group that starts at row n goes to row destinations[n + k] of the group, or to row k if there
  // are no destinations.
  void sort(csp_tile<T> const& tile, std::uint32_t const* destinations) const {
    for (index_t first_row = 0; first_row < tile.rows; first_row += tile.group)
      for (int lane = 0; lane < tile.width; lane += radix_tile<T>::columns)
        sort_group(tile, first_row, lane, destinations);
  }

  // Writes the row numbers of every group of one column, in sorted order, to `order`.
  void argsort(T const* x, index_t pitch, index_t valid, index_t group,
               std::uint32_t* order) const {
    for (index_t first_row = 0; first_row < valid; first_row += group) {
      column_tile<T> sort_tile = make_sort_tile(std::min(group, valid - first_row), 1);
      sort_tile.x = x + first_row * pitch;
      sort_tile.x_layout = contiguous_layout(0, 1);
      sort_tile.x_layout.pitch = pitch;
      sort_tile.y = values_, sort_tile.y_layout = contiguous_layout(sort_tile.rows, 1);
      sort_tile.perm = order + first_row, sort_tile.perm_layout = sort_tile.y_layout;
      radix_.run(sort_tile);
    }
  }

 private:
  // Layout of contiguous columns, `pitch` elements apart.
  static tile_operand contiguous_layout(index_t pitch, int width) {
    tile_operand layout;
    for (int lane = 0; lane < tile_columns; ++lane) layout.start[lane] = lane * pitch;
    layout.pitch = 1;
    layout.width = width;
    layout.adjacent = layout.dense = false;
    return layout;
  }
  // Layout of `width` columns of an operand, from `lane` on.
  static tile_operand slice_layout(tile_operand const& operand, int lane, int width) {
    tile_operand layout = operand;
    for (int k = 0; k < width; ++k) layout.start[k] = operand.start[lane + k];
    layout.width = width;
    layout.dense = false;
    return layout;
  }
  // Tile of the radix sort, without its data.
  static column_tile<T> make_sort_tile(index_t rows, int width) {
    column_tile<T> sort_tile{};
    sort_tile.perm_width = index_width::bits32;
    sort_tile.width = width, sort_tile.rows = rows, sort_tile.group = rows;
    for (index_t& valid : sort_tile.valid) valid = rows;
    return sort_tile;
  }

  // Sorts one group, from `first_row` on, in a few columns, from `lane` on.
  void sort_group(csp_tile<T> const& tile, index_t first_row, int lane,
                  std::uint32_t const* destinations) const {
    int const width = std::min(radix_tile<T>::columns, tile.width - lane);
    column_tile<T> sort_tile = make_sort_tile(std::min(tile.group, tile.rows - first_row), width);
    sort_tile.x = tile.scratch.columns + lane * tile.scratch.pitch + first_row;
    sort_tile.x_layout = contiguous_layout(tile.scratch.pitch, width);
    for (int k = 0; k < width; ++k) sort_tile.descending_mask[k] = tile.descending_mask[lane + k];
    tile_operand const to_layout = slice_layout(tile.to_layout, lane, width);
    tile_operand const order_layout =
        tile.order == nullptr ? to_layout : slice_layout(tile.order_layout, lane, width);
    T* const y = tile.to + first_row * to_layout.pitch;
    auto* const order = tile.order == nullptr ? nullptr
                                              : static_cast<std::uint32_t*>(tile.order) +
                                                    first_row * order_layout.pitch;
    if (destinations == nullptr) {
      sort_tile.y = y, sort_tile.y_layout = to_layout;
      sort_tile.perm = order, sort_tile.perm_layout = order_layout;
      radix_.run(sort_tile);
      return;
    }
    sort_tile.y = values_, sort_tile.y_layout = contiguous_layout(sort_tile.rows, width);
    sort_tile.perm = row_numbers_, sort_tile.perm_layout = sort_tile.y_layout;
    radix_.run(sort_tile);
    for (int k = 0; k < width; ++k)
      for (index_t i = 0; i < sort_tile.rows; ++i) {
        index_t const destination = destinations[first_row + i],
                      source = sort_tile.y_layout.start[k] + i;
        y[to_layout.start[k] + destination * to_layout.pitch] = values_[source];
        if (order != nullptr)
          order[order_layout.start[k] + destination * order_layout.pitch] = row_numbers_[source];
      }
  }

  radix_tile<T> mutable radix_;
  T* values_ = nullptr;  // [columns][group], if groups are aligned
  std::uint32_t* row_numbers_ = nullptr;
};

SLICESORT_DETAIL_END

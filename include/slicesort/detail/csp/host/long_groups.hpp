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
    rows_ = memory.take<std::uint32_t>(elements);
  }

  // Sorts the groups of a tile whose shifted channels are in `scratch.columns`. Sorted row k of the
  // group that starts at row n goes to row destinations[n + k] of the group, or to row k if there
  // are no destinations.
  void run(csp_tile<T> const& tile, std::uint32_t const* destinations) const {
    for (index_t first = 0; first < tile.rows; first += tile.group)
      for (int lane = 0; lane < tile.width; lane += radix_tile<T>::columns)
        run_part(tile, first, lane, destinations);
  }

  // Writes the row numbers of every group of one column, in sorted order, to `rows`.
  void argsort(T const* x, index_t pitch, index_t valid, index_t group, std::uint32_t* rows) const {
    for (index_t first = 0; first < valid; first += group) {
      column_tile<T> sorted = part_of(std::min(group, valid - first), 1);
      sorted.x = x + first * pitch;
      sorted.x_layout = contiguous(0, 1);
      sorted.x_layout.pitch = pitch;
      sorted.y = values_, sorted.y_layout = contiguous(sorted.rows, 1);
      sorted.perm = rows + first, sorted.perm_layout = sorted.y_layout;
      radix_.run(sorted);
    }
  }

 private:
  static tile_operand contiguous(index_t pitch, int width) {
    tile_operand layout;
    for (int lane = 0; lane < tile_columns; ++lane) layout.start[lane] = lane * pitch;
    layout.pitch = 1;
    layout.width = width;
    layout.adjacent = layout.dense = false;
    return layout;
  }
  static tile_operand part_of_operand(tile_operand const& operand, int lane, int width) {
    tile_operand layout = operand;
    for (int k = 0; k < width; ++k) layout.start[k] = operand.start[lane + k];
    layout.width = width;
    layout.dense = false;
    return layout;
  }
  static column_tile<T> part_of(index_t rows, int width) {
    column_tile<T> sorted{};
    sorted.perm_width = index_width::bits32;
    sorted.width = width, sorted.rows = rows, sorted.group = rows;
    for (index_t& valid : sorted.valid) valid = rows;
    return sorted;
  }

  void run_part(csp_tile<T> const& tile, index_t first, int lane,
                std::uint32_t const* destinations) const {
    int const width = std::min(radix_tile<T>::columns, tile.width - lane);
    column_tile<T> sorted = part_of(std::min(tile.group, tile.rows - first), width);
    sorted.x = tile.scratch.columns + lane * tile.scratch.pitch + first;
    sorted.x_layout = contiguous(tile.scratch.pitch, width);
    for (int k = 0; k < width; ++k) sorted.flip[k] = tile.flip[lane + k];
    tile_operand const to_layout = part_of_operand(tile.to_layout, lane, width);
    tile_operand const order_layout =
        tile.order == nullptr ? to_layout : part_of_operand(tile.order_layout, lane, width);
    T* const to = tile.to + first * to_layout.pitch;
    auto* const order = tile.order == nullptr
                            ? nullptr
                            : static_cast<std::uint32_t*>(tile.order) + first * order_layout.pitch;
    if (destinations == nullptr) {
      sorted.y = to, sorted.y_layout = to_layout;
      sorted.perm = order, sorted.perm_layout = order_layout;
      radix_.run(sorted);
      return;
    }
    sorted.y = values_, sorted.y_layout = contiguous(sorted.rows, width);
    sorted.perm = rows_, sorted.perm_layout = sorted.y_layout;
    radix_.run(sorted);
    for (int k = 0; k < width; ++k)
      for (index_t i = 0; i < sorted.rows; ++i) {
        index_t const destination = destinations[first + i], from = sorted.y_layout.start[k] + i;
        to[to_layout.start[k] + destination * to_layout.pitch] = values_[from];
        if (order != nullptr)
          order[order_layout.start[k] + destination * order_layout.pitch] = rows_[from];
      }
  }

  radix_tile<T> mutable radix_;
  T* values_ = nullptr;  // [columns][group], if groups are aligned
  std::uint32_t* rows_ = nullptr;
};

SLICESORT_DETAIL_END

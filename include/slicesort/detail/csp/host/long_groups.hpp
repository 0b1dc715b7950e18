// SPDX-License-Identifier: Apache-2.0
// Groups too long for 16-bit row numbers: their channels, contiguous in scratch, are sorted by
// radix.
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

// True if the rows of a group exceed what a 16-bit number can name.
constexpr bool is_long_group(index_t group) { return group > 65536; }

template <class T>
class csp_long_groups {
 public:
  csp_long_groups() = default;
  csp_long_groups(arena& a, index_t group, bool aligned) : radix_(a, group) {
    auto const elements = static_cast<std::size_t>(aligned ? radix_tile<T>::columns * group : 0);
    values_ = a.take<T>(elements);
    rows_ = a.take<std::uint32_t>(elements);
  }

  // Sorts the groups of a tile whose shifted channels are in `t.scratch.columns`. Sorted row k of
  // the group that begins at row n goes to row destinations[n + k] of the group; to row k where
  // there are none.
  void run(csp_tile<T> const& t, std::uint32_t const* destinations) const {
    for (index_t first = 0; first < t.rows; first += t.group)
      for (int lane = 0; lane < t.width; lane += radix_tile<T>::columns)
        run_part(t, first, lane, destinations);
  }

  // Writes the row numbers of every group of one column, in sorted order, to `rows`.
  void argsort(T const* x, index_t pitch, index_t valid, index_t group, std::uint32_t* rows) const {
    for (index_t first = 0; first < valid; first += group) {
      column_tile<T> c = part_of(std::min(group, valid - first), 1);
      c.x = x + first * pitch;
      c.x_layout = contiguous(0, 1);
      c.x_layout.pitch = pitch;
      c.y = values_, c.y_layout = contiguous(c.rows, 1);
      c.perm = rows + first, c.perm_layout = c.y_layout;
      radix_.run(c);
    }
  }

 private:
  static tile_operand contiguous(index_t pitch, int width) {
    tile_operand at;
    for (int lane = 0; lane < tile_columns; ++lane) at.start[lane] = lane * pitch;
    at.pitch = 1;
    at.width = width;
    at.adjacent = at.dense = false;
    return at;
  }
  // The operand of `width` lanes of `all`, from `lane` on.
  static tile_operand part_of_operand(tile_operand const& all, int lane, int width) {
    tile_operand at = all;
    for (int k = 0; k < width; ++k) at.start[k] = all.start[lane + k];
    at.width = width;
    at.dense = false;
    return at;
  }
  static column_tile<T> part_of(index_t rows, int width) {
    column_tile<T> c{};
    c.perm_width = index_width::bits32;
    c.width = width, c.rows = rows, c.group = rows;
    for (index_t& valid : c.valid) valid = rows;
    return c;
  }

  void run_part(csp_tile<T> const& t, index_t first, int lane,
                std::uint32_t const* destinations) const {
    int const width = std::min(radix_tile<T>::columns, t.width - lane);
    column_tile<T> c = part_of(std::min(t.group, t.rows - first), width);
    c.x = t.scratch.columns + lane * t.scratch.pitch + first;
    c.x_layout = contiguous(t.scratch.pitch, width);
    for (int k = 0; k < width; ++k) c.flip[k] = t.flip[lane + k];
    tile_operand const to_at = part_of_operand(t.to_at, lane, width);
    tile_operand const order_at =
        t.order == nullptr ? to_at : part_of_operand(t.order_at, lane, width);
    T* const to = t.to + first * to_at.pitch;
    auto* const order = t.order == nullptr
                            ? nullptr
                            : static_cast<std::uint32_t*>(t.order) + first * order_at.pitch;
    if (destinations == nullptr) {
      c.y = to, c.y_layout = to_at;
      c.perm = order, c.perm_layout = order_at;
      radix_.run(c);
      return;
    }
    c.y = values_, c.y_layout = contiguous(c.rows, width);
    c.perm = rows_, c.perm_layout = c.y_layout;
    radix_.run(c);
    for (int k = 0; k < width; ++k)
      for (index_t i = 0; i < c.rows; ++i) {
        index_t const destination = destinations[first + i], from = c.y_layout.start[k] + i;
        to[to_at.start[k] + destination * to_at.pitch] = values_[from];
        if (order != nullptr) order[order_at.start[k] + destination * order_at.pitch] = rows_[from];
      }
  }

  radix_tile<T> mutable radix_;  // its scratch
  T* values_ = nullptr;          // [columns][group], where groups are aligned
  std::uint32_t* rows_ = nullptr;
};

SLICESORT_DETAIL_END

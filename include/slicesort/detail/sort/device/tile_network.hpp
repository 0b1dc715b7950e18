// SPDX-License-Identifier: Apache-2.0
// Sorts the columns of a tile in shared memory by bitonic merges. The first level of a merge is
// mirrored, so all comparators sort in the same direction, and comparators with rows past the end
// are skipped. Between two barriers every thread loads 2^Levels rows into registers and applies up
// to Levels levels.
//
// A merge into groups of 2^k rows has k levels. The mirrored pass applies the first 1 to Levels of
// them, and passes of Levels levels apply the rest. The smallest distance in a pass is a power of
// 2^Levels, so there are few kinds of passes. Each kind is compiled separately, with constant row
// offsets.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/key_tile.hpp>
#include <slicesort/detail/sort/device/network.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

inline constexpr int max_tile_levels = 15;

// Rows of a pass, 2^Log2Distance apart. `position` is the position of the first row in the tile.
template <int Levels, int Log2Distance>
struct spaced_rows {
  static_assert(Log2Distance % Levels == 0);
  static constexpr int count = 1 << Levels;
  int first, position;

  SLICESORT_HD_INLINE int row(int i) const { return first + (i << Log2Distance); }
  SLICESORT_HD_INLINE int position_of(int i) const {
    return position + i * padded_row<Levels>(1 << Log2Distance);
  }
  SLICESORT_HD_INLINE int last() const { return row(count - 1); }
  // True if row i exists in every column that has the first row.
  static SLICESORT_HD_INLINE constexpr bool always_exists(int i) { return i == 0; }
};

// Rows of a mirrored pass, which applies the first `levels` levels of the merge into groups of 2^K
// rows: one group of 2^levels rows, or several small groups with `count` rows in total to give the
// thread enough work. One half of a group counts up from `low`, the other half down from `high`.
template <int Levels, int K>
struct mirrored_rows {
  static constexpr int levels = (K - 1) % Levels + 1, group = 1 << levels;
  static constexpr int count = levels < 3 ? 8 : group;
  // log2 of the distances between the rows of a group and between groups. Groups that are closer
  // than the free rows lie between the same two free rows.
  static constexpr int row_distance = K - levels,
                       group_distance = row_distance - (levels < 3 ? 3 - levels : 0);
  int low, high, low_position, high_position;

  SLICESORT_HD_INLINE int row(int i) const {
    int const offset = (i / group << group_distance) + (row_in_half(i) << row_distance);
    return counts_up(i) ? low + offset : high - offset;
  }
  SLICESORT_HD_INLINE int position_of(int i) const {
    int const offset = i / group * padded_row<Levels>(1 << group_distance) +
                       row_in_half(i) * padded_row<Levels>(1 << row_distance);
    return counts_up(i) ? low_position + offset : high_position - offset;
  }
  SLICESORT_HD_INLINE int last() const { return high; }
  static SLICESORT_HD_INLINE constexpr bool always_exists(int i) { return counts_up(i); }

 private:
  static SLICESORT_HD_INLINE constexpr bool counts_up(int i) { return i % group < group / 2; }
  static SLICESORT_HD_INLINE constexpr int row_in_half(int i) {
    return counts_up(i) ? i % group : group - 1 - i % group;
  }
};

template <class Keys, int Levels, class Block>
class tile_network {
  static_assert(Levels == 4 || Levels == 5);
  static constexpr int pass_rows = 1 << Levels;
  using tile_type = key_tile<Keys, Levels>;
  using key = typename Keys::type;
  using compare = comparator<Block, Keys>;

 public:
  // Sorts the first `column_rows` rows of the thread's column. A thread stays in one column,
  // because the block size is a multiple of the tile's width.
  SLICESORT_HD_INLINE tile_network(Block& block, tile_type tile, int width, int column_rows)
      : block_(block),
        tile_(tile),
        column_rows_(column_rows),
        column_(block.rank() & (width - 1)),
        first_item_(block.rank() >> log2_of(width)),
        item_stride_(block.size() >> log2_of(width)) {}

  // Sorts the tile, whose longest column has `tile_rows` rows. The tile must be visible to the
  // whole block before the call; the result is visible to it afterwards.
  SLICESORT_HD_INLINE void sort(int tile_rows) {
    sort_register_groups(tile_rows);
    SLICESORT_NO_UNROLL
    for (int k = Levels + 1; (1 << (k - 1)) < tile_rows; ++k) {
      mirror<Levels + 1>(k, tile_rows);
      SLICESORT_NO_UNROLL
      for (int log2_distance = (k - 1) / Levels * Levels - Levels; log2_distance >= 0;
           log2_distance -= Levels)
        clean<0>(log2_distance, k, tile_rows);
    }
  }

 private:
  template <class Rows>
  SLICESORT_HD_INLINE void load(key* keys, Rows const& pass) const {
    if (pass.last() < column_rows_) return load_unchecked(keys, pass);
    SLICESORT_UNROLL
    for (int i = 0; i < Rows::count; ++i)
      keys[i] = Rows::always_exists(i) || pass.row(i) < column_rows_
                    ? tile_.load(pass.position_of(i))
                    : Keys::last();
  }
  template <class Rows>
  SLICESORT_HD_INLINE void store(key const* keys, Rows const& pass) const {
    if (pass.last() < column_rows_) return store_unchecked(keys, pass);
    SLICESORT_UNROLL
    for (int i = 0; i < Rows::count; ++i)
      if (Rows::always_exists(i) || pass.row(i) < column_rows_)
        tile_.store(pass.position_of(i), keys[i]);
  }
  template <class Rows>
  SLICESORT_HD_INLINE void load_unchecked(key* keys, Rows const& pass) const {
    SLICESORT_UNROLL
    for (int i = 0; i < Rows::count; ++i) keys[i] = tile_.load(pass.position_of(i));
  }
  template <class Rows>
  SLICESORT_HD_INLINE void store_unchecked(key const* keys, Rows const& pass) const {
    SLICESORT_UNROLL
    for (int i = 0; i < Rows::count; ++i) tile_.store(pass.position_of(i), keys[i]);
  }

  // Sorts groups of 2^Levels rows. Pads the column to whole groups with keys that sort last.
  SLICESORT_HD_INLINE void sort_register_groups(int tile_rows) {
    for (int item = first_item_; item * pass_rows < tile_rows; item += item_stride_) {
      int const row = item * pass_rows;
      if (row >= column_rows_) continue;
      spaced_rows<Levels, 0> const pass{row, tile_.position(row, column_)};
      key keys[static_cast<std::size_t>(pass_rows)];
      load(keys, pass);
      sort_keys<compare, pass_rows>(keys);
      store_unchecked(keys, pass);
    }
    column_rows_ = (column_rows_ + pass_rows - 1) / pass_rows * pass_rows;
    block_.sync();
  }

  // Applies the first levels of the merge into groups of 2^k rows. Requires k >= K.
  template <int K>
  SLICESORT_HD_INLINE void mirror(int k, int tile_rows) {
    if (k != K) {
      if constexpr (K < max_tile_levels) mirror<K + 1>(k, tile_rows);
      return;
    }
    using mirrored = mirrored_rows<Levels, K>;
    constexpr int log2_items = mirrored::group_distance;
    int const items = (((tile_rows - 1) >> K) + 1) << log2_items;
    for (int item = first_item_; item < items; item += item_stride_) {
      int const start = (item >> log2_items) << K;
      int const low = start + (item & ((1 << log2_items) - 1));
      int const high = 2 * start + (1 << K) - 1 - low;
      if (low >= column_rows_ || !needs_merge(start, K)) continue;
      mirrored const pass{low, high, tile_.position(low, column_), tile_.position(high, column_)};
      key keys[static_cast<std::size_t>(mirrored::count)];
      load(keys, pass);
      constexpr int group = mirrored::group;
      SLICESORT_UNROLL
      for (int i = 0; i < mirrored::count; ++i)
        if (i % group < group / 2)
          compare::compare_exchange(keys[i], keys[i / group * group + group - 1 - i % group]);
      half_clean<compare, mirrored::count, group / 4>(keys);
      store(keys, pass);
    }
    block_.sync();
  }

  // Applies Levels levels in groups of 2^k rows, the last one at distance 2^log2_distance. Requires
  // log2_distance >= Log2Distance.
  template <int Log2Distance>
  SLICESORT_HD_INLINE void clean(int log2_distance, int k, int tile_rows) {
    if (log2_distance != Log2Distance) {
      if constexpr (Log2Distance + 2 * Levels < max_tile_levels)
        clean<Log2Distance + Levels>(log2_distance, k, tile_rows);
      return;
    }
    constexpr int span = Log2Distance + Levels;  // each of these levels stays within 2^span rows
    int const items = (((tile_rows - 1) >> span) + 1) << Log2Distance;
    for (int item = first_item_; item < items; item += item_stride_) {
      int const row = ((item >> Log2Distance) << span) + (item & ((1 << Log2Distance) - 1));
      if (row >= column_rows_ || !needs_merge(row, k)) continue;
      spaced_rows<Levels, Log2Distance> const pass{row, tile_.position(row, column_)};
      key keys[static_cast<std::size_t>(pass_rows)];
      if constexpr (Log2Distance == 0)
        load_unchecked(keys, pass);
      else
        load(keys, pass);
      half_clean<compare, pass_rows, pass_rows / 2>(keys);
      if constexpr (Log2Distance == 0)
        store_unchecked(keys, pass);
      else
        store(keys, pass);
    }
    block_.sync();
  }

  // True if the group of 2^k rows that holds `row` has rows in its second half; otherwise it is
  // sorted already.
  SLICESORT_HD_INLINE bool needs_merge(int row, int k) const {
    return ((row >> k) << k) + (1 << (k - 1)) < column_rows_;
  }

  Block& block_;
  tile_type tile_;
  int column_rows_;  // rows of this thread's column, including padding
  // A work item of a pass is the rows that a thread holds at a time.
  int column_, first_item_, item_stride_;
};

SLICESORT_DETAIL_END

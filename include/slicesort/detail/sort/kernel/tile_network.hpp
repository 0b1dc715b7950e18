// SPDX-License-Identifier: Apache-2.0
// Sorts the columns of a tile in shared memory: bitonic merges whose first level is mirrored, so
// that all comparators point one way and those that touch rows past the end can be left out.
// Between two barriers every thread takes 2^Levels rows into registers and does up to Levels levels
// on them.
//
// A merge into groups of 2^k rows has k levels. The mirrored pass does the first 1 to Levels of
// them, and passes of Levels levels each do the rest: the smallest distance in a pass is always a
// power of 2^Levels, so that a thread's rows are evenly spaced in the padded tile.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/sort/kernel/key_tile.hpp>
#include <slicesort/detail/sort/kernel/network.hpp>

#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Keys, int Levels, class Block>
class tile_network {
  static_assert(Levels == 4 || Levels == 5);
  static constexpr int pass_rows = 1 << Levels;
  using tile_type = key_tile<Keys, Levels>;
  using key = typename Keys::type;
  using compare = comparator<Block, Keys>;

 public:
  // `limit` rows of this thread's column are sorted. A thread stays in one column: the block's size
  // is a multiple of the tile's width.
  SLICESORT_HD_INLINE tile_network(Block& block, tile_type tile, int limit)
      : block_(block),
        tile_(tile),
        limit_(limit),
        column_(block.rank() % tile.width),
        first_group_(block.rank() / tile.width),
        groups_(block.size() / tile.width) {}

  // Sorts the tile, whose longest column has `rows` rows. Before the call the tile must be visible
  // to the whole block, and after it the result is.
  SLICESORT_HD_INLINE void sort(int rows) {
    sort_register_groups(rows);
    for (int k = Levels + 1; (1 << (k - 1)) < rows; ++k) {
      int const mirrored = (k - 1) % Levels + 1;
      switch (mirrored) {
        case 1:
          mirror<1>(k, rows);
          break;
        case 2:
          mirror<2>(k, rows);
          break;
        case 3:
          mirror<3>(k, rows);
          break;
        case 4:
          mirror<4>(k, rows);
          break;
        default:
          if constexpr (Levels == 5) mirror<5>(k, rows);
      }
      for (int distance = k - mirrored - Levels; distance >= 0; distance -= Levels)
        clean(k, distance, rows);
    }
  }

 private:
  // Loads the rows of a pass, row + i * distance from offset + i * step. Rows past the column are
  // `last`.
  SLICESORT_HD_INLINE void load(key* v, int row, int distance, int offset, int step) const {
    if (row + (pass_rows - 1) * distance < limit_) {
      SLICESORT_UNROLL
      for (int i = 0; i < pass_rows; ++i) v[i] = tile_.load(offset + i * step);
    } else {
      SLICESORT_UNROLL
      for (int i = 0; i < pass_rows; ++i)
        v[i] = row + i * distance < limit_ ? tile_.load(offset + i * step) : Keys::last();
    }
  }
  SLICESORT_HD_INLINE void store(key* v, int row, int distance, int offset, int step) const {
    offset = Block::opaque(offset);
    step = Block::opaque(step);
    row = Block::opaque(row);
    if (row + (pass_rows - 1) * distance < limit_) {
      SLICESORT_UNROLL
      for (int i = 0; i < pass_rows; ++i) tile_.store(offset + i * step, v[i]);
    } else {
      SLICESORT_UNROLL
      for (int i = 0; i < pass_rows; ++i)
        if (row + i * distance < limit_) tile_.store(offset + i * step, v[i]);
    }
  }

  SLICESORT_HD_INLINE void sort_register_groups(int rows) {
    for (int g = first_group_; g * pass_rows < rows; g += groups_) {
      int const row = g * pass_rows;
      if (row >= limit_) continue;
      int const offset = tile_.position(row, column_);
      key v[static_cast<std::size_t>(pass_rows)];
      load(v, row, 1, offset, tile_.width);
      sort_keys<compare, pass_rows>(v);
      store(v, row, 1, offset, tile_.width);
    }
    block_.sync();
  }

  // Levels levels, the last at distance 2^distance, inside groups of 2^k rows.
  SLICESORT_HD_INLINE void clean(int k, int distance, int rows) {
    int const span = distance + Levels;  // 2^span rows are closed under these levels
    int const step = padded_row<Levels>(1 << distance) * tile_.width;
    int const work = (((rows - 1) >> span) + 1) << distance;
    for (int g = first_group_; g < work; g += groups_) {
      int const row = ((g >> distance) << span) + (g & ((1 << distance) - 1));
      if (row >= limit_ || !merging(row, k)) continue;
      int const offset = tile_.position(row, column_);
      key v[static_cast<std::size_t>(pass_rows)];
      load(v, row, 1 << distance, offset, step);
      half_clean<compare, pass_rows, pass_rows / 2>(v);
      store(v, row, 1 << distance, offset, step);
    }
    block_.sync();
  }

  // The rows of a mirrored pass: pass_rows / Group groups. Half of a group counts up from `low` in
  // steps, the other half down from `high`.
  struct mirrored_rows {
    int low_offset, high_offset, group_stride, step;
    int overrun;               // rows by which high_offset lies past the column's end, if positive
    int log2_group, distance;  // a group_stride is 2^log2_group rows, a step 2^distance

    SLICESORT_HD_INLINE void opaque() {
      low_offset = Block::opaque(low_offset);
      high_offset = Block::opaque(high_offset);
      group_stride = Block::opaque(group_stride);
      step = Block::opaque(step);
    }
    // use(i, offset) for every row of the column, miss(i) for those past its end.
    template <int Group, class Use, class Miss>
    SLICESORT_HD_INLINE void visit(Use const& use, Miss const& miss) const {
      SLICESORT_UNROLL
      for (int i = 0; i < pass_rows; ++i) {
        int const j = i / Group, up = i % Group, down = Group - 1 - up;
        if (up < Group / 2)
          use(i, low_offset + j * group_stride + up * step);
        else if ((j << log2_group) + (down << distance) > overrun)
          use(i, high_offset - j * group_stride - down * step);
        else
          miss(i);
      }
    }
  };

  // The first First levels of the merge into groups of 2^k rows.
  template <int First>
  SLICESORT_HD_INLINE void mirror(int k, int rows) {
    constexpr int group = 1 << First;
    int const distance = k - First;  // the smallest is 2^distance, Levels or more
    int const log2_group = distance - (Levels - First);  // groups lie 2^log2_group rows apart
    int const step = padded_row<Levels>(1 << distance) * tile_.width;
    // Groups that are closer together than free rows lie between the same two free rows.
    int const group_stride = padded_row<Levels>(1 << log2_group) * tile_.width;
    int const work = (((rows - 1) >> k) + 1) << (k - Levels);
    for (int g = first_group_; g < work; g += groups_) {
      int const start = (g >> (k - Levels)) << k;
      int const low = start + (g & ((1 << (k - Levels)) - 1));
      int const high = 2 * start + (1 << k) - 1 - low;
      if (low >= limit_ || !merging(start, k)) continue;
      mirrored_rows at;
      at.low_offset = tile_.position(low, column_);
      at.high_offset = tile_.position(high, column_);
      at.group_stride = group_stride;
      at.step = step;
      at.overrun = high - limit_;
      at.log2_group = log2_group;
      at.distance = distance;
      key v[static_cast<std::size_t>(pass_rows)];
      tile_type const tile = tile_;
      at.template visit<group>([&](int i, int offset) { v[i] = tile.load(offset); },
                               [&](int i) { v[i] = Keys::last(); });
      mirror_clean<compare, pass_rows, group>(v);
      at.opaque();
      at.template visit<group>([&](int i, int offset) { tile.store(offset, v[i]); }, [](int) {});
    }
    block_.sync();
  }

  // Whether the group of 2^k rows that holds `row` has rows in its second half. Otherwise its first
  // half is all there is, and is sorted.
  SLICESORT_HD_INLINE bool merging(int row, int k) const {
    return ((row >> k) << k) + (1 << (k - 1)) < limit_;
  }

  Block& block_;
  tile_type tile_;
  int limit_;
  int column_, first_group_, groups_;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

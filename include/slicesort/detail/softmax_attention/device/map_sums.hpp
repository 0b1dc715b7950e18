// SPDX-License-Identifier: Apache-2.0
// The gradient of a bias that is relative, or that samples or heads share, from the maps of some
// heads of a sample: sums before anything is rounded.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/softmax_attention/device/softmax_rows.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Groups of heads that share their bias, of those heads that are in memory. A warp takes a row of a
// group. Samples and heads come one after the other, so sums wait for the last of a group.
template <class T>
struct shared_map_sums_kernel {
  static constexpr int max_threads = 32 * map_rows::rows_of_block;
  using A = accumulator_t<T>;
  using dscore_row = typename dscore_map<T>::row_of;

  dscore_map<T> of{};
  index_t first_group{}, groups{}, heads_of_group{};
  bool begins{}, ends{};  // whether these heads are the first, the last of their groups
  A* sums{};              // [all groups, queries, keys]
  tensor4<T> dbias{};
  grad_mode mode{};

  // For these heads of all, or for none where there are none.
  SLICESORT_HD void select(attention_shape const& s) {
    bool const all_samples = s.dbias.batch != s.batch, all_heads = s.dbias.heads != s.heads;
    map_rows const& rows = of.rows;
    first_group =
        (all_samples ? 0 : rows.sample) * s.dbias.heads + (all_heads ? 0 : rows.first_head);
    groups = all_heads ? 1 : rows.heads;
    heads_of_group = all_heads ? rows.heads : 1;
    begins = (!all_samples || rows.sample == 0) && (!all_heads || rows.first_head == 0);
    ends = (!all_samples || rows.sample == s.batch - 1) &&
           (!all_heads || rows.first_head + rows.heads == s.heads);
    if (s.pairs() == 0) {
      first_group = 0, groups = s.dbias.groups(), heads_of_group = 0;
      begins = ends = true;
    }
  }
  index_t blocks() const { return groups * divide_up(of.rows.queries, map_rows::rows_of_block); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    map_rows::position const at = of.rows.at(block.index(), block.rank());
    if (!at.inside) return;
    index_t const keys = of.rows.keys, group = first_group + at.head;
    A* const mine = sums + (group * of.rows.queries + at.row) * keys;
    index_t const heads = dbias.extents().heads;
    for (index_t key = block.rank() % 32; key < keys; key += 32) {
      A sum = begins ? A(0) : mine[key];
      for (index_t n = 0; n < heads_of_group; ++n)
        sum += dscore_row(of, at.head * heads_of_group + n, at.row)(key);
      if (ends)
        store_or_accumulate_sum(mode, dbias(group / heads, group % heads, at.row, key), sum);
      else
        mine[key] = sum;
    }
  }
};

// The sums of each head over the pairs of a distance. A thread walks down a diagonal, beside its
// neighbors.
template <class T>
struct diagonal_sums_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;
  using dscore_row = typename dscore_map<T>::row_of;

  dscore_map<T> of{};
  A* sums{};  // [batch * heads, queries + keys - 1]

  SLICESORT_HD index_t distances() const { return of.rows.queries + of.rows.keys - 1; }
  index_t blocks() const { return of.rows.heads * divide_up(distances(), max_threads); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const tiles = divide_up(distances(), block.size());
    index_t const head = block.index() / tiles;
    index_t const at = block.index() % tiles * block.size() + block.rank();
    if (at >= distances()) return;
    index_t const above = of.rows.queries - 1 - at;  // rows in which the diagonal has not begun
    A sum(0);
    for (index_t row = above < 0 ? 0 : above; row < of.rows.queries && row - above < of.rows.keys;
         ++row)
      sum += dscore_row(of, head, row)(row - above);
    sums[of.rows.pair(head) * distances() + at] = sum;
  }
};

SLICESORT_DETAIL_END

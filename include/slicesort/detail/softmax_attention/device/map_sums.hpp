// SPDX-License-Identifier: Apache-2.0
// Gradient of a relative or shared bias, summed over the maps of several heads before rounding.
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

// Sums over the heads that share a bias. Each warp computes one row of a group. Partial sums stay
// in memory until the last heads of their group.
template <class T>
struct shared_map_sums_kernel {
  static constexpr int max_threads = 32 * map_rows::rows_per_block;
  using A = accumulator_t<T>;
  using score_grad_row = typename score_grad_map<T>::row_view;

  score_grad_map<T> map{};
  index_t first_group{}, groups{}, heads_per_group{};
  bool is_first{}, is_last{};  // true if this chunk has the first (last) heads of its groups
  A* sums{};                   // [all groups, queries, keys]
  tensor4<T> dbias{};
  grad_mode mode{};

  // Selects the groups of this chunk, or stores zeros if the call has no heads.
  SLICESORT_HD void select(attention_shape const& s) {
    bool const shares_samples = s.dbias.batch != s.batch, shares_heads = s.dbias.heads != s.heads;
    map_rows const& rows = map.rows;
    first_group =
        (shares_samples ? 0 : rows.sample) * s.dbias.heads + (shares_heads ? 0 : rows.first_head);
    groups = shares_heads ? 1 : rows.heads;
    heads_per_group = shares_heads ? rows.heads : 1;
    is_first = (!shares_samples || rows.sample == 0) && (!shares_heads || rows.first_head == 0);
    is_last = (!shares_samples || rows.sample == s.batch - 1) &&
              (!shares_heads || rows.first_head + rows.heads == s.heads);
    if (s.pairs() == 0) {
      first_group = 0, groups = s.dbias.groups(), heads_per_group = 0;
      is_first = is_last = true;
    }
  }
  index_t blocks() const { return groups * divide_up(map.rows.queries, map_rows::rows_per_block); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    map_rows::position const pos = map.rows.position_of(block.index(), block.rank());
    if (!pos.inside) return;
    index_t const keys = map.rows.keys, group = first_group + pos.head;
    A* const row_sums = sums + (group * map.rows.queries + pos.row) * keys;
    index_t const heads = dbias.extents().heads;
    for (index_t key = block.rank() % 32; key < keys; key += 32) {
      A sum = is_first ? A(0) : row_sums[key];
      for (index_t n = 0; n < heads_per_group; ++n)
        sum += score_grad_row(map, pos.head * heads_per_group + n, pos.row)(key);
      if (is_last)
        store_or_accumulate_sum(mode, dbias(group / heads, group % heads, pos.row, key), sum);
      else
        row_sums[key] = sum;
    }
  }
};

// Sums each head over all pairs with the same distance. Adjacent threads walk down adjacent
// diagonals.
template <class T>
struct diagonal_sums_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;
  using score_grad_row = typename score_grad_map<T>::row_view;

  score_grad_map<T> map{};
  A* sums{};  // [batch * heads, queries + keys - 1]

  SLICESORT_HD index_t distances() const { return map.rows.queries + map.rows.keys - 1; }
  index_t blocks() const { return map.rows.heads * divide_up(distances(), max_threads); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const tiles = divide_up(distances(), block.size());
    index_t const head = block.index() / tiles;
    index_t const diagonal = block.index() % tiles * block.size() + block.rank();
    if (diagonal >= distances()) return;
    index_t const rows_above =
        map.rows.queries - 1 - diagonal;  // rows above the diagonal's first element
    A sum(0);
    for (index_t row = rows_above < 0 ? 0 : rows_above;
         row < map.rows.queries && row - rows_above < map.rows.keys; ++row)
      sum += score_grad_row(map, head, row)(row - rows_above);
    sums[map.rows.pair(head) * distances() + diagonal] = sum;
  }
};

SLICESORT_DETAIL_END

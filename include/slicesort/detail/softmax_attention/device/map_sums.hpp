// SPDX-License-Identifier: Apache-2.0
// Gradient of a relative or shared bias: sums the score gradients of several heads before rounding.
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
  static constexpr int max_threads = 32 * head_chunk::rows_per_block;
  using A = accumulator_t<T>;
  using score_grad_row = typename score_grad_reader<T>::row_view;

  score_grad_reader<T> reader{};
  index_t first_group{}, groups{}, heads_per_group{};
  bool is_first{}, is_last{};  // true if this chunk has the first (last) heads of its groups
  A* sums{};                   // [all groups, queries, keys]
  tensor4<T> dbias{};
  grad_mode mode{};

  // Selects the groups of this chunk. A call without heads selects all groups, to store zeros.
  SLICESORT_HD void select_groups(attention_shape const& shape) {
    bool const shares_samples = shape.dbias.batch != shape.batch,
               shares_heads = shape.dbias.heads != shape.heads;
    head_chunk const& chunk = reader.chunk;
    first_group = (shares_samples ? 0 : chunk.sample) * shape.dbias.heads +
                  (shares_heads ? 0 : chunk.first_head);
    groups = shares_heads ? 1 : chunk.heads;
    heads_per_group = shares_heads ? chunk.heads : 1;
    is_first = (!shares_samples || chunk.sample == 0) && (!shares_heads || chunk.first_head == 0);
    is_last = (!shares_samples || chunk.sample == shape.batch - 1) &&
              (!shares_heads || chunk.first_head + chunk.heads == shape.heads);
    if (shape.pairs() == 0) {
      first_group = 0, groups = shape.dbias.groups(), heads_per_group = 0;
      is_first = is_last = true;
    }
  }
  index_t blocks() const {
    return groups * divide_up(reader.chunk.queries, head_chunk::rows_per_block);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    head_chunk::position const pos = reader.chunk.position_of(block.index(), block.rank());
    if (!pos.has_row) return;
    index_t const keys = reader.chunk.keys, group = first_group + pos.head;
    A* const row_sums = sums + (group * reader.chunk.queries + pos.row) * keys;
    index_t const heads = dbias.extents().heads;
    for (index_t key = block.rank() % 32; key < keys; key += 32) {
      A sum = is_first ? A(0) : row_sums[key];
      for (index_t n = 0; n < heads_per_group; ++n)
        sum += score_grad_row(reader, pos.head * heads_per_group + n, pos.row)(key);
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
  using score_grad_row = typename score_grad_reader<T>::row_view;

  score_grad_reader<T> reader{};
  A* sums{};  // [batch * heads, queries + keys - 1]

  SLICESORT_HD index_t distances() const { return reader.chunk.queries + reader.chunk.keys - 1; }
  index_t blocks() const { return reader.chunk.heads * divide_up(distances(), max_threads); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const tiles = divide_up(distances(), block.size());
    index_t const head = block.index() / tiles;
    index_t const diagonal = block.index() % tiles * block.size() + block.rank();
    if (diagonal >= distances()) return;
    index_t const rows_above =
        reader.chunk.queries - 1 - diagonal;  // rows above the diagonal's first element
    A sum(0);
    for (index_t row = rows_above < 0 ? 0 : rows_above;
         row < reader.chunk.queries && row - rows_above < reader.chunk.keys; ++row)
      sum += score_grad_row(reader, head, row)(row - rows_above);
    sums[reader.chunk.flat_head(head) * distances() + diagonal] = sum;
  }
};

SLICESORT_DETAIL_END

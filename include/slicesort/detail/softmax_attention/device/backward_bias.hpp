// SPDX-License-Identifier: Apache-2.0
// Backward pass for a bias that is relative, or that samples or heads share. Each block
// accumulates, in registers, the dS tiles that contribute to the same elements of dbias:
//
//   shared      the same tile of all samples and heads of a group
//   relative    the tiles of a head along a diagonal: each distance j - i is at the same position
//               in all of them. device/bias_sums.hpp then adds up the diagonals of the sum.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/softmax_attention/bias.hpp>
#include <slicesort/detail/softmax_attention/device/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/device/score_grad_tile.hpp>
#include <slicesort/detail/softmax_attention/device/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class Mask, class T>
struct attention_backward_bias_kernel {
  using score_grads = score_grad_tile<Mask, T, narrow_tile>;
  using A = typename score_grads::A;
  using scores = typename score_grads::scores;
  static constexpr int max_threads = 32 * score_grads::max_warps;
  static constexpr int keys_per_tile = score_grads::keys_per_tile;

  score_grads tile;
  tensor4<T> dbias{};
  grad_mode mode{};
  dbias_shape reduction_shape{};
  A* distance_sums{};  // [batch * heads, bands, distances of a band]; null if dbias is shared

  template <class SharedAllocator>
  SLICESORT_HD typename score_grads::memory shared(SharedAllocator& allocator) const {
    return tile.shared(allocator);
  }

  SLICESORT_HD bool is_relative_bias() const {
    return reduction_shape.layout == dbias_layout::relative;
  }
  static SLICESORT_HD diagonal_bands bands_of(index_t queries, index_t keys, index_t rows) {
    return {rows, keys_per_tile, divide_up(queries, rows), divide_up(keys, keys_per_tile)};
  }
  SLICESORT_HD diagonal_bands bands() const {
    return bands_of(tile.in.q.extents().length, tile.in.v.extents().length,
                    tile.queries_per_block());
  }
  // Upper bound on the partial sums of a head for a relative bias, for any number of warps.
  static index_t max_partial_sums(index_t queries, index_t keys) {
    index_t max_sums = 0;
    for (int warps = 1; warps <= score_grads::max_warps; warps *= 2)
      max_sums = std::max(
          max_sums,
          bands_of(queries, keys, warps * 16 * score_grads::tiles_per_warp).partial_sums());
    return max_sums;
  }
  index_t blocks() const {
    diagonal_bands const tiles = bands();
    return is_relative_bias() ? tile.head_count() * tiles.count()
                              : reduction_shape.groups() * tiles.row_tiles * tiles.column_tiles;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    typename score_grads::memory const smem = shared(block);
    tile_sequence const sequence = tiles_of_block(block.index());
    scores sums;
    sums.clear();
    SLICESORT_NO_UNROLL
    for (index_t n = 0; n < sequence.count; ++n) add_score_grads(block, smem, sequence, n, sums);
    A* const staging = reinterpret_cast<A*>(smem.bias_tile);
    block.sync();
    tile.stage_tile(block, staging, sums);
    if (is_relative_bias())
      store_diagonals(block, staging);
    else
      store_sums(block, staging, sequence);
  }

 private:
  // Tiles to accumulate: `count` tiles, the first one and its steps to the next.
  struct tile_sequence {
    index_t flat_head, query, key;
    index_t head_step, query_step, key_step;
    index_t count;
  };
  SLICESORT_HD_INLINE tile_sequence tiles_of_block(index_t block_index) const {
    diagonal_bands const tiles = bands();
    tile_sequence sequence{};
    if (!is_relative_bias()) {
      extents4 const q = tile.in.q.extents();
      index_t const tile_count = tiles.row_tiles * tiles.column_tiles;
      auto const group = reduction_shape.group_of(block_index / tile_count, q.batch, q.heads);
      sequence.flat_head = group.first, sequence.head_step = group.step,
      sequence.count = group.count;
      sequence.query = block_index % tile_count / tiles.column_tiles * tiles.rows;
      sequence.key = block_index % tiles.column_tiles * tiles.columns;
      return sequence;
    }
    index_t const band = tiles.first() + block_index % tiles.count();
    index_t const row = band < 0 ? divide_up(-band, tiles.step()) : 0,
                  column = row * tiles.step() + band;
    index_t const columns_left = divide_up(tiles.column_tiles - column, tiles.step());
    sequence.flat_head = block_index / tiles.count();
    sequence.query = row * tiles.rows, sequence.key = column * tiles.columns;
    sequence.query_step = sequence.key_step = tiles.rows;
    sequence.count = columns_left < tiles.row_tiles - row ? columns_left : tiles.row_tiles - row;
    return sequence;
  }

  // Accumulates dS of tile n. Skips rows past the sample's valid queries.
  template <class Block>
  SLICESORT_HD_INLINE void add_score_grads(Block& block, typename score_grads::memory const& smem,
                                           tile_sequence const& sequence, index_t n,
                                           scores& sums) const {
    block.sync();
    tile.stage_queries(block, smem, sequence.flat_head + n * sequence.head_step,
                       sequence.query + n * sequence.query_step, 0);
    typename score_grads::walk_state walk =
        tile.single_tile_walk(block, sequence.key + n * sequence.key_step);
    if (!tile.is_visible(smem, walk.key)) return;
    scores s, dp;
    s.clear(), dp.clear();
    tile.multiply(block, smem, walk, s, dp, smem.tiles);
    tile.weights_to_score_grads(block, smem, walk, s, dp);
    tile_lane const lane(block.rank());
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      if (smem.task->first + walk.warp_row + scores::row(i, lane) < smem.task->queries)
        sums[i] += dp[i];
  }

  template <class Block>
  SLICESORT_HD_INLINE void store_sums(Block& block, A const* staging,
                                      tile_sequence const& sequence) const {
    diagonal_bands const tiles = bands();
    index_t const group = block.index() / (tiles.row_tiles * tiles.column_tiles);
    score_grads::store_staged(
        block, staging,
        {dbias, {group / reduction_shape.heads, group % reduction_shape.heads}, 0, mode},
        sequence.query, sequence.key);
  }
  // Element n of `distance_sums` is the sum over the pairs with column - row = n - (rows - 1).
  template <class Block>
  SLICESORT_HD_INLINE void store_diagonals(Block& block, A const* staging) const {
    diagonal_bands const tiles = bands();
    int const rows = static_cast<int>(tiles.rows), count = static_cast<int>(tiles.distances());
    SLICESORT_NO_UNROLL
    for (int n = block.rank(); n < count; n += block.size()) {
      int const rows_above = rows - 1 - n;  // rows above the diagonal's first element
      A sum(0);
      SLICESORT_NO_UNROLL
      for (int row = rows_above < 0 ? 0 : rows_above;
           row < rows && row - rows_above < keys_per_tile; ++row)
        sum += staging[row * keys_per_tile + row - rows_above];
      distance_sums[block.index() * count + n] = sum;
    }
  }
};

SLICESORT_DETAIL_END

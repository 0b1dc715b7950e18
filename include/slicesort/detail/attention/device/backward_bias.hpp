// SPDX-License-Identifier: Apache-2.0
// Backward pass for a bias that is relative, or that samples or heads share. Each block
// accumulates, in registers, the dS tiles that contribute to the same elements of dbias:
//
//   shared      the same tile of all samples and heads of a group
//   relative    the tiles of a head along a diagonal: each distance j - i is at the same position
//               in all of them. device/bias_sums.hpp then adds up the diagonals of the sum.
#pragma once

#include <slicesort/detail/attention/bias.hpp>
#include <slicesort/detail/attention/device/bias_sums.hpp>
#include <slicesort/detail/attention/device/score_grad_tile.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class Weights, class Mask>
struct attention_backward_bias_kernel {
  using score_grads = score_grad_tile<Weights, Mask, narrow_tile>;
  using T = typename Weights::element;
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
  static SLICESORT_HD diagonal_bands make_bands(index_t queries, index_t keys, index_t rows) {
    return {rows, keys_per_tile, divide_up(queries, rows), divide_up(keys, keys_per_tile)};
  }
  SLICESORT_HD diagonal_bands make_bands() const {
    return make_bands(tile.in.q.extents().length, tile.in.v.extents().length,
                      tile.queries_per_block());
  }
  // Upper bound on the number of partial sums per head for a relative bias, for any number of
  // warps.
  static index_t max_partial_sums(index_t queries, index_t keys) {
    index_t max_sums = 0;
    for (int warps = 1; warps <= score_grads::max_warps; warps *= 2)
      max_sums = std::max(
          max_sums,
          make_bands(queries, keys, warps * 16 * score_grads::tiles_per_warp).partial_sum_count());
    return max_sums;
  }
  index_t blocks() const {
    diagonal_bands const bands = make_bands();
    return is_relative_bias() ? tile.head_count() * bands.band_count()
                              : reduction_shape.groups() * bands.row_tiles * bands.column_tiles;
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
  // Tiles that a block accumulates: the first one, the steps between them, and their count.
  struct tile_sequence {
    index_t flat_head, query, key;
    index_t head_step, query_step, key_step;
    index_t count;
  };
  SLICESORT_HD_INLINE tile_sequence tiles_of_block(index_t block_index) const {
    diagonal_bands const bands = make_bands();
    tile_sequence sequence{};
    if (!is_relative_bias()) {
      extents4 const q = tile.in.q.extents();
      index_t const tile_count = bands.row_tiles * bands.column_tiles;
      auto const group = reduction_shape.group_of(block_index / tile_count, q.batch, q.heads);
      sequence.flat_head = group.first, sequence.head_step = group.step,
      sequence.count = group.count;
      sequence.query = block_index % tile_count / bands.column_tiles * bands.rows;
      sequence.key = block_index % bands.column_tiles * bands.columns;
      return sequence;
    }
    index_t const band = bands.first_band() + block_index % bands.band_count();
    index_t const row = band < 0 ? divide_up(-band, bands.bands_per_tile_row()) : 0,
                  column = row * bands.bands_per_tile_row() + band;
    index_t const columns_left = divide_up(bands.column_tiles - column, bands.bands_per_tile_row());
    sequence.flat_head = block_index / bands.band_count();
    sequence.query = row * bands.rows, sequence.key = column * bands.columns;
    sequence.query_step = sequence.key_step = bands.rows;
    sequence.count = columns_left < bands.row_tiles - row ? columns_left : bands.row_tiles - row;
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
    diagonal_bands const bands = make_bands();
    index_t const group = block.index() / (bands.row_tiles * bands.column_tiles);
    score_grads::store_staged(
        block, staging,
        {dbias, {group / reduction_shape.heads, group % reduction_shape.heads}, 0, mode},
        sequence.query, sequence.key);
  }
  // Element n of `distance_sums` is the sum over the pairs with column - row = n - (rows - 1).
  template <class Block>
  SLICESORT_HD_INLINE void store_diagonals(Block& block, A const* staging) const {
    diagonal_bands const bands = make_bands();
    int const rows = static_cast<int>(bands.rows),
              count = static_cast<int>(bands.distances_per_band());
    SLICESORT_NO_UNROLL
    for (int n = block.rank(); n < count; n += block.size()) {
      int const first_row = rows - 1 - n;  // of the diagonal; negative if it starts in row 0
      A sum(0);
      SLICESORT_NO_UNROLL
      for (int row = first_row < 0 ? 0 : first_row; row < rows && row - first_row < keys_per_tile;
           ++row)
        sum += staging[row * keys_per_tile + row - first_row];
      distance_sums[block.index() * count + n] = sum;
    }
  }
};

SLICESORT_DETAIL_END

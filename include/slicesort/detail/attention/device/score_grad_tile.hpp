// SPDX-License-Identifier: Apache-2.0
// Tile of score gradients dS that a block computes: some queries of a head by some keys. Shared by
// the backward passes for queries and for a bias.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/device/dropout.hpp>
#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/device/weights.hpp>
#include <slicesort/detail/attention/dropout.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class Weights, class Mask, int Width>
struct score_grad_tile {
  static constexpr int max_warps = 4;
  using T = typename Weights::element;
  using A = accumulator_t<T>;
  using stats = typename Weights::stats;
  static constexpr bool has_stats = has_query_stats<Weights>;
  using vector16 = tile_vector16<T>;
  static constexpr int tiles_per_warp = sizeof(A) == 8 ? 1 : 2;  // tiles of 16 queries
  static constexpr int keys_per_tile = sizeof(A) == 8 ? 16 : 32;
  static constexpr int columns = keys_per_tile / 8,
                       vectors_per_row = Width / elements_per_vector16<T>;

  using scores = register_tile<A, tiles_per_warp, columns>;  // [queries of the warp, keys]

  Mask mask;
  Weights weights;
  A scale{};
  attention_inputs<T> in{};
  tensor4<T const> dy{};  // [batch, heads, queries, channels]
  attention_lengths lengths{};
  int warps{};
  int buffers{};          // shared buffers of k and v: 1 or 2
  bool computes_dbias{};  // true if dS is staged in shared memory

  // Tensors whose rows a block loads.
  enum source { source_q, source_dy, source_k, source_v, source_bias, source_count };
  struct memory {
    vector16* block_rows;  // [q, dy][queries of the block, Width]
    vector16* tiles;       // [buffers][k, v][keys_per_tile, Width]
    attention_task* task;
    head_rows<T>* sources;  // [source_count]
    stats* query;           // [queries of the block]
    key_range* ranges;      // [queries of the block]
    range_bounds* bounds;   // [warps]
    T* bias_tile;  // [queries of the block, keys_per_tile]: bias or -infinity; later dS, in A
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& allocator) const {
    auto const queries = static_cast<std::size_t>(queries_per_block());
    constexpr auto row_vectors = static_cast<std::size_t>(vectors_per_row);
    constexpr auto keys = static_cast<std::size_t>(keys_per_tile);
    std::size_t const elements_per_score = computes_dbias ? sizeof(A) / sizeof(T) : 1;
    memory smem{};
    smem.block_rows = allocator.template allocate<vector16>(2 * queries * row_vectors);
    smem.tiles = allocator.template allocate<vector16>(static_cast<std::size_t>(2 * buffers) *
                                                       keys * row_vectors);
    smem.task = allocator.template allocate<attention_task>(1);
    smem.sources = allocator.template allocate<head_rows<T>>(source_count);
    if constexpr (has_stats) smem.query = allocator.template allocate<stats>(queries);
    smem.ranges = allocator.template allocate<key_range>(queries);
    smem.bounds = allocator.template allocate<range_bounds>(static_cast<std::size_t>(warps));
    smem.bias_tile = allocator.template allocate<T>(queries * keys * elements_per_score);
    return smem;
  }

  SLICESORT_HD int queries_per_block() const { return warps * 16 * tiles_per_warp; }
  SLICESORT_HD index_t tiles() const {
    return divide_up(in.q.extents().length, queries_per_block());
  }
  SLICESORT_HD index_t head_count() const { return attention_shape(in).pairs(); }

  // Position in the loop over the key tiles. With two buffers, the next tile is copied while this
  // one is processed; the first iteration only copies.
  struct walk_state {
    int warp_row;  // first query of the warp, relative to the block
    int dq_chunk;  // chunk of dq that the block computes
    int channel_chunks;
    index_t key;   // first key of the tile
    index_t next;  // first key of the next tile; used by sparse masks only
    index_t end;
    int buffer;
    bool writes_dbias;  // true if this pass stores dbias
    bool double_buffered;
    bool block_rows_loaded;  // true if q and dy have been copied

    SLICESORT_HD bool copies_only() const { return double_buffered && !block_rows_loaded; }
  };

  // Stages sources, statistics and key ranges of the queries from `first` on.
  template <class Block>
  SLICESORT_HD_INLINE void stage_queries(Block& block, memory const& smem, index_t flat_head,
                                         index_t first, index_t channel) const {
    index_t const heads = in.q.extents().heads, rows = in.q.extents().length;
    head_index const head{flat_head / heads, flat_head % heads};
    index_t const queries = valid_rows(lengths.queries, head.sample, rows);
    index_t const keys = valid_rows(lengths.keys, head.sample, in.v.extents().length);
    if (block.rank() == 0) {
      *smem.task = {head, first, channel, queries, keys};
      smem.sources[source_q] = {in.q, head, queries};
      smem.sources[source_dy] = {dy, head, queries};
      head_index const kv_head = kv_head_of(head, heads, in.k.extents().heads);
      smem.sources[source_k] = {in.k, kv_head, keys};
      smem.sources[source_v] = {in.v, kv_head, keys};
      smem.sources[source_bias] = {in.bias, head, queries};
    }
    if constexpr (has_stats)
      for (int i = block.rank(); i < queries_per_block(); i += block.size())
        smem.query[i] = first + i < rows ? weights.query[flat_head * rows + first + i] : stats{};
    stage_ranges(block, mask_of(mask, head), smem.ranges, smem.bounds, first, queries_per_block(),
                 queries, keys);
  }
  // Walk state that visits a single tile.
  template <class Block>
  SLICESORT_HD_INLINE walk_state single_tile_walk(Block& block, index_t key) const {
    index_t const channels = in.q.extents().channels, value_channels = in.v.extents().channels;
    walk_state walk{};
    walk.warp_row = block.rank() / 32 * (16 * tiles_per_warp);
    walk.channel_chunks = chunks_of<Width>(channels > value_channels ? channels : value_channels);
    walk.key = key;
    walk.end = in.v.extents().length;
    return walk;
  }
  // True if any query of the block sees any key of the tile.
  SLICESORT_HD_INLINE bool is_visible(memory const& smem, index_t key) const {
    if constexpr (is_sparse<Mask>)
      return tile_meets(mask_of(mask, smem.task->head), *smem.task, *smem.bounds,
                        queries_per_block(), key, keys_per_tile);
    else
      return smem.bounds->meets(key, key + keys_per_tile);
  }

  // S += Q K^T and dP += dO V^T, chunk by chunk. The last chunk is dq_chunk. Starts the
  // asynchronous copies of the next tile.
  template <class Block>
  SLICESORT_HD_INLINE void multiply(Block& block, memory const& smem, walk_state& walk, scores& s,
                                    scores& dp, vector16 const* k) const {
    bool const copies_only = walk.copies_only();
    int const rows = queries_per_block();
    index_t const channels = in.q.extents().channels, value_channels = in.v.extents().channels;
    SLICESORT_NO_UNROLL
    for (int step = 1; step <= walk.channel_chunks; ++step) {
      int const chunk = (walk.dq_chunk + step) % walk.channel_chunks;
      index_t const key_to_load = walk.double_buffered ? next_tile(walk) : walk.key;
      if (walk.double_buffered) block.await_copies();
      block.sync();
      if (key_to_load < walk.end) {
        if (walk.channel_chunks > 1 || !walk.block_rows_loaded)
          load_tiles_async<Width>(block, smem.block_rows, smem.sources + source_q, 2,
                                  smem.task->first, rows, chunk * Width);
        int const buffer = walk.double_buffered && !copies_only ? 1 - walk.buffer : 0;
        load_tiles_async<Width>(block, smem.tiles + buffer * (2 * keys_per_tile * vectors_per_row),
                                smem.sources + source_k, 2, key_to_load, keys_per_tile,
                                chunk * Width);
      }
      walk.block_rows_loaded = true;
      if (copies_only) break;
      if (!walk.double_buffered) block.await_copies(), block.sync();
      block.template mma_abt<Width>(s, smem.block_rows + walk.warp_row * vectors_per_row, k,
                                    valid_channels(channels - chunk * Width));
      block.template mma_abt<Width>(dp, smem.block_rows + (rows + walk.warp_row) * vectors_per_row,
                                    k + keys_per_tile * vectors_per_row,
                                    valid_channels(value_channels - chunk * Width));
    }
  }

  // Turns dP into dS.
  template <class Block>
  SLICESORT_HD_INLINE void weights_to_score_grads(Block& block, memory const& smem,
                                                  walk_state const& walk, scores& s,
                                                  scores& dp) const {
    A const sample_scale = weights.scale_of(block, scale, smem.task->keys);
    A score_scale = sample_scale;
    if (tests_each_key<Mask> || in.bias.data() != nullptr || walk.writes_dbias ||
        !tile_is_covered(mask, *smem.task, *smem.bounds, queries_per_block(), walk.key,
                         keys_per_tile)) {
      stage_bias<false, keys_per_tile>(block, smem.bias_tile, queries_per_block(),
                                       mask_of(mask, smem.task->head), smem.ranges,
                                       smem.task->first, walk.key, smem.sources[source_bias]);
      block.sync();
      mask_scores(block, s, sample_scale, smem.bias_tile + walk.warp_row * keys_per_tile);
      score_scale = A(1);
    }
    if constexpr (Weights::supports_dropout)
      if (weights.dropout.is_enabled()) {
        scale_tile(dp, static_cast<A>(weights.dropout.scale));
        keep_mask<false, tiles_per_warp, columns> keep;
        keep.compute(
            block, weights.dropout,
            {smem.task->head, in.v.extents().length, smem.task->first + walk.warp_row, walk.key});
        drop_weights(dp, keep);
      }
    int const lane_group = tile_lane(Block::opaque(block.rank())).group;
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      dp[i] = weights
                  .weigh(block, s[i], score_scale,
                         stats_of_query(smem.query,
                                        walk.warp_row + scores::lane_row(i) * 8 + lane_group),
                         dp[i])
                  .score_grad;
  }

  // Stages the block's score gradients: [queries of the block, keys_per_tile].
  template <class Block>
  static SLICESORT_HD_INLINE void stage_tile(Block& block, A* staging, scores const& score_grads) {
    tile_lane const lane(block.rank());
    A* const warp_staging = staging + block.rank() / 32 * (16 * tiles_per_warp * keys_per_tile);
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      warp_staging[scores::row(i, lane) * keys_per_tile + scores::column(i, lane)] = score_grads[i];
    block.sync();
  }
  // Stores staged gradients. When accumulating, skips zeros, such as those of masked pairs.
  template <class Block>
  static SLICESORT_HD_INLINE void store_staged(Block& block, A const* staging,
                                               head_results<T> const& results, index_t row,
                                               index_t key) {
    SLICESORT_NO_UNROLL
    for (int i = block.rank(); i < block.size() / 2 * tiles_per_warp * keys_per_tile;
         i += block.size()) {
      index_t const query = row + i / keys_per_tile, column = key + i % keys_per_tile;
      if (query >= results.total || column >= results.channels) continue;
      if (results.mode == grad_mode::accumulate && staging[i] == A(0)) continue;
      store_or_accumulate_sum(
          results.mode, results.data[query * results.stride + column * results.channel_stride],
          staging[i]);
    }
  }

  static SLICESORT_HD_INLINE index_t next_tile(walk_state const& walk) {
    return is_sparse<Mask> ? walk.next : walk.key + keys_per_tile;
  }
  static SLICESORT_HD int valid_channels(index_t remaining) {
    return remaining < 0 ? 0 : remaining < Width ? static_cast<int>(remaining) : Width;
  }
};

SLICESORT_DETAIL_END

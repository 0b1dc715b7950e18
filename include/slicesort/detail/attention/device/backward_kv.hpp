// SPDX-License-Identifier: Apache-2.0
// Backward pass for keys and values. A block owns some keys of a head of k and iterates over the
// query tiles that see any of them, one query head of the group after the other. Scores are
// computed transposed, one row per key: the weights are then in the registers that the next product
// reads, and each gradient is written by a single block.
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
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class Weights, class Mask, int Width>
struct attention_backward_kv_kernel {
  static constexpr int max_threads = 256;
  using T = typename Weights::element;
  using A = accumulator_t<T>;
  using stats = typename Weights::stats;
  using vector16 = tile_vector16<T>;
  static constexpr int queries_per_tile = sizeof(T) == 2 ? 64 : sizeof(T) == 4 ? 32 : 16;
  static constexpr int columns = queries_per_tile / 8,
                       vectors_per_row = Width / elements_per_vector16<T>;
  static constexpr bool has_stats = has_query_stats<Weights>;
  static constexpr int vectors_per_stats = static_cast<int>(sizeof(stats)) / 16;

  using scores = register_tile<A, 1, columns>;       // [keys of the warp, queries]
  using gradients = register_tile<A, 1, Width / 8>;  // [keys of the warp, channels]

  Mask mask;
  Weights weights;
  A scale{};
  attention_inputs<T> in{};
  tensor4<T const> dy{};  // [batch, heads, queries, channels]
  // [batch, query tiles]; [batch * heads, query tiles] if masks differ by head
  range_bounds const* bounds{};
  tensor4<T> dk{}, dv{};  // [batch, heads of k, keys, channels]
  grad_mode mode{};
  attention_lengths lengths{};
  int warps{};
  int buffers{};  // shared buffers of q and dy: 1 or 2

  // Tensors whose rows a block loads.
  enum source { source_k, source_v, source_q, source_dy, source_bias, source_count };
  struct memory {
    vector16* block_rows;  // [k, v][keys of the block, Width]
    vector16* tiles;       // [buffers][q, dy][queries_per_tile, Width]
    attention_task* task;
    head_rows<T>* sources;  // [source_count]
    stats* query;           // [buffers, queries_per_tile]
    key_range* ranges;      // [buffers, queries_per_tile]
    T* bias_tile;           // [keys of the block, queries_per_tile]: bias or -infinity
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& allocator) const {
    auto const kv_rows = static_cast<std::size_t>(2 * keys_per_block());
    auto const tile_rows = static_cast<std::size_t>(buffers * queries_per_tile);
    auto const pairs = static_cast<std::size_t>(keys_per_block() * queries_per_tile);
    constexpr auto row_vectors = static_cast<std::size_t>(vectors_per_row);
    memory smem{};
    smem.block_rows = allocator.template allocate<vector16>(kv_rows * row_vectors);
    smem.tiles = allocator.template allocate<vector16>(2 * tile_rows * row_vectors);
    smem.task = allocator.template allocate<attention_task>(1);
    smem.sources = allocator.template allocate<head_rows<T>>(source_count);
    if constexpr (has_stats) smem.query = allocator.template allocate<stats>(tile_rows);
    smem.ranges = allocator.template allocate<key_range>(tile_rows);
    smem.bias_tile = allocator.template allocate<T>(pairs);
    return smem;
  }

  SLICESORT_HD int keys_per_block() const { return warps * 16; }
  // Dropout needs registers that wide tiles do not have, so calls with dropout use narrow tiles.
  static constexpr bool supports_dropout = Weights::supports_dropout && Width == narrow_tile;
  SLICESORT_HD bool has_dropout() const {
    if constexpr (supports_dropout)
      return weights.dropout.is_enabled();
    else
      return false;
  }
  // Chunks of the wider of dk and dv. Each chunk is one pass over the products q k^T and dy v^T.
  SLICESORT_HD int chunks() const {
    index_t const channels = in.q.extents().channels, value_channels = in.v.extents().channels;
    return chunks_of<Width>(channels > value_channels ? channels : value_channels);
  }
  SLICESORT_HD index_t tiles() const { return divide_up(in.v.extents().length, keys_per_block()); }
  index_t blocks() const { return attention_shape(in).kv_pairs() * tiles() * chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const smem = shared(block);
    // Passed as arguments, because recomputing them in each step costs registers.
    int const rows = keys_per_block(), warp_row = block.rank() / 32 * 16, channel_chunks = chunks();
    stage_task(block, smem, rows, channel_chunks);
    gradients sums_k, sums_v;
    sums_k.clear(), sums_v.clear();
    SLICESORT_NO_UNROLL
    do add_head(block, smem, rows, warp_row, channel_chunks, sums_k, sums_v);
    while (stage_next_head(block, smem));
    store_gradients(block, smem, sums_k, sums_v);
  }

 private:
  // Position in the loop over the query tiles. With two buffers, the next tile is copied while this
  // one is processed; the first iteration only copies.
  struct walk_state {
    int rows;      // keys per block
    int warp_row;  // first key of the warp, relative to the block
    int channel_chunks;
    int count;       // number of query tiles
    int tile, next;  // current tile (-1 if none yet), and the next one
    int buffer;      // buffer of `tile`
    bool double_buffered;
    bool block_rows_loaded;    // true if k and v have been copied
    bool masked, next_masked;  // true if the scores of `tile` (`next`) are masked or biased
  };

  // Adds the gradients that one query head causes.
  template <class Block>
  SLICESORT_HD_INLINE void add_head(Block& block, memory const& smem, int rows, int warp_row,
                                    int channel_chunks, gradients& sums_k,
                                    gradients& sums_v) const {
    attention_task const& task = *smem.task;
    index_t const channels = in.q.extents().channels, value_channels = in.v.extents().channels;
    walk_state walk = first_tile(smem, rows, warp_row, channel_chunks);
    SLICESORT_NO_UNROLL
    while (walk.tile < 0 ? walk.next < walk.count : walk.tile < walk.count) {
      vector16 const* const q = smem.tiles + walk.buffer * (2 * queries_per_tile * vectors_per_row);
      vector16 const* const dy_rows = q + queries_per_tile * vectors_per_row;
      scores s, dp;
      s.clear(), dp.clear();
      multiply(block, smem, walk, s, dp, q, dy_rows);
      if (walk.tile >= 0) {
        weights_and_score_grads(block, smem, walk, s, dp);
        auto const weight_operand = block.template mma_operand<T>(s);
        auto const score_grads = block.template mma_operand<T>(dp);
        if (dv.data() != nullptr)
          block.template mma_ab<Width>(sums_v, weight_operand, dy_rows,
                                       valid_channels(value_channels - task.channel));
        if (dk.data() != nullptr)
          block.template mma_ab<Width>(sums_k, score_grads, q,
                                       valid_channels(channels - task.channel));
        if (walk.double_buffered) walk.buffer = 1 - walk.buffer;
      }
      advance(smem, walk);
    }
  }

  template <class Block>
  SLICESORT_HD_INLINE void stage_task(Block& block, memory const& smem, int rows,
                                      int channel_chunks) const {
    attention_shape const shape(in);
    index_t const chunk = block.index() % channel_chunks,
                  tile_index = block.index() / channel_chunks;
    index_t const first_key = tile_index % tiles() * rows, flat_head = tile_index / tiles();
    head_index const kv_head{flat_head / shape.kv_heads, flat_head % shape.kv_heads},
        head{kv_head.sample, kv_head.head * shape.group()};
    index_t const queries = valid_rows(lengths.queries, head.sample, shape.queries);
    index_t const keys = valid_rows(lengths.keys, head.sample, shape.keys);
    if (block.rank() == 0) {
      *smem.task = {head, first_key, chunk * Width, queries, keys};
      smem.sources[source_k] = {in.k, kv_head, keys};
      smem.sources[source_v] = {in.v, kv_head, keys};
      stage_head_sources(smem);
    }
    block.sync();
  }
  SLICESORT_HD_INLINE void stage_head_sources(memory const& smem) const {
    attention_task const& task = *smem.task;
    smem.sources[source_q] = {in.q, task.head, task.queries};
    smem.sources[source_dy] = {dy, task.head, task.queries};
    smem.sources[source_bias] = {in.bias, task.head, task.queries};
  }
  // Stages the next query head of the group; false after the last one.
  template <class Block>
  SLICESORT_HD_INLINE bool stage_next_head(Block& block, memory const& smem) const {
    index_t const heads = in.q.extents().heads, kv_heads = in.k.extents().heads;
    if (heads == kv_heads) return false;
    index_t const next = smem.task->head.head + 1;
    if (next % (heads / kv_heads) == 0) return false;
    block.sync();
    if (block.rank() == 0) {
      smem.task->head.head = next;
      stage_head_sources(smem);
    }
    block.sync();
    return true;
  }
  SLICESORT_HD_INLINE walk_state first_tile(memory const& smem, int rows, int warp_row,
                                            int channel_chunks) const {
    walk_state walk{};
    walk.rows = rows;
    walk.warp_row = warp_row;
    walk.channel_chunks = channel_chunks;
    walk.count = static_cast<int>(divide_up(in.q.extents().length, queries_per_tile));
    walk.double_buffered = walk.channel_chunks == 1 && buffers > 1;
    walk.tile = walk.next = -1;
    if (smem.task->first < end_of_keys(smem, walk))
      find_next(smem, walk);
    else
      walk.next = walk.count;
    if (!walk.double_buffered && walk.next < walk.count) advance(smem, walk);
    return walk;
  }

  static SLICESORT_HD int valid_channels(index_t remaining) {
    return remaining < 0 ? 0 : remaining < Width ? static_cast<int>(remaining) : Width;
  }
  SLICESORT_HD index_t end_of_keys(memory const& smem, walk_state const& walk) const {
    index_t const end = smem.task->first + walk.rows;
    return end < smem.task->keys ? end : smem.task->keys;
  }
  SLICESORT_HD_INLINE void advance(memory const& smem, walk_state& walk) const {
    walk.tile = walk.next;
    walk.masked = walk.next_masked;
    find_next(smem, walk);
  }
  // Advances `next` to the next tile with a query that sees any of the keys.
  SLICESORT_HD_INLINE void find_next(memory const& smem, walk_state& walk) const {
    index_t const first = smem.task->first, end = end_of_keys(smem, walk);
    range_bounds const* const head_bounds =
        bounds + row_of_bounds<Mask>(smem.task->head, in.q.extents().heads) * walk.count;
    SLICESORT_NO_UNROLL
    for (++walk.next; walk.count > walk.next; ++walk.next) {
      range_bounds const tile_bounds = head_bounds[walk.next];
      if (!tile_bounds.meets(first, end)) continue;
      walk.next_masked =
          tests_each_key<Mask> || in.bias.data() != nullptr || !tile_bounds.covers(first, end);
      if constexpr (is_sparse<Mask>) {
        auto const& head_mask = mask_of(mask, smem.task->head);
        pair_range const pairs =
            pairs_of_tile(index_t{walk.next} * queries_per_tile, queries_per_tile,
                          smem.task->queries, first, walk.rows, smem.task->keys);
        if (!meets_pairs(head_mask, pairs)) continue;
        walk.next_masked = in.bias.data() != nullptr || !covers_pairs(head_mask, pairs);
      }
      // Statistics make the weights of padding 0; without them, the mask does.
      if constexpr (!has_stats)
        if (index_t{walk.next + 1} * queries_per_tile > smem.task->queries) walk.next_masked = true;
      return;
    }
  }

  // Starts the asynchronous copies of channel chunk `chunk` of a tile's q and dy, and of k and v
  // unless they are loaded.
  template <class Block>
  SLICESORT_HD_INLINE void load_async(Block& block, memory const& smem, walk_state const& walk,
                                      int tile, int buffer, int chunk) const {
    index_t const query = index_t{tile} * queries_per_tile;
    if (walk.channel_chunks > 1 || !walk.block_rows_loaded)
      load_tiles_async<Width>(block, smem.block_rows, smem.sources + source_k, 2, smem.task->first,
                              walk.rows, chunk * Width);
    load_tiles_async<Width>(block, smem.tiles + buffer * (2 * queries_per_tile * vectors_per_row),
                            smem.sources + source_q, 2, query, queries_per_tile, chunk * Width);
    load_stats_async(block, smem, tile, buffer, tile == walk.next ? walk.next_masked : walk.masked);
  }
  template <class Block>
  SLICESORT_HD_INLINE void load_stats_async(Block& block, memory const& smem, int tile, int buffer,
                                            bool masked) const {
    attention_task const& task = *smem.task;
    index_t const query = index_t{tile} * queries_per_tile, queries = in.q.extents().length;
    if constexpr (has_stats) {
      auto* const to = reinterpret_cast<unsigned char*>(smem.query + buffer * queries_per_tile);
      auto const* const from = reinterpret_cast<unsigned char const*>(
          weights.query + (task.head.sample * in.q.extents().heads + task.head.head) * queries +
          query);
      for (int i = block.rank(); i < queries_per_tile * vectors_per_stats; i += block.size())
        block.copy_async(to + 16 * i, from + 16 * i,
                         query + i / vectors_per_stats < queries ? 16 : 0);
    }
    if (masked)
      for (int i = block.rank(); i < queries_per_tile; i += block.size())
        smem.ranges[buffer * queries_per_tile + i] =
            query + i < task.queries
                ? clamped_key_range(mask_of(mask, task.head), query + i, task.keys)
                : key_range{0, 0};
  }

  // S^T += K Q^T and dP^T += V dO^T, chunk by chunk. The last chunk is the one whose gradients the
  // block computes. Starts the asynchronous copies of the next tile.
  template <class Block>
  SLICESORT_HD_INLINE void multiply(Block& block, memory const& smem, walk_state& walk, scores& s,
                                    scores& dp, vector16 const* q, vector16 const* dy_rows) const {
    index_t const channels = in.q.extents().channels, value_channels = in.v.extents().channels;
    SLICESORT_NO_UNROLL
    for (int step = 1; step <= walk.channel_chunks; ++step) {
      int const chunk = (static_cast<int>(smem.task->channel / Width) + step) % walk.channel_chunks;
      int const tile_to_load = walk.double_buffered ? walk.next : walk.tile;
      if (walk.double_buffered) block.await_copies();
      block.sync();
      if (tile_to_load < walk.count)
        load_async(block, smem, walk, tile_to_load,
                   walk.double_buffered && walk.tile >= 0 ? 1 - walk.buffer : 0, chunk);
      walk.block_rows_loaded = true;
      if (walk.tile < 0) break;
      if (!walk.double_buffered) block.await_copies(), block.sync();
      block.template mma_abt<Width>(s, smem.block_rows + walk.warp_row * vectors_per_row, q,
                                    valid_channels(channels - chunk * Width));
      block.template mma_abt<Width>(dp,
                                    smem.block_rows + (walk.rows + walk.warp_row) * vectors_per_row,
                                    dy_rows, valid_channels(value_channels - chunk * Width));
    }
  }

  // Turns S into weights P and dP into dS, then applies dropout to P.
  template <class Block>
  SLICESORT_HD_INLINE void weights_and_score_grads(Block& block, memory const& smem,
                                                   walk_state const& walk, scores& s,
                                                   scores& dp) const {
    int const first = walk.buffer * queries_per_tile;
    A const sample_scale = weights.scale_of(block, scale, smem.task->keys);
    A score_scale = sample_scale;
    if (walk.masked) {
      stage_bias<true, queries_per_tile>(
          block, smem.bias_tile, walk.rows, mask_of(mask, smem.task->head), smem.ranges + first,
          index_t{walk.tile} * queries_per_tile, smem.task->first, smem.sources[source_bias]);
      block.sync();
      mask_scores(block, s, sample_scale, smem.bias_tile + walk.warp_row * queries_per_tile);
      score_scale = A(1);
    }
    keep_mask<true, 1, columns> keep;
    if constexpr (supports_dropout)
      if (has_dropout()) {
        scale_tile(dp, static_cast<A>(weights.dropout.scale));
        keep.compute(block, weights.dropout,
                     {smem.task->head, in.v.extents().length, index_t{walk.tile} * queries_per_tile,
                      smem.task->first + walk.warp_row});
        drop_weights(dp, keep);
      }
    int const thread_in_group = tile_lane(Block::opaque(block.rank())).thread_in_group;
    SLICESORT_UNROLL
    for (int column = 0; column < scores::lane_columns; ++column) {
      stats query{};
      if constexpr (has_stats)
        query = smem.query[first + column / 2 * 8 + 2 * thread_in_group + column % 2];
      SLICESORT_UNROLL
      for (int row = 0; row < scores::lane_rows; ++row) {
        A &score = s.at(row, column), &dweight = dp.at(row, column);
        auto const result = weights.weigh(block, score, score_scale, &query, dweight);
        score = result.weight, dweight = result.score_grad;
      }
    }
    if (has_dropout()) drop_weights(s, keep);
  }

  // dK = scale * (dS^T Q), dV = P^T dO.
  template <class Block>
  SLICESORT_HD_INLINE void store_gradients(Block& block, memory const& smem, gradients& sums_k,
                                           gradients& sums_v) const {
    attention_task const& task = *smem.task;
    scale_tile(sums_k, weights.scale_of(block, scale, task.keys));
    if constexpr (supports_dropout)
      if (has_dropout()) scale_tile(sums_v, static_cast<A>(weights.dropout.scale));
    A* const staging = reinterpret_cast<A*>(smem.block_rows);
    head_index const kv_head = kv_head_of(task.head, in.q.extents().heads, in.k.extents().heads);
    if (dk.data() != nullptr)
      store_tile<Width>(block, staging, sums_k, 0, head_results<T>(dk, kv_head, task.keys, mode),
                        task.first, 1, task.channel);
    if (dv.data() != nullptr)
      store_tile<Width>(block, staging, sums_v, 0, head_results<T>(dv, kv_head, task.keys, mode),
                        task.first, 1, task.channel);
  }
};

SLICESORT_DETAIL_END

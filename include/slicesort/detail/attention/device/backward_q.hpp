// SPDX-License-Identifier: Apache-2.0
// Backward pass for the queries, and for a bias with one element per pair. A block owns a
// tile of queries of a head and a chunk of the channels of dq, iterates over the head's keys, and
// recomputes scores and weights.
#pragma once

#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/score_grad_tile.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class Weights, class Mask, int Width>
struct attention_backward_q_kernel {
  using score_grads = score_grad_tile<Weights, Mask, Width>;
  using T = typename Weights::element;
  using A = typename score_grads::A;
  using vector16 = typename score_grads::vector16;
  using scores = typename score_grads::scores;
  using memory = typename score_grads::memory;
  using walk_state = typename score_grads::walk_state;
  static constexpr int max_threads = 32 * score_grads::max_warps;
  static constexpr int tiles_per_warp = score_grads::tiles_per_warp;
  static constexpr int keys_per_tile = score_grads::keys_per_tile,
                       vectors_per_row = score_grads::vectors_per_row;

  using gradients = register_tile<A, tiles_per_warp, Width / 8>;  // [queries of the warp, channels]

  score_grads tile;
  tensor4<T> dq{};     // [batch, heads, queries, channels]
  tensor4<T> dbias{};  // [batch, heads, queries, keys]
  grad_mode mode{};

  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& allocator) const {
    return tile.shared(allocator);
  }
  SLICESORT_HD int dq_chunks() const { return chunks_of<Width>(tile.in.q.extents().channels); }
  index_t blocks() const { return tile.head_count() * tile.tiles() * dq_chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const smem = shared(block);
    index_t const tile_index = block.index() / dq_chunks();
    // Starts the blocks of the last queries first, because they have the most keys under a causal
    // mask.
    tile.stage_queries(block, smem, tile_index / tile.tiles(),
                       (tile.tiles() - 1 - tile_index % tile.tiles()) * tile.queries_per_block(),
                       block.index() % dq_chunks() * Width);
    attention_task const& task = *smem.task;
    gradients sums;
    sums.clear();
    walk_state walk = first_tile(block, smem);
    SLICESORT_NO_UNROLL
    for (; has_tile(walk); advance(block, smem, walk)) {
      bool const copies_only = walk.copies_only();
      vector16 const* const k = smem.tiles + walk.buffer * (2 * keys_per_tile * vectors_per_row);
      scores s, dp;
      s.clear(), dp.clear();
      tile.multiply(block, smem, walk, s, dp, k);
      if (copies_only) continue;
      tile.weights_to_score_grads(block, smem, walk, s, dp);
      if (walk.writes_dbias) {
        A* const staging = reinterpret_cast<A*>(smem.bias_tile);
        // Each thread overwrites only bias elements that it has read itself, unless A is wider than
        // T.
        if (sizeof(A) != sizeof(T)) block.sync();
        tile.stage_tile(block, staging, dp);
        tile.store_staged(block, staging, {dbias, task.head, task.queries, mode}, task.first,
                          walk.key);
      }
      if (dq.data() != nullptr)
        block.template mma_ab<Width>(
            sums, block.template mma_operand<T>(dp), k,
            tile.valid_channels(tile.in.q.extents().channels - task.channel));
      if (walk.double_buffered) walk.buffer = 1 - walk.buffer;
    }
    store_gradients(block, smem, sums);
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE walk_state first_tile(Block& block, memory const& smem) const {
    index_t const channels = tile.in.q.extents().channels,
                  value_channels = tile.in.v.extents().channels;
    walk_state walk{};
    walk.warp_row = block.rank() / 32 * (16 * tiles_per_warp);
    walk.dq_chunk = static_cast<int>(smem.task->channel / Width);
    walk.channel_chunks = chunks_of<Width>(channels > value_channels ? channels : value_channels);
    walk.writes_dbias = dbias.data() != nullptr && smem.task->channel == 0;
    walk.double_buffered = walk.channel_chunks == 1 && tile.buffers > 1;
    // dbias is written for every key, even masked ones.
    walk.key = walk.writes_dbias ? 0 : smem.bounds->first / keys_per_tile * keys_per_tile;
    walk.end = walk.writes_dbias ? tile.in.v.extents().length : smem.bounds->last;
    if constexpr (is_sparse<Mask>) {
      find_next(block, smem, walk, walk.key);
      if (!walk.double_buffered) advance(block, smem, walk);
    } else {
      if (walk.double_buffered) walk.key -= keys_per_tile;
    }
    return walk;
  }

  static SLICESORT_HD_INLINE bool has_tile(walk_state const& walk) {
    if constexpr (is_sparse<Mask>)
      return (walk.copies_only() ? walk.next : walk.key) < walk.end;
    else
      return walk.key + (walk.copies_only() ? keys_per_tile : 0) < walk.end;
  }
  template <class Block>
  SLICESORT_HD_INLINE void advance(Block& block, memory const& smem, walk_state& walk) const {
    if constexpr (is_sparse<Mask>) {
      walk.key = walk.next;
      if (walk.key < walk.end) find_next(block, smem, walk, walk.key + keys_per_tile);
    } else {
      (void)block, (void)smem, walk.key += keys_per_tile;
    }
  }
  // Advances `next` to the first tile from `key` on that is visible to any of the queries. Clears
  // dbias of the skipped tiles.
  template <class Block>
  SLICESORT_HD_INLINE void find_next(Block& block, memory const& smem, walk_state& walk,
                                     index_t key) const {
    auto const& head_mask = mask_of(tile.mask, smem.task->head);
    SLICESORT_NO_UNROLL
    for (; key < walk.end; key += keys_per_tile) {
      if (tile_meets(head_mask, *smem.task, *smem.bounds, tile.queries_per_block(), key,
                     keys_per_tile))
        break;
      if (walk.writes_dbias && mode == grad_mode::overwrite) clear_dbias(block, smem, key);
    }
    walk.next = key;
  }
  template <class Block>
  SLICESORT_HD_INLINE void clear_dbias(Block& block, memory const& smem, index_t key) const {
    head_results<T> const results(dbias, smem.task->head, smem.task->queries, mode);
    SLICESORT_NO_UNROLL
    for (int i = block.rank(); i < tile.queries_per_block() * keys_per_tile; i += block.size()) {
      index_t const query = smem.task->first + i / keys_per_tile, column = key + i % keys_per_tile;
      if (query < results.total && column < results.channels)
        results.data[query * results.stride + column * results.channel_stride] =
            static_cast<T>(0.0f);
    }
  }

  // dQ = scale * (dS K).
  template <class Block>
  SLICESORT_HD_INLINE void store_gradients(Block& block, memory const& smem,
                                           gradients& sums) const {
    if (dq.data() == nullptr) return;
    attention_task const& task = *smem.task;
    head_results<T> const results(dq, task.head, task.queries, mode);
    scale_tile(sums, tile.weights.scale_of(block, tile.scale, task.keys));
    SLICESORT_UNROLL
    for (int i = 0; i < tiles_per_warp; ++i)
      store_tile<Width>(block, reinterpret_cast<A*>(smem.block_rows), sums, i, results,
                        task.first + 16 * i, tiles_per_warp, task.channel);
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Forward pass (FlashAttention-2). A block owns some queries of a head and iterates over its keys
// tile by tile. A warp holds the scores and outputs of 16 or 32 queries in registers. Values are
// copied while the scores are computed, and the next keys while the weights are multiplied by the
// values. `Weights`: device/weights.hpp.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/device/dropout.hpp>
#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
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
struct attention_forward_kernel {
  static constexpr int max_threads = 128;
  using T = typename Weights::element;
  using A = accumulator_t<T>;
  using vector16 = tile_vector16<T>;
  static constexpr int tiles_per_warp = sizeof(A) == 8 ? 1 : 2;  // tiles of 16 queries
  static constexpr int keys_per_tile = sizeof(A) == 8 ? 32 : 64;
  static constexpr int columns = keys_per_tile / 8,
                       vectors_per_row = Width / elements_per_vector16<T>;

  using scores = register_tile<A, tiles_per_warp, columns>;     // [queries of the warp, keys]
  using outputs = register_tile<A, tiles_per_warp, Width / 8>;  // [queries of the warp, channels]
  using row_state = typename Weights::template row_state<tiles_per_warp>;

  Mask mask;
  Weights weights;
  A scale{};
  attention_inputs<T> in{};
  tensor4<T> y{};  // [batch, heads, queries, channels]
  attention_lengths lengths{};
  int warps{};

  // Tensors whose rows a block loads.
  enum source { source_q, source_k, source_v, source_bias, source_count };
  struct memory {
    vector16* q;  // [queries of the block, Width]
    vector16* k;  // [keys_per_tile, Width]; later bias or -infinity, in T
    vector16* v;  // [keys_per_tile, Width]
    attention_task* task;
    head_rows<T>* sources;  // [source_count]
    key_range* ranges;      // [queries of the block]
    range_bounds* bounds;   // [warps]
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& allocator) const {
    auto const rows = static_cast<std::size_t>(queries_per_block());
    constexpr auto tile_vectors = static_cast<std::size_t>(keys_per_tile * vectors_per_row);
    auto const bias_vectors =
        rows * static_cast<std::size_t>(keys_per_tile / elements_per_vector16<T>);
    memory smem{};
    smem.q =
        allocator.template allocate<vector16>(rows * static_cast<std::size_t>(vectors_per_row));
    smem.k = allocator.template allocate<vector16>(tile_vectors < bias_vectors ? bias_vectors
                                                                               : tile_vectors);
    smem.v = allocator.template allocate<vector16>(tile_vectors);
    smem.task = allocator.template allocate<attention_task>(1);
    smem.sources = allocator.template allocate<head_rows<T>>(source_count);
    smem.ranges = allocator.template allocate<key_range>(rows);
    smem.bounds = allocator.template allocate<range_bounds>(static_cast<std::size_t>(warps));
    return smem;
  }

  SLICESORT_HD int queries_per_block() const { return warps * 16 * tiles_per_warp; }
  SLICESORT_HD int value_chunks() const { return chunks_of<Width>(in.v.extents().channels); }
  SLICESORT_HD index_t tiles() const {
    return divide_up(in.q.extents().length, queries_per_block());
  }
  index_t blocks() const { return attention_shape(in).pairs() * tiles() * value_chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const smem = shared(block);
    stage_task(block, smem);
    attention_task const& task = *smem.task;
    int const qk_chunks = chunks_of<Width>(in.q.extents().channels);
    index_t const value_channels = in.v.extents().channels;
    outputs out;
    out.clear();

    // Without a bias, `rows` scales the scores, if the scale is positive.
    bool const scales_later = in.bias.data() == nullptr && sample_scale(block, task) > A(0);
    row_state rows(weights, sample_scale(block, task), scales_later);

    index_t const end = smem.bounds->last;
    index_t key = smem.bounds->first / keys_per_tile * keys_per_tile;
    if constexpr (is_sparse<Mask>) key = next_visible_tile(smem, key, end);
    load_qk_async(block, smem, true, key, end, 0);
    SLICESORT_NO_UNROLL
    for (index_t next; key < end; key = next) {
      scores s;
      s.clear();
      multiply_qk(block, smem, s, key, end, qk_chunks);
      if (tests_each_key<Mask> || !scales_later ||
          !tile_is_covered(mask, *smem.task, *smem.bounds, queries_per_block(), key, keys_per_tile))
        add_bias(block, smem, s, key, scales_later);
      rows.weigh(block, s, out);
      if constexpr (Weights::supports_dropout)
        if (weights.dropout.is_enabled()) apply_dropout(block, s, task, key);
      auto const operand = block.template mma_operand<T>(s);  // [queries of the warp, keys]

      block.await_copies();
      block.sync();
      next = key + keys_per_tile;
      if constexpr (is_sparse<Mask>) next = next_visible_tile(smem, next, end);
      load_qk_async(block, smem, qk_chunks > 1 && next < end, next, end, 0);
      block.template mma_ab<Width>(out, operand, smem.v,
                                   valid_channels(value_channels - task.channel));
    }
    block.await_copies();
    store_outputs(block, smem, out, rows);
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE void stage_task(Block& block, memory const& smem) const {
    index_t const heads = in.q.extents().heads;
    index_t const tile_index = block.index() / value_chunks(), flat_head = tile_index / tiles();
    // Starts the blocks of the last queries first, because they have the most keys under a causal
    // mask.
    index_t const first = (tiles() - 1 - tile_index % tiles()) * queries_per_block();
    head_index const head{flat_head / heads, flat_head % heads};
    index_t const queries = valid_rows(lengths.queries, head.sample, in.q.extents().length);
    index_t const keys = valid_rows(lengths.keys, head.sample, in.v.extents().length);
    if (block.rank() == 0) {
      *smem.task = {head, first, block.index() % value_chunks() * Width, queries, keys};
      smem.sources[source_q] = {in.q, head, queries};
      head_index const kv_head = kv_head_of(head, heads, in.k.extents().heads);
      smem.sources[source_k] = {in.k, kv_head, keys};
      smem.sources[source_v] = {in.v, kv_head, keys};
      smem.sources[source_bias] = {in.bias, head, queries};
    }
    stage_ranges(block, mask_of(mask, head), smem.ranges, smem.bounds, first, queries_per_block(),
                 queries, keys);
  }
  // First tile from `key` on with a key that is visible to any of the queries.
  SLICESORT_HD_INLINE index_t next_visible_tile(memory const& smem, index_t key,
                                                index_t end) const {
    auto const& head_mask = mask_of(mask, smem.task->head);
    SLICESORT_NO_UNROLL
    while (key < end && !tile_meets(head_mask, *smem.task, *smem.bounds, queries_per_block(), key,
                                    keys_per_tile))
      key += keys_per_tile;
    return key;
  }
  // Computed anew for each use, because the sums occupy the registers.
  template <class Block>
  SLICESORT_HD_INLINE A sample_scale(Block& block, attention_task const& task) const {
    return weights.scale_of(block, scale, task.keys);
  }
  static SLICESORT_HD int valid_channels(index_t remaining) {
    return remaining < Width ? static_cast<int>(remaining) : Width;
  }
  template <class Block>
  static SLICESORT_HD_INLINE int first_query_of_warp(Block& block) {
    return block.rank() / 32 * (16 * tiles_per_warp);
  }

  // Starts the asynchronous copies of channel chunk `qk_chunk` of the keys from `key` on and, if
  // `has_queries`, of the queries.
  template <class Block>
  SLICESORT_HD_INLINE void load_qk_async(Block& block, memory const& smem, bool has_queries,
                                         index_t key, index_t end, int qk_chunk) const {
    if (has_queries)
      load_tile_async<Width>(block, smem.q, smem.sources[source_q], smem.task->first,
                             queries_per_block(), qk_chunk * Width);
    if (key < end)
      load_tile_async<Width>(block, smem.k, smem.sources[source_k], key, keys_per_tile,
                             qk_chunk * Width);
  }

  // S += Q K^T, chunk by chunk. The first chunk is already being copied. Starts to copy the values.
  template <class Block>
  SLICESORT_HD_INLINE void multiply_qk(Block& block, memory const& smem, scores& s, index_t key,
                                       index_t end, int qk_chunks) const {
    SLICESORT_NO_UNROLL
    for (int qk_chunk = 0; qk_chunk < qk_chunks; ++qk_chunk) {
      if (qk_chunk > 0) {
        block.sync();
        load_qk_async(block, smem, true, key, end, qk_chunk);
      }
      block.await_copies();
      block.sync();
      if (qk_chunk == 0)
        load_tile_async<Width>(block, smem.v, smem.sources[source_v], key, keys_per_tile,
                               smem.task->channel);
      block.template mma_abt<Width>(s, smem.q + first_query_of_warp(block) * vectors_per_row,
                                    smem.k,
                                    valid_channels(in.q.extents().channels - qk_chunk * Width));
    }
  }

  // S = S * scale + bias, or -infinity where masked; without the scale if `scales_later`. Reuses
  // the memory of the keys.
  template <class Block>
  SLICESORT_HD_INLINE void add_bias(Block& block, memory const& smem, scores& s, index_t key,
                                    bool scales_later) const {
    A const full_scale = sample_scale(block, *smem.task);
    A const score_scale = scales_later ? A(1) : full_scale;
    T* const bias_tile = smem.k->value;  // [queries of the block, keys_per_tile]
    block.sync();
    stage_bias<false, keys_per_tile>(block, bias_tile, queries_per_block(),
                                     mask_of(mask, smem.task->head), smem.ranges, smem.task->first,
                                     key, smem.sources[source_bias]);
    block.sync();
    mask_scores(block, s, score_scale, bias_tile + first_query_of_warp(block) * keys_per_tile);
  }

  template <class Block>
  SLICESORT_HD_INLINE void apply_dropout(Block& block, scores& s, attention_task const& task,
                                         index_t key) const {
    keep_mask<false, tiles_per_warp, columns> keep;
    keep.compute(block, weights.dropout,
                 {task.head, in.v.extents().length, task.first + first_query_of_warp(block), key});
    drop_weights(s, keep);
  }

  template <class Block>
  SLICESORT_HD_INLINE void store_outputs(Block& block, memory const& smem, outputs& out,
                                         row_state const& rows) const {
    attention_task const& task = *smem.task;
    rows.finish(
        block, weights, task, first_query_of_warp(block), in.q.extents().length,
        [&] { return sample_scale(block, task); }, out);
    head_results<T> const results(y, task.head, task.queries, grad_mode::overwrite);
    A* const staging = reinterpret_cast<A*>(smem.q);
    SLICESORT_UNROLL
    for (int i = 0; i < tiles_per_warp; ++i)
      store_tile<Width>(block, staging, out, i, results, task.first + 16 * i, tiles_per_warp,
                        task.channel);
  }
};

SLICESORT_DETAIL_END

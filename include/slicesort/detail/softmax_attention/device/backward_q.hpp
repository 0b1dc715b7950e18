// SPDX-License-Identifier: Apache-2.0
// The backward pass with respect to queries and bias. A block takes some queries of a head and
// walks over its keys, forming scores and weights again.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/softmax_attention/device/dscore_tile.hpp>
#include <slicesort/detail/softmax_attention/device/mask.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/device/tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class Mask, class T, int Width>
struct attention_backward_q_kernel {
  using dscores = dscore_tile<Mask, T, Width>;
  using A = typename dscores::A;
  using piece = typename dscores::piece;
  using scores = typename dscores::scores;
  using memory = typename dscores::memory;
  using walk = typename dscores::walk;
  static constexpr int max_threads = 32 * dscores::most_warps;
  static constexpr int tiles_of_warp = dscores::tiles_of_warp;
  static constexpr int keys_of_tile = dscores::keys_of_tile, pieces = dscores::pieces;

  using gradients = register_tile<A, tiles_of_warp, Width / 8>;  // [queries of the warp, channels]

  dscores tile;
  tensor4<T> dq{};     // [batch, heads, queries, channels]
  tensor4<T> dbias{};  // [batch, heads, queries, keys]
  grad_mode mode{};

  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    return tile.shared(shared_memory);
  }
  SLICESORT_HD int chunks() const { return chunks_of<Width>(tile.in.q.extents().channels); }
  index_t blocks() const { return tile.pairs() * tile.tiles() * chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    index_t const number = block.index() / chunks();
    // With a causal mask the last queries have the most keys: their blocks start first.
    tile.stage(block, m, number / tile.tiles(),
               (tile.tiles() - 1 - number % tile.tiles()) * tile.queries_of_block(),
               block.index() % chunks() * Width);
    attention_task const& task = *m.task;
    gradients sums;
    sums.clear();
    walk at = first_tile(block, m);
    SLICESORT_NO_UNROLL
    for (; goes_on(at); advance(block, m, at)) {
      bool const idle = at.idle();
      piece const* const k = m.tiles + at.buffer * (2 * keys_of_tile * pieces);
      scores s, dw;
      s.clear(), dw.clear();
      tile.multiply(block, m, at, s, dw, k);
      if (idle) continue;
      tile.weights_to_dscores(block, m, at, s, dw);
      if (at.biasing) {
        A* const staging = reinterpret_cast<A*>(m.terms);
        // A thread writes where it has read its own terms, and nobody else has, unless sums are
        // wider.
        if (sizeof(A) != sizeof(T)) block.sync();
        tile.stage_tile(block, staging, dw);
        tile.store_staged(block, staging, {dbias, task.at, task.queries, mode}, task.first, at.key);
      }
      if (dq.data() != nullptr)
        block.template mma_ab<Width>(sums, block.template mma_operand<T>(dw), k,
                                     tile.used(tile.in.q.extents().channels - task.channel));
      if (at.ahead) at.buffer = 1 - at.buffer;
    }
    finish(block, m, sums);
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE walk first_tile(Block& block, memory const& m) const {
    index_t const channels = tile.in.q.extents().channels, values = tile.in.v.extents().channels;
    walk at{};
    at.own = block.rank() / 32 * (16 * tiles_of_warp);
    at.chunk = static_cast<int>(m.task->channel / Width);
    at.depths = chunks_of<Width>(channels > values ? channels : values);
    at.biasing = dbias.data() != nullptr && m.task->channel == 0;
    at.ahead = at.depths == 1 && tile.buffers > 1;
    // dbias is written for every key.
    at.key = at.biasing ? 0 : m.bounds->first / keys_of_tile * keys_of_tile;
    at.end = at.biasing ? tile.in.v.extents().length : m.bounds->last;
    if constexpr (is_sparse<Mask>) {
      find_next(block, m, at, at.key);
      if (!at.ahead) advance(block, m, at);
    } else {
      if (at.ahead) at.key -= keys_of_tile;
    }
    return at;
  }

  static SLICESORT_HD_INLINE bool goes_on(walk const& at) {
    if constexpr (is_sparse<Mask>)
      return (at.idle() ? at.next : at.key) < at.end;
    else
      return at.key + (at.idle() ? keys_of_tile : 0) < at.end;
  }
  template <class Block>
  SLICESORT_HD_INLINE void advance(Block& block, memory const& m, walk& at) const {
    if constexpr (is_sparse<Mask>) {
      at.key = at.next;
      if (at.key < at.end) find_next(block, m, at, at.key + keys_of_tile);
    } else {
      (void)block, (void)m, at.key += keys_of_tile;
    }
  }
  // Finds the first tile from `key` on that any of the queries looks at. dbias is 0 until there.
  template <class Block>
  SLICESORT_HD_INLINE void find_next(Block& block, memory const& m, walk& at, index_t key) const {
    auto const& own = mask_of(tile.mask, m.task->at);
    SLICESORT_NO_UNROLL
    for (; key < at.end; key += keys_of_tile) {
      if (tile_meets(own, *m.task, *m.bounds, tile.queries_of_block(), key, keys_of_tile)) break;
      if (at.biasing && mode == grad_mode::overwrite) clear_dbias(block, m, key);
    }
    at.next = key;
  }
  template <class Block>
  SLICESORT_HD_INLINE void clear_dbias(Block& block, memory const& m, index_t key) const {
    head_results<T> const to(dbias, m.task->at, m.task->queries, mode);
    SLICESORT_NO_UNROLL
    for (int i = block.rank(); i < tile.queries_of_block() * keys_of_tile; i += block.size()) {
      index_t const query = m.task->first + i / keys_of_tile, column = key + i % keys_of_tile;
      if (query < to.total && column < to.channels)
        to.data[query * to.stride + column * to.channel_stride] = static_cast<T>(0.0f);
    }
  }

  // dQ = scale * (dS K).
  template <class Block>
  SLICESORT_HD_INLINE void finish(Block& block, memory const& m, gradients& sums) const {
    if (dq.data() == nullptr) return;
    attention_task const& task = *m.task;
    head_results<T> const to(dq, task.at, task.queries, mode);
    scale_tile(sums, tile.scale);
    SLICESORT_UNROLL
    for (int i = 0; i < tiles_of_warp; ++i)
      store_tile<Width>(block, reinterpret_cast<A*>(m.rows), sums, i, to, task.first + 16 * i,
                        tiles_of_warp, task.channel);
  }
};

SLICESORT_DETAIL_END

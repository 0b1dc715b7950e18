// SPDX-License-Identifier: Apache-2.0
// The backward pass with respect to queries and bias. A block takes some queries of a head and
// walks over its keys, forming scores and weights again.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/register_tile.hpp>
#include <slicesort/detail/kernel/store.hpp>
#include <slicesort/detail/kernel/warp_mma.hpp>
#include <slicesort/detail/softmax_attention/kernel/mask.hpp>
#include <slicesort/detail/softmax_attention/kernel/softmax.hpp>
#include <slicesort/detail/softmax_attention/kernel/tile.hpp>
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Mask, class T, int Width>
struct attention_backward_q_body {
  static constexpr int max_threads = 128;
  using A = detail::accumulator_t<T>;
  using piece = tile_piece<T>;
  static constexpr int tiles_of_warp = sizeof(A) == 8 ? 1 : 2;  // of 16 queries
  static constexpr int keys_of_tile = sizeof(A) == 8 ? 16 : 32;
  static constexpr int columns = keys_of_tile / 8, pieces = Width / elements_of_piece<T>;

  using scores = register_tile<A, tiles_of_warp, columns>;       // [queries of the warp, keys]
  using gradients = register_tile<A, tiles_of_warp, Width / 8>;  // [queries of the warp, channels]

  Mask mask;
  A scale{};
  attention_inputs<T> in{};
  tensor4<T const> dy{};          // [batch, heads, queries, channels]
  query_stats<A> const* stats{};  // [batch, heads, queries]
  tensor4<T> dq{};                // [batch, heads, queries, channels]
  tensor4<T> dbias{};             // [batch, heads, queries, keys]
  grad_mode mode{};
  detail::attention_lengths lengths{};
  int warps{};
  int buffers{};  // of keys and values: 1 or 2

  struct memory {
    piece* rows;   // [q, dy][queries of the block, Width]
    piece* tiles;  // [buffers][k, v][keys_of_tile, Width]
    attention_task* task;
    head_rows<T>* sources;  // q, dy, k, v, bias
    query_stats<A>* stats;  // [queries of the block]
    key_range* ranges;      // [queries of the block]
    range_bounds* bounds;   // [warps]
    T* terms;  // [queries of the block, keys_of_tile]: what is added to the scores; then A, dS
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    auto const count = static_cast<std::size_t>(queries_of_block());
    constexpr auto row = static_cast<std::size_t>(pieces);
    constexpr auto keys = static_cast<std::size_t>(keys_of_tile);
    std::size_t const numbers = dbias.data() != nullptr ? sizeof(A) / sizeof(T) : 1;
    memory m{};
    m.rows = shared_memory.template allocate<piece>(2 * count * row);
    m.tiles =
        shared_memory.template allocate<piece>(static_cast<std::size_t>(2 * buffers) * keys * row);
    m.task = shared_memory.template allocate<attention_task>(1);
    m.sources = shared_memory.template allocate<head_rows<T>>(5);
    m.stats = shared_memory.template allocate<query_stats<A>>(count);
    m.ranges = shared_memory.template allocate<key_range>(count);
    m.bounds = shared_memory.template allocate<range_bounds>(static_cast<std::size_t>(warps));
    m.terms = shared_memory.template allocate<T>(count * keys * numbers);
    return m;
  }

  SLICESORT_HD int queries_of_block() const { return warps * 16 * tiles_of_warp; }
  SLICESORT_HD int chunks() const { return chunks_of<Width>(in.q.extents().channels); }
  SLICESORT_HD index_t tiles() const {
    return divide_up(in.q.extents().length, queries_of_block());
  }
  index_t blocks() const { return detail::attention_shape::of(in).pairs() * tiles() * chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    begin(block, m);
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
      multiply(block, m, at, s, dw, k);
      if (idle) continue;
      weights_to_dscores(block, m, at, s, dw);
      if (at.biasing)
        store_dscores(block, reinterpret_cast<A*>(m.terms), dw,
                      {dbias, task.at, task.queries, mode}, task.first, at.key);
      if (dq.data() != nullptr)
        block.template mma_ab<Width>(sums, block.template mma_operand<T>(dw), k,
                                     used(in.q.extents().channels - task.channel));
      if (at.ahead) at.buffer = 1 - at.buffer;
    }
    finish(block, m, sums);
  }

 private:
  // Where the walk over the tiles of keys is. With two buffers a tile is copied while the one
  // before it is worked on; the first round then only copies.
  struct walk {
    int own;       // the warp's first query, of the block's
    int chunk;     // of the channels, of which dq is formed
    int depths;    // chunks of the channels that are summed over
    index_t key;   // the tile's first
    index_t next;  // the first of the tile after it; of sparse masks alone
    index_t end;   // of the keys
    int buffer;    // where the tile lies
    bool biasing;  // whether dbias is formed, here
    bool ahead;    // whether there are two buffers
    bool loaded;   // whether the queries and dy have been copied

    SLICESORT_HD bool idle() const { return ahead && !loaded; }
  };

  template <class Block>
  SLICESORT_HD_INLINE void begin(Block& block, memory const& m) const {
    index_t const heads = in.q.extents().batch, rows = in.q.extents().length;
    index_t const number = block.index() / chunks(), pair = number / tiles();
    // With a causal mask the last queries have the most keys: their blocks start first.
    index_t const first = (tiles() - 1 - number % tiles()) * queries_of_block();
    head_index const at{pair / heads, pair % heads};
    index_t const queries = rows_of(lengths.queries, at.sample, rows);
    index_t const keys = rows_of(lengths.keys, at.sample, in.v.extents().length);
    if (block.rank() == 0) {
      *m.task = {at, first, block.index() % chunks() * Width, queries, keys};
      m.sources[0] = {in.q, at, queries};
      m.sources[1] = {dy, at, queries};
      m.sources[2] = {in.k, at, keys};
      m.sources[3] = {in.v, at, keys};
      m.sources[4] = {in.bias, at, queries};
    }
    for (int i = block.rank(); i < queries_of_block(); i += block.size())
      m.stats[i] = first + i < rows ? stats[pair * rows + first + i] : query_stats<A>{};
    stage_ranges(block, mask_of(mask, at), m.ranges, m.bounds, first, queries_of_block(), queries,
                 keys);
  }
  template <class Block>
  SLICESORT_HD_INLINE walk first_tile(Block& block, memory const& m) const {
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    walk at{};
    at.own = block.rank() / 32 * (16 * tiles_of_warp);
    at.chunk = static_cast<int>(m.task->channel / Width);
    at.depths = chunks_of<Width>(channels > values ? channels : values);
    at.biasing = dbias.data() != nullptr && m.task->channel == 0;
    at.ahead = at.depths == 1 && buffers > 1;
    // dbias is written for every key.
    at.key = at.biasing ? 0 : m.bounds->first / keys_of_tile * keys_of_tile;
    at.end = at.biasing ? in.v.extents().length : m.bounds->last;
    if constexpr (detail::is_sparse<Mask>) {
      find_next(block, m, at, at.key);
      if (!at.ahead) advance(block, m, at);
    } else {
      if (at.ahead) at.key -= keys_of_tile;
    }
    return at;
  }

  static SLICESORT_HD_INLINE bool goes_on(walk const& at) {
    if constexpr (detail::is_sparse<Mask>)
      return (at.idle() ? at.next : at.key) < at.end;
    else
      return at.key + (at.idle() ? keys_of_tile : 0) < at.end;
  }
  static SLICESORT_HD_INLINE index_t next_tile(walk const& at) {
    return detail::is_sparse<Mask> ? at.next : at.key + keys_of_tile;
  }
  template <class Block>
  SLICESORT_HD_INLINE void advance(Block& block, memory const& m, walk& at) const {
    if constexpr (detail::is_sparse<Mask>) {
      at.key = at.next;
      if (at.key < at.end) find_next(block, m, at, at.key + keys_of_tile);
    } else {
      (void)block, (void)m, at.key += keys_of_tile;
    }
  }
  // Finds the first tile from `key` on that any of the queries looks at. dbias is 0 until there.
  template <class Block>
  SLICESORT_HD_INLINE void find_next(Block& block, memory const& m, walk& at, index_t key) const {
    auto const& own = mask_of(mask, m.task->at);
    SLICESORT_NO_UNROLL
    for (; key < at.end; key += keys_of_tile) {
      if (tile_meets(own, *m.task, *m.bounds, queries_of_block(), key, keys_of_tile)) break;
      if (at.biasing && mode == grad_mode::overwrite) clear_dbias(block, m, key);
    }
    at.next = key;
  }
  template <class Block>
  SLICESORT_HD_INLINE void clear_dbias(Block& block, memory const& m, index_t key) const {
    head_results<T> const to(dbias, m.task->at, m.task->queries, mode);
    SLICESORT_NO_UNROLL
    for (int i = block.rank(); i < queries_of_block() * keys_of_tile; i += block.size()) {
      index_t const query = m.task->first + i / keys_of_tile, column = key + i % keys_of_tile;
      if (query < to.total && column < to.channels)
        to.data[query * to.stride + column * to.channel_stride] = static_cast<T>(0.0f);
    }
  }
  static SLICESORT_HD int used(index_t left) {
    return left < 0 ? 0 : left < Width ? static_cast<int>(left) : Width;
  }

  // S += Q K^T and dP += dO V^T, chunk by chunk of the channels; the last one is that of which dq
  // is formed. Copies what is needed, and ahead of it the next tile.
  template <class Block>
  SLICESORT_HD_INLINE void multiply(Block& block, memory const& m, walk& at, scores& s, scores& dw,
                                    piece const* k) const {
    bool const idle = at.idle();
    int const rows = queries_of_block();
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    SLICESORT_NO_UNROLL
    for (int step = 1; step <= at.depths; ++step) {
      int const depth = (at.chunk + step) % at.depths;
      index_t const coming = at.ahead ? next_tile(at) : at.key;
      if (at.ahead) block.await_copies();
      block.sync();
      if (coming < at.end) {
        if (at.depths > 1 || !at.loaded)
          load_tiles_async<Width>(block, m.rows, m.sources, 2, m.task->first, rows, depth * Width);
        int const buffer = at.ahead && !idle ? 1 - at.buffer : 0;
        load_tiles_async<Width>(block, m.tiles + buffer * (2 * keys_of_tile * pieces),
                                m.sources + 2, 2, coming, keys_of_tile, depth * Width);
      }
      at.loaded = true;
      if (idle) break;
      if (!at.ahead) block.await_copies(), block.sync();
      block.template mma_abt<Width>(s, m.rows + at.own * pieces, k, used(channels - depth * Width));
      block.template mma_abt<Width>(dw, m.rows + (rows + at.own) * pieces,
                                    k + keys_of_tile * pieces, used(values - depth * Width));
    }
  }

  // dP becomes dS = P * (dP - D), where P = exp(S - m) / l.
  template <class Block>
  SLICESORT_HD_INLINE void weights_to_dscores(Block& block, memory const& m, walk const& at,
                                              scores& s, scores& dw) const {
    A times = scale;
    if (asks_each_key<Mask> || in.bias.data() != nullptr || at.biasing ||
        !tile_is_covered(mask, *m.task, *m.bounds, queries_of_block(), at.key, keys_of_tile)) {
      stage_bias<false, keys_of_tile>(block, m.terms, queries_of_block(), mask_of(mask, m.task->at),
                                      m.ranges, m.task->first, at.key, m.sources[4]);
      block.sync();
      mask_scores(block, s, scale, m.terms + at.own * keys_of_tile);
      times = A(1);
    }
    int const g = tile_lane(Block::opaque(block.rank())).g;
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      dw[i] = weight_and_dscore<T>(block, s[i], times,
                                   m.stats[at.own + scores::lane_row(i) * 8 + g], dw[i])
                  .dscore;
  }

  // Pairs that the mask forbids have a gradient of 0: where gradients are added up, they are
  // skipped.
  template <class Block>
  static SLICESORT_HD_INLINE void store_dscores(Block& block, A* staging, scores const& dscores,
                                                head_results<T> const& to, index_t row,
                                                index_t key) {
    tile_lane const me(block.rank());
    A* const mine = staging + block.rank() / 32 * (16 * tiles_of_warp * keys_of_tile);
    // A thread writes where it has read its own terms, and nobody else has, unless sums are wider.
    if (sizeof(A) != sizeof(T)) block.sync();
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      mine[scores::row(i, me) * keys_of_tile + scores::column(i, me)] = dscores[i];
    block.sync();
    SLICESORT_NO_UNROLL
    for (int i = block.rank(); i < block.size() / 2 * tiles_of_warp * keys_of_tile;
         i += block.size()) {
      index_t const query = row + i / keys_of_tile, column = key + i % keys_of_tile;
      if (query >= to.total || column >= to.channels) continue;
      if (to.mode == grad_mode::accumulate && staging[i] == A(0)) continue;
      store_or_accumulate_sum(to.mode, to.data[query * to.stride + column * to.channel_stride],
                              staging[i]);
    }
  }

  // dQ = scale * (dS K).
  template <class Block>
  SLICESORT_HD_INLINE void finish(Block& block, memory const& m, gradients& sums) const {
    if (dq.data() == nullptr) return;
    attention_task const& task = *m.task;
    head_results<T> const to(dq, task.at, task.queries, mode);
    scale_tile(sums, scale);
    SLICESORT_UNROLL
    for (int i = 0; i < tiles_of_warp; ++i)
      store_tile<Width>(block, reinterpret_cast<A*>(m.rows), sums, i, to, task.first + 16 * i,
                        tiles_of_warp, task.channel);
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

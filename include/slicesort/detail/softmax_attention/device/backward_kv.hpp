// SPDX-License-Identifier: Apache-2.0
// The backward pass with respect to keys and values. A block takes some keys of a head and walks
// over the queries that look at any of them. Scores are formed transposed, with a row for every
// key: so the weights lie in registers as the next product wants them, and no two blocks add to the
// same gradient.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/softmax_attention/device/dropout.hpp>
#include <slicesort/detail/softmax_attention/device/mask.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/device/tile.hpp>
#include <slicesort/detail/softmax_attention/dropout.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class Mask, class T, int Width>
struct attention_backward_kv_kernel {
  static constexpr int max_threads = 256;
  using A = accumulator_t<T>;
  using piece = tile_piece<T>;
  static constexpr int queries_of_tile = sizeof(T) == 2 ? 64 : sizeof(T) == 4 ? 32 : 16;
  static constexpr int columns = queries_of_tile / 8, pieces = Width / elements_of_piece<T>;
  static constexpr int pieces_of_stats = static_cast<int>(sizeof(query_stats<A>)) / 16;

  using scores = register_tile<A, 1, columns>;       // [keys of the warp, queries]
  using gradients = register_tile<A, 1, Width / 8>;  // [keys of the warp, channels]

  Mask mask;
  A scale{};
  attention_inputs<T> in{};
  tensor4<T const> dy{};          // [batch, heads, queries, channels]
  query_stats<A> const* stats{};  // [batch, heads, queries]
  range_bounds const* bounds{};   // [batch, tiles of queries], or of each head where masks differ
  tensor4<T> dk{}, dv{};          // [batch, heads, keys, channels]
  grad_mode mode{};
  attention_lengths lengths{};
  dropout_config drop{};
  int warps{};
  int buffers{};  // of queries and dy: 1 or 2

  struct memory {
    piece* rows;   // [k, v][keys of the block, Width]
    piece* tiles;  // [buffers][q, dy][queries_of_tile, Width]
    attention_task* task;
    head_rows<T>* sources;  // k, v, q, dy, bias
    query_stats<A>* stats;  // [buffers, queries_of_tile]
    key_range* ranges;      // [buffers, queries_of_tile]
    T* terms;               // [keys of the block, queries_of_tile]: what is added to the scores
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    auto const rows = static_cast<std::size_t>(2 * keys_of_block());
    auto const tiles = static_cast<std::size_t>(buffers * queries_of_tile);
    auto const pairs = static_cast<std::size_t>(keys_of_block() * queries_of_tile);
    constexpr auto row = static_cast<std::size_t>(pieces);
    memory m{};
    m.rows = shared_memory.template allocate<piece>(rows * row);
    m.tiles = shared_memory.template allocate<piece>(2 * tiles * row);
    m.task = shared_memory.template allocate<attention_task>(1);
    m.sources = shared_memory.template allocate<head_rows<T>>(5);
    m.stats = shared_memory.template allocate<query_stats<A>>(tiles);
    m.ranges = shared_memory.template allocate<key_range>(tiles);
    m.terms = shared_memory.template allocate<T>(pairs);
    return m;
  }

  SLICESORT_HD int keys_of_block() const { return warps * 16; }
  // Wide tiles leave no registers for it: they are for calls without it.
  static constexpr bool can_drop = Width == narrow_tile;
  SLICESORT_HD bool dropping() const { return can_drop && drop.drops(); }
  // The chunks of the wider of dk and dv: so many passes also form a product q k^T or dy v^T.
  SLICESORT_HD int chunks() const {
    index_t const c = in.q.extents().channels, v = in.v.extents().channels;
    return chunks_of<Width>(c > v ? c : v);
  }
  SLICESORT_HD index_t tiles() const { return divide_up(in.v.extents().length, keys_of_block()); }
  index_t blocks() const { return attention_shape(in).pairs() * tiles() * chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    // Asked once and handed on: asked again in the parts, they cost registers.
    int const rows = keys_of_block(), own = block.rank() / 32 * 16, depths = chunks();
    begin(block, m, rows, depths);
    attention_task const& task = *m.task;
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    gradients sums_k, sums_v;
    sums_k.clear(), sums_v.clear();
    walk at = first_tile(m, rows, own, depths);
    SLICESORT_NO_UNROLL
    while (at.tile < 0 ? at.next < at.count : at.tile < at.count) {
      piece const* const q = m.tiles + at.buffer * (2 * queries_of_tile * pieces);
      piece const* const dy_rows = q + queries_of_tile * pieces;
      scores s, dw;
      s.clear(), dw.clear();
      multiply(block, m, at, s, dw, q, dy_rows);
      if (at.tile >= 0) {
        weights_and_dscores(block, m, at, s, dw);
        auto const weights = block.template mma_operand<T>(s);
        auto const dscores = block.template mma_operand<T>(dw);
        if (dv.data() != nullptr)
          block.template mma_ab<Width>(sums_v, weights, dy_rows, used(values - task.channel));
        if (dk.data() != nullptr)
          block.template mma_ab<Width>(sums_k, dscores, q, used(channels - task.channel));
        if (at.ahead) at.buffer = 1 - at.buffer;
      }
      advance(m, at);
    }
    finish(block, m, sums_k, sums_v);
  }

 private:
  // Where the walk over the tiles of queries is. With two buffers a tile is copied while the one
  // before it is worked on; the first round then only copies.
  struct walk {
    int rows;                  // keys of the block
    int own;                   // the warp's first of them
    int depths;                // chunks of the channels
    int count;                 // tiles of the head
    int tile, next;            // the one that is worked on (-1: none yet), and the one after it
    int buffer;                // where `tile` lies
    bool ahead;                // whether there are two buffers
    bool loaded;               // whether the keys and values have been copied
    bool masked, next_masked;  // whether any of the scores of `tile`, of `next` is masked
  };

  template <class Block>
  SLICESORT_HD_INLINE void begin(Block& block, memory const& m, int rows, int depths) const {
    attention_shape const s(in);
    index_t const chunk = block.index() % depths, number = block.index() / depths;
    index_t const first_key = number % tiles() * rows, pair = number / tiles();
    head_index const at{pair / s.heads, pair % s.heads};
    index_t const queries = valid_rows(lengths.queries, at.sample, s.queries);
    index_t const keys = valid_rows(lengths.keys, at.sample, s.keys);
    if (block.rank() == 0) {
      *m.task = {at, first_key, chunk * Width, queries, keys};
      m.sources[0] = {in.k, at, keys};
      m.sources[1] = {in.v, at, keys};
      m.sources[2] = {in.q, at, queries};
      m.sources[3] = {dy, at, queries};
      m.sources[4] = {in.bias, at, queries};
    }
    block.sync();
  }
  SLICESORT_HD_INLINE walk first_tile(memory const& m, int rows, int own, int depths) const {
    walk at{};
    at.rows = rows;
    at.own = own;
    at.depths = depths;
    at.count = static_cast<int>(divide_up(in.q.extents().length, queries_of_tile));
    at.ahead = at.depths == 1 && buffers > 1;
    at.tile = at.next = -1;
    if (m.task->first < end_of_keys(m, at))
      find_next(m, at);
    else
      at.next = at.count;
    if (!at.ahead && at.next < at.count) advance(m, at);
    return at;
  }

  static SLICESORT_HD int used(index_t left) {
    return left < 0 ? 0 : left < Width ? static_cast<int>(left) : Width;
  }
  SLICESORT_HD index_t end_of_keys(memory const& m, walk const& at) const {
    index_t const end = m.task->first + at.rows;
    return end < m.task->keys ? end : m.task->keys;
  }
  SLICESORT_HD_INLINE void advance(memory const& m, walk& at) const {
    at.tile = at.next;
    at.masked = at.next_masked;
    find_next(m, at);
  }
  // The first tile after `next` with a query that looks at any of the keys.
  SLICESORT_HD_INLINE void find_next(memory const& m, walk& at) const {
    index_t const first = m.task->first, end = end_of_keys(m, at);
    range_bounds const* const of_head =
        bounds + row_of_bounds<Mask>(m.task->at, in.q.extents().heads) * at.count;
    SLICESORT_NO_UNROLL
    for (++at.next; at.count > at.next; ++at.next) {
      range_bounds const here = of_head[at.next];
      if (!here.meets(first, end)) continue;
      at.next_masked = asks_each_key<Mask> || in.bias.data() != nullptr || !here.covers(first, end);
      if constexpr (is_sparse<Mask>) {
        auto const& own = mask_of(mask, m.task->at);
        pair_range const pairs = pairs_of_tile(index_t{at.next} * queries_of_tile, queries_of_tile,
                                               m.task->queries, first, at.rows, m.task->keys);
        if (!meets_pairs(own, pairs)) continue;
        at.next_masked = in.bias.data() != nullptr || !covers_pairs(own, pairs);
      }
      return;
    }
  }

  // Starts to copy chunk `depth` of the channels of a tile's q and dy, of k and v if not yet there.
  template <class Block>
  SLICESORT_HD_INLINE void load_async(Block& block, memory const& m, walk const& at, int tile,
                                      int buffer, int depth) const {
    index_t const query = index_t{tile} * queries_of_tile;
    if (at.depths > 1 || !at.loaded)
      load_tiles_async<Width>(block, m.rows, m.sources, 2, m.task->first, at.rows, depth * Width);
    load_tiles_async<Width>(block, m.tiles + buffer * (2 * queries_of_tile * pieces), m.sources + 2,
                            2, query, queries_of_tile, depth * Width);
    load_stats_async(block, m, tile, buffer, tile == at.next ? at.next_masked : at.masked);
  }
  template <class Block>
  SLICESORT_HD_INLINE void load_stats_async(Block& block, memory const& m, int tile, int buffer,
                                            bool masked) const {
    attention_task const& task = *m.task;
    index_t const query = index_t{tile} * queries_of_tile, queries = in.q.extents().length;
    auto* const to = reinterpret_cast<unsigned char*>(m.stats + buffer * queries_of_tile);
    auto const* const from = reinterpret_cast<unsigned char const*>(
        stats + (task.at.sample * in.q.extents().heads + task.at.head) * queries + query);
    for (int i = block.rank(); i < queries_of_tile * pieces_of_stats; i += block.size())
      block.copy_async(to + 16 * i, from + 16 * i, query + i / pieces_of_stats < queries ? 16 : 0);
    if (masked)
      for (int i = block.rank(); i < queries_of_tile; i += block.size())
        m.ranges[buffer * queries_of_tile + i] =
            query + i < task.queries ? range_of_keys(mask_of(mask, task.at), query + i, task.keys)
                                     : key_range{0, 0};
  }

  // S^T += K Q^T and dP^T += V dO^T, chunk by chunk of the channels; the last one is that of which
  // gradients are formed. Copies what is needed, and ahead of it the next tile.
  template <class Block>
  SLICESORT_HD_INLINE void multiply(Block& block, memory const& m, walk& at, scores& s, scores& dw,
                                    piece const* q, piece const* dy_rows) const {
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    SLICESORT_NO_UNROLL
    for (int step = 1; step <= at.depths; ++step) {
      int const depth = (static_cast<int>(m.task->channel / Width) + step) % at.depths;
      int const coming = at.ahead ? at.next : at.tile;
      if (at.ahead) block.await_copies();
      block.sync();
      if (coming < at.count)
        load_async(block, m, at, coming, at.ahead && at.tile >= 0 ? 1 - at.buffer : 0, depth);
      at.loaded = true;
      if (at.tile < 0) break;
      if (!at.ahead) block.await_copies(), block.sync();
      block.template mma_abt<Width>(s, m.rows + at.own * pieces, q, used(channels - depth * Width));
      block.template mma_abt<Width>(dw, m.rows + (at.rows + at.own) * pieces, dy_rows,
                                    used(values - depth * Width));
    }
  }

  // S becomes P, and dP becomes dS = P * (dP - D). After that P becomes 0 where it is dropped.
  template <class Block>
  SLICESORT_HD_INLINE void weights_and_dscores(Block& block, memory const& m, walk const& at,
                                               scores& s, scores& dw) const {
    int const first = at.buffer * queries_of_tile;
    A times = scale;
    if (at.masked) {
      stage_bias<true, queries_of_tile>(block, m.terms, at.rows, mask_of(mask, m.task->at),
                                        m.ranges + first, index_t{at.tile} * queries_of_tile,
                                        m.task->first, m.sources[4]);
      block.sync();
      mask_scores(block, s, scale, m.terms + at.own * queries_of_tile);
      times = A(1);
    }
    kept_weights<true, 1, columns> kept;
    if (dropping()) {
      scale_tile(dw, static_cast<A>(drop.scale));
      kept.find(block, drop,
                {m.task->at, in.v.extents().length, index_t{at.tile} * queries_of_tile,
                 m.task->first + at.own});
      drop_weights(dw, kept);
    }
    int const t = tile_lane(Block::opaque(block.rank())).t;
    SLICESORT_UNROLL
    for (int column = 0; column < scores::lane_columns; ++column) {
      query_stats<A> const of = m.stats[first + column / 2 * 8 + 2 * t + column % 2];
      SLICESORT_UNROLL
      for (int row = 0; row < scores::lane_rows; ++row) {
        A &score = s.at(row, column), &dweight = dw.at(row, column);
        weight_and_dscore<T> const both(block, score, times, of, dweight);
        score = both.weight, dweight = both.dscore;
      }
    }
    if (dropping()) drop_weights(s, kept);
  }

  // dK = scale * (dS^T Q), dV = P^T dO.
  template <class Block>
  SLICESORT_HD_INLINE void finish(Block& block, memory const& m, gradients& sums_k,
                                  gradients& sums_v) const {
    attention_task const& task = *m.task;
    scale_tile(sums_k, scale);
    if (dropping()) scale_tile(sums_v, static_cast<A>(drop.scale));
    A* const staging = reinterpret_cast<A*>(m.rows);
    if (dk.data() != nullptr)
      store_tile<Width>(block, staging, sums_k, 0, head_results<T>(dk, task.at, task.keys, mode),
                        task.first, 1, task.channel);
    if (dv.data() != nullptr)
      store_tile<Width>(block, staging, sums_v, 0, head_results<T>(dv, task.at, task.keys, mode),
                        task.first, 1, task.channel);
  }
};

SLICESORT_DETAIL_END

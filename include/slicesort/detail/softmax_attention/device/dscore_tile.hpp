// SPDX-License-Identifier: Apache-2.0
// A block's tile of the gradients of scores, dS: some queries of a head against some keys. What
// backward with respect to queries and with respect to a bias have in common.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/store.hpp>
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
struct dscore_tile {
  static constexpr int most_warps = 4;
  using A = accumulator_t<T>;
  using piece = tile_piece<T>;
  static constexpr int tiles_of_warp = sizeof(A) == 8 ? 1 : 2;  // of 16 queries
  static constexpr int keys_of_tile = sizeof(A) == 8 ? 16 : 32;
  static constexpr int columns = keys_of_tile / 8, pieces = Width / elements_of_piece<T>;

  using scores = register_tile<A, tiles_of_warp, columns>;  // [queries of the warp, keys]

  Mask mask;
  A scale{};
  attention_inputs<T> in{};
  tensor4<T const> dy{};          // [batch, heads, queries, channels]
  query_stats<A> const* stats{};  // [batch, heads, queries]
  attention_lengths lengths{};
  dropout_config drop{};
  int warps{};
  int buffers{};   // of keys and values: 1 or 2
  bool of_bias{};  // whether the gradient of a bias is formed, and staged

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
    std::size_t const numbers = of_bias ? sizeof(A) / sizeof(T) : 1;
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
  SLICESORT_HD index_t tiles() const {
    return divide_up(in.q.extents().length, queries_of_block());
  }
  SLICESORT_HD index_t pairs() const { return attention_shape(in).pairs(); }

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

  // What the block needs to know about the queries from `first` on of a sample and head.
  template <class Block>
  SLICESORT_HD_INLINE void stage(Block& block, memory const& m, index_t pair, index_t first,
                                 index_t channel) const {
    index_t const heads = in.q.extents().heads, rows = in.q.extents().length;
    head_index const at{pair / heads, pair % heads};
    index_t const queries = valid_rows(lengths.queries, at.sample, rows);
    index_t const keys = valid_rows(lengths.keys, at.sample, in.v.extents().length);
    if (block.rank() == 0) {
      *m.task = {at, first, channel, queries, keys};
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
  // Not a walk, but one tile.
  template <class Block>
  SLICESORT_HD_INLINE walk only_tile(Block& block, index_t key) const {
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    walk at{};
    at.own = block.rank() / 32 * (16 * tiles_of_warp);
    at.depths = chunks_of<Width>(channels > values ? channels : values);
    at.key = key;
    at.end = in.v.extents().length;
    return at;
  }
  // Whether any of the queries looks at any of a tile's keys.
  SLICESORT_HD_INLINE bool looks_at(memory const& m, index_t key) const {
    if constexpr (is_sparse<Mask>)
      return tile_meets(mask_of(mask, m.task->at), *m.task, *m.bounds, queries_of_block(), key,
                        keys_of_tile);
    else
      return m.bounds->meets(key, key + keys_of_tile);
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
    if (drop.drops()) {
      scale_tile(dw, static_cast<A>(drop.scale));
      kept_weights<false, tiles_of_warp, columns> kept;
      kept.find(block, drop, {m.task->at, in.v.extents().length, m.task->first + at.own, at.key});
      drop_weights(dw, kept);
    }
    int const g = tile_lane(Block::opaque(block.rank())).g;
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      dw[i] = weight_and_dscore<T>(block, s[i], times,
                                   m.stats[at.own + scores::lane_row(i) * 8 + g], dw[i])
                  .dscore;
  }

  // Stages numbers of the block, [queries of the block, keys_of_tile].
  template <class Block>
  static SLICESORT_HD_INLINE void stage_tile(Block& block, A* staging, scores const& numbers) {
    tile_lane const me(block.rank());
    A* const mine = staging + block.rank() / 32 * (16 * tiles_of_warp * keys_of_tile);
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      mine[scores::row(i, me) * keys_of_tile + scores::column(i, me)] = numbers[i];
    block.sync();
  }
  // Pairs that the mask forbids have a gradient of 0: where gradients are added up, they are
  // skipped.
  template <class Block>
  static SLICESORT_HD_INLINE void store_staged(Block& block, A const* staging,
                                               head_results<T> const& to, index_t row,
                                               index_t key) {
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

  static SLICESORT_HD_INLINE index_t next_tile(walk const& at) {
    return is_sparse<Mask> ? at.next : at.key + keys_of_tile;
  }
  static SLICESORT_HD int used(index_t left) {
    return left < 0 ? 0 : left < Width ? static_cast<int>(left) : Width;
  }
};

SLICESORT_DETAIL_END

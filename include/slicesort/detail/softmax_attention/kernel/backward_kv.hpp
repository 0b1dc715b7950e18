// SPDX-License-Identifier: Apache-2.0
// Backward of streaming attention with respect to keys and values: a block takes some keys of a head and walks
// over the queries that look at any of them. Scores are formed transposed, a row for every key, so that weights
// lie in registers as the next product wants them, and nobody adds to what another block adds to.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/warp_mma.hpp>
#include <slicesort/detail/softmax_attention/kernel/mask.hpp>
#include <slicesort/detail/softmax_attention/kernel/softmax.hpp>
#include <slicesort/detail/softmax_attention/kernel/tile.hpp>
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Mask, class T, int Width>
struct attention_backward_kv_body {
  static constexpr int max_threads = 256;
  using A = detail::accumulator_t<T>;
  using piece = tile_piece<T>;
  static constexpr int queries_of_tile = sizeof(T) == 2 ? 64 : sizeof(T) == 4 ? 32 : 16;
  static constexpr int columns = queries_of_tile / 8, pieces = Width / elements_of_piece<T>;
  static constexpr int pieces_of_stats = static_cast<int>(sizeof(query_stats<A>)) / 16;

  Mask mask;
  A scale;
  attention_inputs<T> in;
  tensor4<T const> dy;
  query_stats<A> const* stats;
  range_bounds const* bounds;  // of tiles of queries
  tensor4<T> dk, dv;
  grad_mode mode;
  detail::attention_lengths lengths;
  int warps;
  int buffers;  // of queries and dy: 1 or 2

  struct memory {
    piece *rows, *tiles;  // keys and values; queries and dy
    attention_task* task;
    head_rows<T>* sources;  // k, v, q, dy, bias
    query_stats<A>* stats;
    key_range* ranges;
    T* terms;  // what is added to the scores
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    auto const rows = static_cast<std::size_t>(2 * keys_of_block());
    auto const tiles = static_cast<std::size_t>(buffers * queries_of_tile);
    constexpr auto row = static_cast<std::size_t>(pieces);
    piece* const own = shared_memory.template allocate<piece>(rows * row);
    piece* const others = shared_memory.template allocate<piece>(2 * tiles * row);
    attention_task* const task = shared_memory.template allocate<attention_task>(1);
    head_rows<T>* const sources = shared_memory.template allocate<head_rows<T>>(5);
    query_stats<A>* const known = shared_memory.template allocate<query_stats<A>>(tiles);
    key_range* const ranges = shared_memory.template allocate<key_range>(tiles);
    return {own,
            others,
            task,
            sources,
            known,
            ranges,
            shared_memory.template allocate<T>(
                static_cast<std::size_t>(keys_of_block() * queries_of_tile))};
  }

  SLICESORT_HD int keys_of_block() const { return warps * 16; }
  // Of the wider of dk and dv, and of what is summed over.
  SLICESORT_HD int chunks() const {
    index_t const c = in.q.extents().channels, v = in.v.extents().channels;
    return chunks_of<Width>(c > v ? c : v);
  }
  SLICESORT_HD index_t tiles() const { return divide_up(in.v.extents().length, keys_of_block()); }
  index_t blocks() const { return detail::attention_shape::of(in).pairs() * tiles() * chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    detail::attention_shape const s = detail::attention_shape::of(in);
    int const depths = chunks();
    index_t const chunk = block.index() % depths, number = block.index() / depths;
    index_t const first_key = number % tiles() * keys_of_block(), pair = number / tiles();
    head_index const at{pair / s.heads, pair % s.heads};
    index_t const queries = rows_of(lengths.queries, at.sample, s.queries);
    index_t const keys = rows_of(lengths.keys, at.sample, s.keys);
    int const own = block.rank() / 32 * 16, rows = keys_of_block();
    if (block.rank() == 0) {
      *m.task = {at, first_key, chunk * Width, queries, keys};
      m.sources[0] = {in.k, at, keys};
      m.sources[1] = {in.v, at, keys};
      m.sources[2] = {in.q, at, queries};
      m.sources[3] = {dy, at, queries};
      m.sources[4] = {in.bias, at, queries};
    }
    block.sync();
    attention_task const& task = *m.task;
    bool const biased = in.bias.data() != nullptr, ahead = depths == 1 && buffers > 1;
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    auto const end = [&] { return task.first + rows < task.keys ? task.first + rows : task.keys; };

    int const count = static_cast<int>(divide_up(s.queries, queries_of_tile));
    auto const bounds_of = [&](int tile) -> range_bounds const& {
      return bounds[task.at.sample * count + tile];
    };
    auto const next = [&](int tile) {
      while (tile < count && !bounds_of(tile).meets(task.first, end())) ++tile;
      return tile;
    };
    auto const is_masked = [&](int tile) {
      return detail::has_allows<Mask> || biased || !bounds_of(tile).covers(task.first, end());
    };
    // What is to know of a tile's queries.
    auto const load_stats_async = [&](int buffer, int tile) {
      index_t const query = index_t{tile} * queries_of_tile;
      auto* const known = reinterpret_cast<unsigned char*>(m.stats + buffer * queries_of_tile);
      auto const* const from = reinterpret_cast<unsigned char const*>(
          stats + (task.at.sample * s.heads + task.at.head) * s.queries + query);
      for (int i = block.rank(); i < queries_of_tile * pieces_of_stats; i += block.size())
        block.copy_async(known + 16 * i, from + 16 * i,
                         query + i / pieces_of_stats < s.queries ? 16 : 0);
      if (is_masked(tile))
        for (int i = block.rank(); i < queries_of_tile; i += block.size())
          m.ranges[buffer * queries_of_tile + i] =
              query + i < task.queries ? detail::range_of_keys(mask, query + i, task.keys)
                                       : key_range{0, 0};
    };

    register_tile<A, 1, Width / 8> of_keys, of_values;
    of_keys.clear(), of_values.clear();
    // Where the next tile is fetched while one is worked on, the first round does nothing but fetch.
    int following = task.first < end() ? next(0) : count, tile = -1, buffer = 0;
    if (!ahead && following < count) tile = following, following = next(tile + 1);
    bool fetched = false;
    SLICESORT_NO_UNROLL
    while (tile < 0 ? following < count : tile < count) {
      piece const* const of_q = m.tiles + buffer * (2 * queries_of_tile * pieces);
      piece const* const of_dy = of_q + queries_of_tile * pieces;
      register_tile<A, 1, columns> p, dp;
      p.clear(), dp.clear();
      // The last is what gradients are formed with.
      SLICESORT_NO_UNROLL
      for (int step = 1; step <= depths; ++step) {
        int const depth = (static_cast<int>(task.channel / Width) + step) % depths;
        int const now = ahead ? following : tile, into = ahead && tile >= 0 ? 1 - buffer : 0;
        if (ahead) block.await_copies();
        block.sync();
        if (now < count) {
          if (depths > 1 || !fetched)
            load_tiles_async<Width>(block, m.rows, m.sources, 2, task.first, rows, depth * Width);
          load_tiles_async<Width>(block, m.tiles + into * (2 * queries_of_tile * pieces),
                                  m.sources + 2, 2, index_t{now} * queries_of_tile, queries_of_tile,
                                  depth * Width);
          load_stats_async(into, now);
        }
        fetched = true;
        if (tile < 0) break;
        if (!ahead) block.await_copies(), block.sync();
        block.template mma_abt<Width>(p, m.rows + own * pieces, of_q,
                                      used(channels - depth * Width));
        block.template mma_abt<Width>(dp, m.rows + (rows + own) * pieces, of_dy,
                                      used(values - depth * Width));
      }
      if (tile >= 0) {
        index_t const query = index_t{tile} * queries_of_tile;
        A times = scale;
        if (is_masked(tile)) {
          stage_bias<true, queries_of_tile>(block, m.terms, rows, mask,
                                            m.ranges + buffer * queries_of_tile, query, task.first,
                                            m.sources[4]);
          block.sync();
          mask_scores(block, p, scale, m.terms + own * queries_of_tile);
          times = A(1);
        }
        int const t = tile_lane(Block::opaque(block.rank())).t;
        SLICESORT_UNROLL
        for (int j = 0; j < 2 * columns; ++j) {
          query_stats<A> const of = m.stats[buffer * queries_of_tile + j / 2 * 8 + 2 * t + j % 2];
          SLICESORT_UNROLL
          for (int e = j % 2; e < 4; e += 2) {
            A &weight = p(0, j / 2, e), &dscore = dp(0, j / 2, e);
            weight_and_dscore<T> const both(block, weight, times, of, dscore);
            weight = both.weight, dscore = both.dscore;
          }
        }
        auto const weights = block.template mma_operand<T>(p);
        auto const dscores = block.template mma_operand<T>(dp);
        if (dv.data() != nullptr)
          block.template mma_ab<Width>(of_values, weights, of_dy, used(values - task.channel));
        if (dk.data() != nullptr)
          block.template mma_ab<Width>(of_keys, dscores, of_q, used(channels - task.channel));
        if (ahead) buffer = 1 - buffer;
      }
      tile = following;
      following = next(tile + 1);
    }
    SLICESORT_UNROLL
    for (int j = 0; j < of_keys.count; ++j) of_keys[j] *= scale;
    A* const staging = reinterpret_cast<A*>(m.rows);
    if (dk.data() != nullptr)
      store_tile<Width>(block, staging, of_keys, 0, head_results<T>(dk, task.at, task.keys, mode),
                        task.first, 1, task.channel);
    if (dv.data() != nullptr)
      store_tile<Width>(block, staging, of_values, 0, head_results<T>(dv, task.at, task.keys, mode),
                        task.first, 1, task.channel);
  }

 private:
  static SLICESORT_HD int used(index_t left) {
    return left < 0 ? 0 : left < Width ? static_cast<int>(left) : Width;
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

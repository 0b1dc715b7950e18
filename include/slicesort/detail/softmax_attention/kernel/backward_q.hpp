// SPDX-License-Identifier: Apache-2.0
// Backward of streaming attention with respect to queries and bias: a block takes some queries of a head and
// walks over its keys, forming scores and weights again.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/store.hpp>
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
struct attention_backward_q_body {
  static constexpr int max_threads = 128;
  using A = detail::accumulator_t<T>;
  using piece = tile_piece<T>;
  static constexpr int tiles_of_warp = sizeof(A) == 8 ? 1 : 2;  // of 16 queries
  static constexpr int keys_of_tile = sizeof(A) == 8 ? 16 : 32;
  static constexpr int columns = keys_of_tile / 8, pieces = Width / elements_of_piece<T>;

  using scores = register_tile<A, tiles_of_warp, columns>;

  Mask mask;
  A scale;
  attention_inputs<T> in;
  tensor4<T const> dy;
  query_stats<A> const* stats;
  tensor4<T> dq, dbias;
  grad_mode mode;
  detail::attention_lengths lengths;
  int warps;
  int buffers;  // of keys and values: 1 or 2

  struct memory {
    piece *rows, *tiles;  // queries and dy; keys and values
    attention_task* task;
    head_rows<T>* sources;  // q, dy, k, v, bias
    query_stats<A>* stats;
    key_range* ranges;
    range_bounds* bounds;
    T* terms;  // what is added to the scores; or dscores, A
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    auto const count = static_cast<std::size_t>(queries_of_block());
    piece* const rows =
        shared_memory.template allocate<piece>(2 * count * static_cast<std::size_t>(pieces));
    piece* const tiles = shared_memory.template allocate<piece>(
        static_cast<std::size_t>(2 * buffers) * static_cast<std::size_t>(keys_of_tile * pieces));
    attention_task* const task = shared_memory.template allocate<attention_task>(1);
    head_rows<T>* const sources = shared_memory.template allocate<head_rows<T>>(5);
    query_stats<A>* const known = shared_memory.template allocate<query_stats<A>>(count);
    key_range* const ranges = shared_memory.template allocate<key_range>(count);
    range_bounds* const bounds =
        shared_memory.template allocate<range_bounds>(static_cast<std::size_t>(warps));
    std::size_t const pairs = count * static_cast<std::size_t>(keys_of_tile);
    constexpr std::size_t numbers = sizeof(A) / sizeof(T);
    T* const terms =
        shared_memory.template allocate<T>(dbias.data() != nullptr ? pairs * numbers : pairs);
    return {rows, tiles, task, sources, known, ranges, bounds, terms};
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
    int const rows = queries_of_block();
    bool const biased = in.bias.data() != nullptr;
    bool const biasing = dbias.data() != nullptr && task.channel == 0;
    int const own = block.rank() / 32 * (16 * tiles_of_warp);
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    index_t const wider = channels > values ? channels : values;
    int const chunk = static_cast<int>(task.channel / Width);
    int const depths = chunks_of<Width>(wider);
    bool const ahead = depths == 1 && buffers > 1;

    register_tile<A, tiles_of_warp, Width / 8> sums;
    sums.clear();
    // Where the next tile is fetched while one is worked on, the first round does nothing but fetch.
    index_t const end = biasing ? in.v.extents().length : m.bounds->last;
    index_t from = biasing ? 0 : m.bounds->first / keys_of_tile * keys_of_tile;
    bool fetched = false;
    if (ahead) from -= keys_of_tile;
    int buffer = 0;
    SLICESORT_NO_UNROLL
    for (; from + (ahead && !fetched ? keys_of_tile : 0) < end; from += keys_of_tile) {
      bool const idle = ahead && !fetched;
      piece const* const tile = m.tiles + buffer * (2 * keys_of_tile * pieces);
      scores p, dp;
      p.clear(), dp.clear();
      // The last is what dq is formed with.
      SLICESORT_NO_UNROLL
      for (int step = 1; step <= depths; ++step) {
        int const depth = (chunk + step) % depths;
        index_t const now = ahead ? from + keys_of_tile : from;
        if (ahead) block.await_copies();
        block.sync();
        if (now < end) {
          if (depths > 1 || !fetched)
            load_tiles_async<Width>(block, m.rows, m.sources, 2, task.first, rows, depth * Width);
          load_tiles_async<Width>(
              block, m.tiles + (ahead && !idle ? 1 - buffer : 0) * (2 * keys_of_tile * pieces),
              m.sources + 2, 2, now, keys_of_tile, depth * Width);
        }
        fetched = true;
        if (idle) break;
        if (!ahead) block.await_copies(), block.sync();
        block.template mma_abt<Width>(p, m.rows + own * pieces, tile,
                                      used(channels - depth * Width));
        block.template mma_abt<Width>(dp, m.rows + (rows + own) * pieces,
                                      tile + keys_of_tile * pieces, used(values - depth * Width));
      }
      if (idle) continue;
      A times = scale;
      if (detail::has_allows<Mask> || biased || biasing ||
          !m.bounds->covers(from, from + keys_of_tile)) {
        stage_bias<false, keys_of_tile>(block, m.terms, rows, mask, m.ranges, task.first, from,
                                        m.sources[4]);
        block.sync();
        mask_scores(block, p, scale, m.terms + own * keys_of_tile);
        times = A(1);
      }
      int const g = tile_lane(Block::opaque(block.rank())).g;
      SLICESORT_UNROLL
      for (int i = 0; i < scores::count; ++i)
        dp[i] = weight_and_dscore<T>(block, p[i], times, m.stats[own + scores::lane_row(i) * 8 + g],
                                     dp[i])
                    .dscore;
      if (biasing)
        store_dscores(block, reinterpret_cast<A*>(m.terms), dp,
                      {dbias, task.at, task.queries, mode}, task.first, from);
      if (dq.data() != nullptr)
        block.template mma_ab<Width>(sums, block.template mma_operand<T>(dp), tile,
                                     used(channels - task.channel));
      if (ahead) buffer = 1 - buffer;
    }
    if (dq.data() == nullptr) return;
    head_results<T> const to(dq, task.at, task.queries, mode);
    SLICESORT_UNROLL
    for (int i = 0; i < tiles_of_warp; ++i) {
      SLICESORT_UNROLL
      for (int j = 0; j < Width / 2; ++j) sums(i, j / 4, j % 4) *= scale;
      store_tile<Width>(block, reinterpret_cast<A*>(m.rows), sums, i, to, task.first + 16 * i,
                        tiles_of_warp, task.channel);
    }
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE void begin(Block& block, memory const& m) const {
    index_t const heads = in.q.extents().batch, rows = in.q.extents().length;
    index_t const number = block.index() / chunks(), pair = number / tiles();
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
    stage_ranges(block, mask, m.ranges, m.bounds, first, queries_of_block(), queries, keys);
  }
  static SLICESORT_HD int used(index_t left) {
    return left < 0 ? 0 : left < Width ? static_cast<int>(left) : Width;
  }
  // What is not allowed has a dscore of 0: nothing to add.
  template <class Block>
  static SLICESORT_HD_INLINE void store_dscores(Block& block, A* staging, scores const& dscores,
                                                head_results<T> const& to, index_t row,
                                                index_t key) {
    tile_lane const me(block.rank());
    A* const mine = staging + block.rank() / 32 * (16 * tiles_of_warp * keys_of_tile);
    block.sync();
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
      store_or_accumulate<Block>(to.mode, to.data[query * to.stride + column * to.channel_stride],
                                 staging[i]);
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

// SPDX-License-Identifier: Apache-2.0
// Attention with an online softmax (FlashAttention-2): a block takes some queries of a head and walks over
// its keys, tile by tile; a warp has 16 or 32 of the queries, their scores and their sums in registers.
// While scores are formed values are on their way, and while these are summed up the next keys.
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

#include <cmath>
#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class Mask, class T, int Width>
struct attention_forward_body {
  static constexpr int max_threads = 128;
  using A = detail::accumulator_t<T>;
  using piece = tile_piece<T>;
  static constexpr int tiles_of_warp = sizeof(A) == 8 ? 1 : 2;  // of 16 queries
  static constexpr int keys_of_tile = sizeof(A) == 8 ? 32 : 64;
  static constexpr int columns = keys_of_tile / 8, pieces = Width / elements_of_piece<T>;

  using scores = register_tile<A, tiles_of_warp, columns>;
  // Something for each of a lane's rows.
  struct lane_rows {
    A of[static_cast<std::size_t>(2 * tiles_of_warp)];
  };

  Mask mask;
  A scale;
  attention_inputs<T> in;
  tensor4<T> y;
  tensor4<A> state;  // empty: not saved
  detail::attention_lengths lengths;
  int warps;

  struct memory {
    piece *q, *k, *v;
    attention_task* task;
    head_rows<T>* sources;  // q, k, v, bias
    key_range* ranges;
    range_bounds* bounds;
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    auto const rows = static_cast<std::size_t>(queries_of_block());
    constexpr auto tile = static_cast<std::size_t>(keys_of_tile * pieces);
    piece* const q =
        shared_memory.template allocate<piece>(rows * static_cast<std::size_t>(pieces));
    // Later what is added to the scores.
    auto const terms = rows * static_cast<std::size_t>(keys_of_tile / elements_of_piece<T>);
    piece* const k = shared_memory.template allocate<piece>(tile < terms ? terms : tile);
    piece* const v = shared_memory.template allocate<piece>(tile);
    attention_task* const task = shared_memory.template allocate<attention_task>(1);
    head_rows<T>* const sources = shared_memory.template allocate<head_rows<T>>(4);
    return {q,
            k,
            v,
            task,
            sources,
            shared_memory.template allocate<key_range>(rows),
            shared_memory.template allocate<range_bounds>(static_cast<std::size_t>(warps))};
  }

  SLICESORT_HD int queries_of_block() const { return warps * 16 * tiles_of_warp; }
  SLICESORT_HD int chunks() const { return chunks_of<Width>(in.v.extents().channels); }
  SLICESORT_HD index_t tiles() const {
    return divide_up(in.q.extents().length, queries_of_block());
  }
  index_t blocks() const { return detail::attention_shape::of(in).pairs() * tiles() * chunks(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    begin(block, m);
    attention_task const& task = *m.task;
    index_t const channels = in.q.extents().channels, values = in.v.extents().channels;
    int const depths = chunks_of<Width>(channels);
    int const own = block.rank() / 32 * (16 * tiles_of_warp);  // the warp's first query

    register_tile<A, tiles_of_warp, Width / 8> sums;
    sums.clear();
    lane_rows most, total;
    constexpr A none = least_score<A>;
    SLICESORT_UNROLL
    for (int i = 0; i < 2 * tiles_of_warp; ++i) most.of[i] = none, total.of[i] = A(0);

    // Products may stay products until the exponential.
    bool const direct = in.bias.data() == nullptr && scale > A(0);
    A const factor = factor_of<T>(direct ? scale : A(1));

    index_t const end = m.bounds->last;
    index_t from = m.bounds->first / keys_of_tile * keys_of_tile;
    auto const fetch = [&](bool queries_too, index_t key, int depth) {
      if (queries_too)
        load_tile_async<Width>(block, m.q, m.sources[0], task.first, queries_of_block(),
                               depth * Width);
      if (key < end)
        load_tile_async<Width>(block, m.k, m.sources[1], key, keys_of_tile, depth * Width);
    };
    fetch(true, from, 0);
    SLICESORT_NO_UNROLL
    for (; from < end; from += keys_of_tile) {
      scores p;
      p.clear();
      SLICESORT_NO_UNROLL
      for (int depth = 0; depth < depths; ++depth) {
        if (depth > 0) {
          block.sync();
          fetch(true, from, depth);
        }
        block.await_copies();
        block.sync();
        if (depth == 0)
          load_tile_async<Width>(block, m.v, m.sources[2], from, keys_of_tile, task.channel);
        block.template mma_abt<Width>(p, m.q + own * pieces, m.k, used(channels - depth * Width));
      }
      if (detail::has_allows<Mask> || !direct || !m.bounds->covers(from, from + keys_of_tile)) {
        T* const terms = m.k->value;
        block.sync();
        stage_bias<false, keys_of_tile>(block, terms, queries_of_block(), mask, m.ranges,
                                        task.first, from, m.sources[3]);
        block.sync();
        mask_scores(block, p, direct ? A(1) : scale, terms + own * keys_of_tile);
      }
      update_softmax(block, p, sums, most, total, factor);
      auto const weights = block.template mma_operand<T>(p);

      block.await_copies();
      block.sync();
      fetch(depths > 1 && from + keys_of_tile < end, from + keys_of_tile, 0);
      block.template mma_ab<Width>(sums, weights, m.v, used(values - task.channel));
    }
    block.await_copies();

    tile_lane const me(block.rank());
    index_t const queries = in.q.extents().length;
    SLICESORT_UNROLL
    for (int i = 0; i < 2 * tiles_of_warp; ++i) {
      A const all = block.template reduce<4>(total.of[i], [](A a, A b) { return a + b; });
      A const share = all > A(0) ? A(1) / all : all - all;  // or NaN
      SLICESORT_UNROLL
      for (int j = 0; j < Width / 4; ++j) sums(i / 2, j / 2, i % 2 * 2 + j % 2) *= share;
      index_t const row = task.first + own + me.g + 8 * i;
      if (state.data() != nullptr && task.channel == 0 && me.t == 0 && row < queries) {
        bool const valid = row < task.queries;
        state(task.at.sample, task.at.head, row, 0) = !valid   ? none
                                                      : direct ? most.of[i] * scale
                                                               : most.of[i];
        state(task.at.sample, task.at.head, row, 1) = valid ? all : A(0);
      }
    }
    head_results<T> const to(y, task.at, task.queries, grad_mode::overwrite);
    A* const staging = reinterpret_cast<A*>(m.q);
    SLICESORT_UNROLL
    for (int i = 0; i < tiles_of_warp; ++i)
      store_tile<Width>(block, staging, sums, i, to, task.first + 16 * i, tiles_of_warp,
                        task.channel);
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE void begin(Block& block, memory const& m) const {
    index_t const heads = in.q.extents().batch;
    index_t const number = block.index() / chunks(), pair = number / tiles();
    // Causal masks leave most to the last.
    index_t const first = (tiles() - 1 - number % tiles()) * queries_of_block();
    head_index const at{pair / heads, pair % heads};
    index_t const queries = rows_of(lengths.queries, at.sample, in.q.extents().length);
    index_t const keys = rows_of(lengths.keys, at.sample, in.v.extents().length);
    if (block.rank() == 0) {
      *m.task = {at, first, block.index() % chunks() * Width, queries, keys};
      m.sources[0] = {in.q, at, queries};
      m.sources[1] = {in.k, at, keys};
      m.sources[2] = {in.v, at, keys};
      m.sources[3] = {in.bias, at, queries};
    }
    stage_ranges(block, mask, m.ranges, m.bounds, first, queries_of_block(), queries, keys);
  }
  static SLICESORT_HD int used(index_t left) {
    return left < Width ? static_cast<int>(left) : Width;
  }

  // Scores become weights relative to the greatest score so far, and sums are brought down to it.
  template <class Block>
  static SLICESORT_HD_INLINE void update_softmax(Block& block, scores& p,
                                                 register_tile<A, tiles_of_warp, Width / 8>& sums,
                                                 lane_rows& most, lane_rows& total, A factor) {
    constexpr A none = least_score<A>;
    auto const greater = [](A a, A b) { return std::fmax(a, b); };  // a NaN shows in the sums
    SLICESORT_UNROLL
    for (int i = 0; i < 2 * tiles_of_warp; ++i) {
      int const half = i % 2 * 2;
      A now = most.of[i];
      SLICESORT_UNROLL
      for (int j = 0; j < 2 * columns; ++j) now = greater(now, p(i / 2, j / 2, half + j % 2));
      now = block.template reduce<4>(now, greater);
      A const base = now == none ? A(0) : now;
      A const down = exp_of<T>(block, most.of[i] - base, factor);
      most.of[i] = now;
      A sum(0);
      SLICESORT_UNROLL
      for (int j = 0; j < 2 * columns; ++j) {
        A& weight = p(i / 2, j / 2, half + j % 2);
        weight = exp_of<T>(block, weight - base, factor);
        sum += weight;
      }
      total.of[i] = total.of[i] * down + sum;
      if (down == A(1)) continue;  // as most often
      SLICESORT_UNROLL
      for (int j = 0; j < Width / 4; ++j) sums(i / 2, j / 2, half + j % 2) *= down;
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

// SPDX-License-Identifier: Apache-2.0
// Launches a chain of factors, of as many samples as the workspace holds.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/sparse_mix/device/chain_tile.hpp>
#include <slicesort/detail/sparse_mix/device/factor.hpp>
#include <slicesort/detail/sparse_mix/device/packed_weights.hpp>
#include <slicesort/detail/sparse_mix/device/weight_gradient.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// A chain of some samples: forward from x to y, or backward from dy to dx.
template <class T>
struct chain_args {
  packed_weights<accumulator_t<T>> factors;
  index_t const* offsets;
  tensor_stack<T const> weights{};
  tensor1<index_t const> lengths;
  mix_start start = mix_start::nothing;
  bool back = false;
  grad_mode mode = grad_mode::overwrite;
  index_t every = 0;  // a state is saved after so many factors; 0: none is
  tensor3<T const> in{};
  tensor3<T> out{};
  tensor_stack<T> states{};
  tensor3<T> between[2]{};             // what factors pass on, unless it is saved
  tensor3<T const> first{};            // what sums begin with, for mix_start::first
  accumulator_t<T>* inputs = nullptr;  // the sum of all inputs so far, for mix_start::all
  bool adding = false;                 // `inputs` holds a sum already
};

// Packs the weights of factors [begin, end), for forward or backward.
template <class Grid, class T>
void pack_weights(Grid const& grid, chain_args<T> const& c, index_t begin, index_t end, bool back) {
  if (c.factors.links == 0 || begin >= end) return;
  using kernel = pack_weights_kernel<T>;
  kernel all{};
  all.w = c.weights;
  all.offsets = c.offsets;
  all.lengths = c.lengths;
  all.first_factor = begin;
  all.count = end - begin;
  all.back = back;
  all.lanes = static_cast<int>(
      power_of_two_above(std::min<index_t>(c.factors.links, kernel::links_of_block)));
  all.to = c.factors;
  grid.run(all, all.blocks(), kernel::max_threads);
}

// Runs one factor over global memory.
template <class Grid, class T>
void run_factor(Grid const& grid, chain_args<T> const& c, index_t factor, tensor3<T const> in,
                tensor3<T> out) {
  using kernel = mix_rows_kernel<T>;
  extents3 const e = in.extents();
  mix_tuning const t = mix_tuning_of<T>(grid);
  int width =
      power_of_two_in(divide_up(e.channels, kernel::channels_of_thread), 1, t.channel_threads);
  // Blocks that run together read the same channels: these should stay in the second-level cache.
  std::size_t const channels_of_one = static_cast<std::size_t>(e.length) * sizeof(T) *
                                      static_cast<std::size_t>(kernel::channels_of_thread);
  while (width > t.min_channel_threads &&
         channels_of_one * static_cast<std::size_t>(width) > t.cache_bytes)
    width /= 2;
  kernel all{};
  all.factors = c.factors;
  all.factor = factor;
  all.lengths = c.lengths;
  all.in = in;
  all.out = out;
  all.start = c.start;
  all.first = c.first;
  all.inputs = c.inputs;
  all.adding = c.adding;
  all.mode = c.mode;
  all.width = width;
  all.rows_adjacent = rows_are_adjacent(in.strides());
  grid.run(all, all.blocks(kernel::max_threads), kernel::max_threads);
}

// Sums the gradient of one factor's weights.
template <class Grid, class T>
void weight_gradient(Grid const& grid, chain_args<T> const& c, index_t factor, tensor3<T const> in,
                     tensor3<T const> dz, tensor3<T> dw) {
  using kernel = link_gradient_kernel<T>;
  if (c.factors.links == 0) return;
  kernel all{};
  all.factors = c.factors;
  all.factor = factor;
  all.lengths = c.lengths;
  all.in = in;
  all.dz = dz;
  all.dw = dw;
  all.mode = c.mode;
  grid.run(all, all.blocks(), kernel::max_threads);
}

// Runs factors [begin, end) in shared memory, if the rows fit there.
template <class Kernel, class Grid, class T>
bool run_in_tile(Grid const& grid, chain_args<T> const& c, index_t begin, index_t end) {
  extents3 const e = c.in.extents();
  device_info const device = grid.info();
  mix_tuning const t = mix_tuning_of<T>(grid);
  // Every row needs a thread.
  if (e.length > Kernel::max_threads * Kernel::rows) return false;
  Kernel all{};
  all.factors = c.factors;
  all.first_factor = static_cast<int>(begin);
  all.count = static_cast<int>(end - begin);
  all.lengths = c.lengths;
  all.in = c.in;
  all.out = c.out;
  all.states = c.states;
  all.every = static_cast<int>(c.every);
  all.saved = all.every == 0 ? 0 : (all.count - 1) / all.every;
  all.start = c.start;
  all.back = c.back;
  all.mode = c.mode;
  all.groups = 1;
  all.rows_adjacent = rows_are_adjacent(c.in.strides());
  all.row_threads = static_cast<int>(divide_up(divide_up(e.length, Kernel::rows), 8) * 8);
  if (shared_bytes(all) > t.tile_bytes) return false;
  // Small tiles take more channels; with more than `tile_threads` threads, only as long as every
  // processor has two blocks.
  for (Kernel wider = all; all.width() < e.channels; all = wider) {
    wider.groups *= 2;
    if (wider.threads() > Kernel::max_threads / 2 || shared_bytes(wider) > t.tile_bytes / 2) break;
    if (wider.threads() > t.tile_threads && wider.blocks() < 2 * device.processors) break;
  }
  grid.run(all, all.blocks(), all.threads());
  return true;
}

template <class Grid, class T>
bool run_in_tile(Grid const& grid, chain_args<T> const& chain, index_t begin, index_t end) {
  constexpr int channels = sizeof(T) == 8 ? 4 : 8;
  if (chain.start == mix_start::all || (chain.start == mix_start::first && begin != 0))
    return false;
  return run_in_tile<mix_tile_kernel<T, 4, channels>>(grid, chain, begin, end) ||
         run_in_tile<mix_tile_kernel<T, 8, channels / 2>>(grid, chain, begin, end);
}

// Runs factors [begin, end), at least one, from chain.in to chain.out. Only the last may
// accumulate.
template <class Grid, class T>
void run_factors(Grid const& grid, chain_args<T> const& chain, index_t begin, index_t end) {
  index_t const count = end - begin;
  auto const after = [&](index_t step) {  // where the result of `step` factors goes
    if (step == count) return chain.out;
    return chain.every != 0 && step % chain.every == 0 ? chain.states[step / chain.every - 1]
                                                       : chain.between[step % 2];
  };
  // A tile keeps rounded values. If the last factor accumulates to 16-bit elements, it runs on its
  // own.
  index_t const together =
      sizeof(T) == 2 && chain.mode == grad_mode::accumulate ? count - 1 : count;
  chain_args<T> now = chain;
  index_t done = 0;
  if (together < count) now.mode = grad_mode::overwrite;
  if (together > 0) now.out = after(together);
  if (together > 0 && run_in_tile(grid, now, chain.back ? end - together : begin,
                                  chain.back ? end : begin + together))
    done = together;

  tensor3<T const> in = done == 0 ? chain.in : tensor3<T const>(now.out);
  for (; done < count; ++done) {
    index_t const factor = chain.back ? end - 1 - done : begin + done;
    now.mode = done + 1 == count ? chain.mode : grad_mode::overwrite;
    now.adding = factor + 1 != chain.factors.factors;
    if (chain.start == mix_start::all && factor != 0) now.start = mix_start::nothing;
    if (factor == 0) now.start = chain.start;
    tensor3<T> const out = after(done + 1);
    run_factor(grid, now, factor, in, out);
    in = out;
  }
}

// Runs a chain without factors, which copies.
template <class Grid, class T>
void copy_rows(Grid const& grid, chain_args<T> chain) {
  chain.factors.links = 0;
  chain.start = mix_start::own;
  chain.inputs = nullptr;
  run_factor(grid, chain, 0, chain.in, chain.out);
}

SLICESORT_DETAIL_END

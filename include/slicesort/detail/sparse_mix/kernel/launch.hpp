// SPDX-License-Identifier: Apache-2.0
// How a chain of factors of some samples is launched.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/tile_shape.hpp>
#include <slicesort/detail/kernel/tuning.hpp>
#include <slicesort/detail/sparse_mix/kernel/chain_tile.hpp>
#include <slicesort/detail/sparse_mix/kernel/factor.hpp>
#include <slicesort/detail/sparse_mix/kernel/packed_weights.hpp>
#include <slicesort/detail/sparse_mix/kernel/weight_gradient.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The samples of a chain, forward from x to y or backward from dy to dx.
template <class T>
struct chain_args {
  packed_weights<detail::accumulator_t<T>> factors;
  index_t const* offsets;
  tensor4<T const> weights{};
  tensor1<index_t const> lengths;
  mix_start start = mix_start::nothing;
  bool back = false;
  grad_mode mode = grad_mode::overwrite;
  index_t every = 0;  // states saved; 0: none
  tensor3<T const> in{};
  tensor3<T> out{};
  tensor4<T> states{};
  tensor3<T> between[2]{};   // for what one factor hands to the next, if it needs a place
  tensor3<T const> first{};  // of mix_start::first
  detail::accumulator_t<T>* inputs = nullptr;  // of mix_start::all: their sum so far
  bool adding = false;                         // to it
};

// Lays out factors [begin, end).
template <class Grid, class T>
void spread(Grid const& grid, chain_args<T> const& c, index_t begin, index_t end, bool back) {
  if (c.factors.links == 0 || begin >= end) return;
  int const lanes = static_cast<int>(power_of_two_above(std::min<index_t>(c.factors.links, 32)));
  using body = pack_weights_body<T>;
  body const all{c.weights, c.offsets, c.lengths, begin, end - begin, back, lanes, c.factors};
  grid.run(all, all.blocks(), body::max_threads);
}

template <class Grid, class T>
void run_factor(Grid const& grid, chain_args<T> const& c, index_t factor, tensor3<T const> in,
                tensor3<T> out) {
  using body = mix_rows_body<T>;
  extents3 const e = in.extents();
  mix_tuning const t = mix_tuning_of<T>(grid);
  int width =
      power_of_two_in(divide_up(e.channels, body::channels_of_thread), 1, t.channel_threads);
  // Blocks that run together read the same channels: these should stay in the second-level cache.
  std::size_t const channels_of_one = static_cast<std::size_t>(e.length) * sizeof(T) *
                                      static_cast<std::size_t>(body::channels_of_thread);
  while (width > t.few_channel_threads &&
         channels_of_one * static_cast<std::size_t>(width) > t.cache_bytes)
    width /= 2;
  body const all{c.factors, factor,   c.lengths, in,     out,   c.start,
                 c.first,   c.inputs, c.adding,  c.mode, width, rows_are_adjacent(in.strides())};
  grid.run(all, all.blocks(body::max_threads), body::max_threads);
}

template <class Grid, class T>
void link_gradient(Grid const& grid, chain_args<T> const& c, index_t factor, tensor3<T const> in,
                   tensor3<T const> dz, tensor3<T> dw) {
  using body = link_gradient_body<T>;
  if (c.factors.links == 0) return;
  body const all{c.factors, factor, c.lengths, in, dz, dw, c.mode};
  grid.run(all, all.blocks(), body::max_threads);
}

// Runs factors [begin, end) in shared memory, if the rows fit there.
template <class Body, class Grid, class T>
bool run_in_tile(Grid const& grid, chain_args<T> const& c, index_t begin, index_t end) {
  extents3 const e = c.in.extents();
  device_info const device = grid.info();
  mix_tuning const t = mix_tuning_of<T>(grid);
  // Every row must have a thread; and a row's pieces lie at 32-bit distances.
  if (e.length > Body::max_threads * Body::rows) return false;
  auto const count = static_cast<int>(end - begin), every = static_cast<int>(c.every);
  Body all{c.factors,
           static_cast<int>(begin),
           count,
           c.lengths,
           c.in,
           c.out,
           c.states,
           every,
           every == 0 ? 0 : (count - 1) / every,
           c.start,
           c.back,
           c.mode,
           0,
           1,
           rows_are_adjacent(c.in.strides())};
  all.row_threads = static_cast<int>(divide_up(divide_up(e.length, Body::rows), 8) * 8);
  if (shared_bytes(all) > t.tile_bytes) return false;
  // Small tiles take more channels, as long as every processor has several.
  for (Body wider = all; all.width() < e.channels; all = wider) {
    wider.groups *= 2;
    if (wider.threads() > Body::max_threads / 2 || shared_bytes(wider) > t.tile_bytes / 2) break;
    if (wider.threads() > t.tile_threads && wider.blocks() < 2 * device.processors) break;
  }
  grid.run(all, all.blocks(), all.threads());
  return true;
}

template <class Grid, class T>
bool run_in_tile(Grid const& grid, chain_args<T> const& job, index_t begin, index_t end) {
  constexpr int channels = sizeof(T) == 8 ? 4 : 8;
  if (job.start == mix_start::all || (job.start == mix_start::first && begin != 0)) return false;
  return run_in_tile<mix_tile_body<T, 4, channels>>(grid, job, begin, end) ||
         run_in_tile<mix_tile_body<T, 8, channels / 2>>(grid, job, begin, end);
}

// Runs factors [begin, end), at least one, from job.in to job.out. Only the last may accumulate.
template <class Grid, class T>
void run_factors(Grid const& grid, chain_args<T> const& job, index_t begin, index_t end) {
  index_t const count = end - begin;
  auto const after = [&](index_t step) {  // where what `step` factors make is put
    if (step == count) return job.out;
    return job.every != 0 && step % job.every == 0 ? job.states[step / job.every - 1]
                                                   : job.between[step % 2];
  };
  // A tile keeps rounded values. If the last factor accumulates to 16-bit elements, it runs on its
  // own.
  index_t const together = sizeof(T) == 2 && job.mode == grad_mode::accumulate ? count - 1 : count;
  chain_args<T> now = job;
  index_t done = 0;
  if (together < count) now.mode = grad_mode::overwrite;
  if (together > 0) now.out = after(together);
  if (together > 0 &&
      run_in_tile(grid, now, job.back ? end - together : begin, job.back ? end : begin + together))
    done = together;

  tensor3<T const> in = done == 0 ? job.in : tensor3<T const>(now.out);
  for (; done < count; ++done) {
    index_t const factor = job.back ? end - 1 - done : begin + done;
    now.mode = done + 1 == count ? job.mode : grad_mode::overwrite;
    now.adding = factor + 1 != job.factors.factors;
    if (job.start == mix_start::all && factor != 0) now.start = mix_start::nothing;
    if (factor == 0) now.start = job.start;
    tensor3<T> const out = after(done + 1);
    run_factor(grid, now, factor, in, out);
    in = out;
  }
}

// Runs a chain without factors, which copies.
template <class Grid, class T>
void copy_rows(Grid const& grid, chain_args<T> job) {
  job.factors.links = 0;
  job.start = mix_start::own;
  job.inputs = nullptr;
  run_factor(grid, job, 0, job.in, job.out);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

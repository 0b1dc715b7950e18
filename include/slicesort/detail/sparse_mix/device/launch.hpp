// SPDX-License-Identifier: Apache-2.0
// Launches the sparse_mix kernels for a chain of factors.
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

// Chain of factors for a chunk of samples: forward from x to y, or backward from dy to dx.
template <class T>
struct chain_args {
  packed_weights<accumulator_t<T>> factors;
  index_t const* offsets;
  tensor_stack<T const> weights{};
  tensor1<index_t const> lengths;
  mix_start start = mix_start::zero;
  bool backward = false;
  grad_mode mode = grad_mode::overwrite;
  index_t state_interval = 0;  // factors from one saved state to the next; 0 means no states
  tensor3<T const> input{};
  tensor3<T> output{};
  tensor_stack<T> states{};
  tensor3<T> intermediate[2]{};            // buffers for outputs that are not saved
  tensor3<T const> initial{};              // initial sums, for mix_start::first
  accumulator_t<T>* input_sums = nullptr;  // sum of all inputs so far, for mix_start::total
  bool accumulates_input_sums = false;     // true if `input_sums` holds a sum already
};

// Packs the weights of factors [begin, end).
template <class Grid, class T>
void pack_weights(Grid const& grid, chain_args<T> const& chain, index_t begin, index_t end) {
  if (chain.factors.links == 0) return;
  using Kernel = pack_weights_kernel<T>;
  Kernel kernel{};
  kernel.source = chain.weights;
  kernel.offsets = chain.offsets;
  kernel.lengths = chain.lengths;
  kernel.first_factor = begin;
  kernel.factor_count = end - begin;
  kernel.backward = chain.backward;
  kernel.link_threads =
      static_cast<int>(bit_ceil(std::min<index_t>(chain.factors.links, Kernel::links_per_block)));
  kernel.packed = chain.factors;
  grid.run(kernel, kernel.blocks(), Kernel::max_threads);
}

// Applies one factor in global memory.
template <class Grid, class T>
void run_factor(Grid const& grid, chain_args<T> const& chain, index_t factor,
                tensor3<T const> input, tensor3<T> output) {
  using Kernel = mix_rows_kernel<T>;
  extents3 const extents = input.extents();
  mix_tuning const tuning = mix_tuning_of<T>(grid);
  int width = clamped_bit_floor(divide_up(extents.channels, Kernel::channels_per_thread), 1,
                                tuning.channel_threads);
  // Blocks that run concurrently read the same channels, which should stay in the L2 cache.
  std::size_t const channel_bytes = static_cast<std::size_t>(extents.length) * sizeof(T) *
                                    static_cast<std::size_t>(Kernel::channels_per_thread);
  while (width > tuning.min_channel_threads &&
         channel_bytes * static_cast<std::size_t>(width) > tuning.cache_bytes)
    width /= 2;
  Kernel kernel{};
  kernel.factors = chain.factors;
  kernel.factor = factor;
  kernel.lengths = chain.lengths;
  kernel.input = input;
  kernel.output = output;
  kernel.start = chain.start;
  kernel.initial = chain.initial;
  kernel.input_sums = chain.input_sums;
  kernel.accumulates_input_sums = chain.accumulates_input_sums;
  kernel.mode = chain.mode;
  kernel.width = width;
  kernel.rows_adjacent = rows_are_adjacent(input.strides());
  grid.run(kernel, kernel.blocks(Kernel::max_threads), Kernel::max_threads);
}

template <class Grid, class T>
void compute_weight_gradient(Grid const& grid, chain_args<T> const& chain, index_t factor,
                             tensor3<T const> input, tensor3<T const> dz, tensor3<T> dw) {
  using Kernel = link_gradient_kernel<T>;
  if (chain.factors.links == 0) return;
  Kernel kernel{};
  kernel.factors = chain.factors;
  kernel.factor = factor;
  kernel.lengths = chain.lengths;
  kernel.input = input;
  kernel.dz = dz;
  kernel.dw = dw;
  kernel.mode = chain.mode;
  grid.run(kernel, kernel.blocks(), Kernel::max_threads);
}

// Applies factors [begin, end) in shared memory. Returns false if the rows do not fit.
template <class Kernel, class Grid, class T>
bool run_in_tile(Grid const& grid, chain_args<T> const& chain, index_t begin, index_t end) {
  extents3 const extents = chain.input.extents();
  device_info const device = grid.info();
  mix_tuning const tuning = mix_tuning_of<T>(grid);
  if (extents.length > Kernel::max_threads * Kernel::rows) return false;
  Kernel kernel{};
  kernel.factors = chain.factors;
  kernel.first_factor = static_cast<int>(begin);
  kernel.factor_count = static_cast<int>(end - begin);
  kernel.lengths = chain.lengths;
  kernel.input = chain.input;
  kernel.output = chain.output;
  kernel.states = chain.states;
  kernel.state_interval = static_cast<int>(chain.state_interval);
  kernel.saved_state_count =
      kernel.state_interval == 0 ? 0 : (kernel.factor_count - 1) / kernel.state_interval;
  kernel.start = chain.start;
  kernel.backward = chain.backward;
  kernel.mode = chain.mode;
  kernel.groups = 1;
  kernel.rows_adjacent = rows_are_adjacent(chain.input.strides());
  kernel.row_threads = static_cast<int>(divide_up(divide_up(extents.length, Kernel::rows), 8) * 8);
  if (shared_bytes(kernel) > tuning.tile_bytes) return false;
  // Widens small tiles. Beyond `tile_threads` threads, every multiprocessor must still get two
  // blocks.
  for (Kernel wider = kernel; kernel.width() < extents.channels; kernel = wider) {
    wider.groups *= 2;
    if (wider.threads() > Kernel::max_threads / 2 || shared_bytes(wider) > tuning.tile_bytes / 2)
      break;
    if (wider.threads() > tuning.tile_threads && wider.blocks() < 2 * device.sm_count) break;
  }
  grid.run(kernel, kernel.blocks(), kernel.threads());
  return true;
}

template <class Grid, class T>
bool run_in_tile(Grid const& grid, chain_args<T> const& chain, index_t begin, index_t end) {
  constexpr int channels = sizeof(T) == 8 ? 4 : 8;
  if (chain.start == mix_start::total || (chain.start == mix_start::first && begin != 0))
    return false;
  return run_in_tile<mix_tile_kernel<T, 4, channels>>(grid, chain, begin, end) ||
         run_in_tile<mix_tile_kernel<T, 8, channels / 2>>(grid, chain, begin, end);
}

// Applies factors [begin, end), at least one. Only the last factor may accumulate.
template <class Grid, class T>
void run_factors(Grid const& grid, chain_args<T> const& chain, index_t begin, index_t end) {
  index_t const count = end - begin;
  auto const result_of = [&](index_t step) {
    if (step == count) return chain.output;
    return chain.state_interval != 0 && step % chain.state_interval == 0
               ? chain.states[step / chain.state_interval - 1]
               : chain.intermediate[step % 2];
  };
  // A tile holds rounded values, so a last factor that accumulates 16-bit gradients runs
  // separately.
  index_t const fused_factors =
      sizeof(T) == 2 && chain.mode == grad_mode::accumulate ? count - 1 : count;
  chain_args<T> pass = chain;
  index_t applied_factors = 0;
  if (fused_factors < count) pass.mode = grad_mode::overwrite;
  if (fused_factors > 0) pass.output = result_of(fused_factors);
  if (fused_factors > 0 && run_in_tile(grid, pass, chain.backward ? end - fused_factors : begin,
                                       chain.backward ? end : begin + fused_factors))
    applied_factors = fused_factors;

  tensor3<T const> input = applied_factors == 0 ? chain.input : tensor3<T const>(pass.output);
  for (; applied_factors < count; ++applied_factors) {
    index_t const factor = chain.backward ? end - 1 - applied_factors : begin + applied_factors;
    pass.mode = applied_factors + 1 == count ? chain.mode : grad_mode::overwrite;
    pass.accumulates_input_sums = factor + 1 != chain.factors.factors;
    pass.start = chain.start == mix_start::total && factor != 0 ? mix_start::zero : chain.start;
    tensor3<T> const output = result_of(applied_factors + 1);
    run_factor(grid, pass, factor, input, output);
    input = output;
  }
}

// Copies the rows of a chain without factors.
template <class Grid, class T>
void copy_rows(Grid const& grid, chain_args<T> chain) {
  chain.factors.links = 0;
  chain.start = mix_start::self;
  chain.input_sums = nullptr;
  run_factor(grid, chain, 0, chain.input, chain.output);
}

SLICESORT_DETAIL_END

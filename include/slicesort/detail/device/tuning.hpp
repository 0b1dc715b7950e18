// SPDX-License-Identifier: Apache-2.0
// Tuning of a grid for an element type: applies the policy's selectors to the defaults and clamps
// the result.
#pragma once

#include <slicesort/detail/device/grid.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Clamps to low .. high and rounds down to a power of two. Requires that low and high are powers of
// two.
inline int clamped_bit_floor(index_t value, int low, int high) {
  return static_cast<int>(bit_floor(std::clamp<index_t>(value, low, high)));
}

template <class T, class Grid>
grid_tuning grid_tuning_of(Grid const& grid) {
  grid_tuning tuning = grid.tuning(default_grid_tuning(grid.info(), sizeof(T)), sizeof(T));
  tuning.chunk_elements = std::max<index_t>(tuning.chunk_elements, 1);
  tuning.element_threads = clamped_bit_floor(tuning.element_threads, 32, 256);
  return tuning;
}

// `choose_sort_shape` clamps register_rows, run_rows and merge_threads.
template <class T, class Grid>
sort_tuning sort_tuning_of(Grid const& grid) {
  sort_tuning tuning = grid.tuning(default_sort_tuning(grid.info(), sizeof(T)), sizeof(T));
  tuning.register_threads = std::clamp(tuning.register_threads / 32 * 32, 32, 128);
  tuning.tile_columns = clamped_bit_floor(tuning.tile_columns, 1, 32);
  tuning.tile_threads = clamped_bit_floor(tuning.tile_threads, 32, 512);
  tuning.tile_bytes = std::min(tuning.tile_bytes, grid.info().shared_bytes);
  tuning.group_threads = clamped_bit_floor(tuning.group_threads, 32, 256);
  tuning.group_rows = std::clamp(tuning.group_rows, 1, 1024);
  return tuning;
}

template <class T, class Grid>
permute_tuning permute_tuning_of(Grid const& grid) {
  permute_tuning tuning = grid.tuning(default_permute_tuning(grid.info(), sizeof(T)), sizeof(T));
  tuning.tile_columns = clamped_bit_floor(tuning.tile_columns, 1, 1024);
  tuning.least_columns = clamped_bit_floor(tuning.least_columns, 1, tuning.tile_columns);
  tuning.tile_threads = clamped_bit_floor(tuning.tile_threads, 32, 1024);
  tuning.tile_elements = std::clamp(tuning.tile_elements, 1, 64);
  tuning.shared_tile_bytes = std::min(tuning.shared_tile_bytes, grid.info().shared_bytes);
  tuning.direct_columns = clamped_bit_floor(tuning.direct_columns, 1, 32);
  return tuning;
}

template <class T, class Grid>
mix_tuning mix_tuning_of(Grid const& grid) {
  mix_tuning tuning = grid.tuning(default_mix_tuning(grid.info(), sizeof(T)), sizeof(T));
  tuning.tile_bytes = std::min(tuning.tile_bytes, grid.info().shared_bytes);
  tuning.channel_threads = clamped_bit_floor(tuning.channel_threads, 1, 32);
  tuning.min_channel_threads =
      clamped_bit_floor(tuning.min_channel_threads, 1, tuning.channel_threads);
  tuning.backward_factors = std::max(tuning.backward_factors, 1);
  return tuning;
}

template <class T, class Grid>
attention_tuning attention_tuning_of(Grid const& grid) {
  attention_tuning tuning =
      grid.tuning(default_attention_tuning(grid.info(), sizeof(T)), sizeof(T));
  tuning.forward_warps = clamped_bit_floor(tuning.forward_warps, 1, 4);
  tuning.backward_kv_warps = clamped_bit_floor(tuning.backward_kv_warps, 1, 8);
  tuning.backward_q_warps = clamped_bit_floor(tuning.backward_q_warps, 1, 4);
  tuning.backward_buffers = std::clamp(tuning.backward_buffers, 1, 2);
  return tuning;
}

SLICESORT_DETAIL_END

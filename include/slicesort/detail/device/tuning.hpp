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
inline int floor_power_of_two(index_t value, int low, int high) {
  return static_cast<int>(half_power_of_two(std::clamp<index_t>(value, low, high)));
}

template <class T, class Grid>
grid_tuning grid_tuning_of(Grid const& grid) {
  grid_tuning t = grid.tuning(default_grid_tuning(grid.info(), sizeof(T)), sizeof(T));
  t.chunk_elements = std::max<index_t>(t.chunk_elements, 1);
  t.element_threads = floor_power_of_two(t.element_threads, 32, 256);
  return t;
}

// `choose_sort_shape` clamps register_rows, run_rows and merge_threads.
template <class T, class Grid>
sort_tuning sort_tuning_of(Grid const& grid) {
  sort_tuning t = grid.tuning(default_sort_tuning(grid.info(), sizeof(T)), sizeof(T));
  t.register_threads = std::clamp(t.register_threads / 32 * 32, 32, 128);
  t.tile_columns = floor_power_of_two(t.tile_columns, 1, 32);
  t.tile_threads = floor_power_of_two(t.tile_threads, 32, 512);
  t.tile_bytes = std::min(t.tile_bytes, grid.info().shared_bytes);
  t.group_threads = floor_power_of_two(t.group_threads, 32, 256);
  t.group_rows = std::clamp(t.group_rows, 1, 1024);
  return t;
}

template <class T, class Grid>
permute_tuning permute_tuning_of(Grid const& grid) {
  permute_tuning t = grid.tuning(default_permute_tuning(grid.info(), sizeof(T)), sizeof(T));
  t.tile_columns = floor_power_of_two(t.tile_columns, 1, 1024);
  t.least_columns = floor_power_of_two(t.least_columns, 1, t.tile_columns);
  t.tile_threads = floor_power_of_two(t.tile_threads, 32, 1024);
  t.tile_elements = std::clamp(t.tile_elements, 1, 64);
  t.shared_tile_bytes = std::min(t.shared_tile_bytes, grid.info().shared_bytes);
  t.direct_columns = floor_power_of_two(t.direct_columns, 1, 32);
  return t;
}

template <class T, class Grid>
mix_tuning mix_tuning_of(Grid const& grid) {
  mix_tuning t = grid.tuning(default_mix_tuning(grid.info(), sizeof(T)), sizeof(T));
  t.tile_bytes = std::min(t.tile_bytes, grid.info().shared_bytes);
  t.channel_threads = floor_power_of_two(t.channel_threads, 1, 32);
  t.min_channel_threads = floor_power_of_two(t.min_channel_threads, 1, t.channel_threads);
  t.backward_factors = std::max(t.backward_factors, 1);
  return t;
}

template <class T, class Grid>
attention_tuning attention_tuning_of(Grid const& grid) {
  attention_tuning t = grid.tuning(default_attention_tuning(grid.info(), sizeof(T)), sizeof(T));
  t.forward_warps = floor_power_of_two(t.forward_warps, 1, 4);
  t.backward_kv_warps = floor_power_of_two(t.backward_kv_warps, 1, 8);
  t.backward_q_warps = floor_power_of_two(t.backward_q_warps, 1, 4);
  t.backward_buffers = std::clamp(t.backward_buffers, 1, 2);
  return t;
}

SLICESORT_DETAIL_END

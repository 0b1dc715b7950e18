// SPDX-License-Identifier: Apache-2.0
// The tuning of a grid for elements of one type.
#pragma once

#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/tuning.hpp>

#include <algorithm>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// A power of two from `low` to `high`, which are two themselves.
inline int power_of_two_in(index_t value, int low, int high) {
  return static_cast<int>(power_of_two_below(std::clamp<index_t>(value, low, high)));
}

// As it was chosen: values may be out of range.
template <class T, class Grid>
sort_tuning sort_tuning_of(Grid const& grid) {
  return grid.tuning(default_sort_tuning(grid.info(), sizeof(T)), sizeof(T));
}

// Brought into range.
template <class T, class Grid>
permute_tuning permute_tuning_of(Grid const& grid) {
  permute_tuning t = grid.tuning(default_permute_tuning(grid.info(), sizeof(T)), sizeof(T));
  t.tile_columns = power_of_two_in(t.tile_columns, 1, 1024);
  t.least_columns = power_of_two_in(t.least_columns, 1, t.tile_columns);
  t.tile_threads = power_of_two_in(t.tile_threads, 32, 1024);
  t.tile_elements = std::clamp(t.tile_elements, 1, 64);
  t.shared_tile_bytes = std::min(t.shared_tile_bytes, grid.info().shared_bytes);
  return t;
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

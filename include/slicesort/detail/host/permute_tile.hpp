// SPDX-License-Identifier: Apache-2.0
// The transpose of a permutation, tile by tile: rows of dy are scattered inside a tile that stays in
// cache, then the tile is written row by row. Every element is moved once; nothing is added up.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

template <class T>
struct permuted_tile {
  T const* dy;
  T* dx;
  void const* perm;
  index_width perm_width;
  tile_operand dy_at, dx_at, perm_at;
  int width;
  index_t rows;                 // of the tensor
  index_t valid[tile_columns];  // rows past these stay where they are
  bool ragged;                  // some valid[c] < rows
  grad_mode mode;
  T* scratch;  // rows * tile_columns
};

// Copies row `i`'s elements to the rows that `perm` names. All 32 lanes are moved (unused ones carry row
// 0's garbage nowhere that is read): a fixed count lets the compiler unroll.
template <class T, class Index>
void scatter_row(T const* dy, Index const* perm, T* tile) {
  for (int lane = 0; lane < tile_columns; ++lane)
    tile[static_cast<std::size_t>(perm[lane]) * tile_columns + static_cast<std::size_t>(lane)] = dy[lane];
}

template <class T, class Index>
void transpose_permutation(permuted_tile<T> const& t) {
  constexpr int batch = 8;
  auto const* const perm = static_cast<Index const*>(t.perm);
  T values[batch * tile_columns];
  Index indices[batch * tile_columns] = {};
  for (index_t i = 0; i < t.rows; i += batch) {
    int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
    T const* dy = values;
    Index const* p = indices;
    index_t dy_pitch = tile_columns, p_pitch = tile_columns;
    if (t.dy_at.dense) {
      dy = t.dy + t.dy_at.start[0] + i * t.dy_at.pitch;
      dy_pitch = t.dy_at.pitch;
    } else {
      gather_rows(t.dy, t.dy_at, 0, t.width, i, count, values, tile_columns);
    }
    if (t.perm_at.dense && !t.ragged) {
      p = perm + t.perm_at.start[0] + i * t.perm_at.pitch;
      p_pitch = t.perm_at.pitch;
    } else {
      gather_rows(perm, t.perm_at, 0, t.width, i, count, indices, tile_columns);
      for (int lane = 0; lane < t.width; ++lane)
        for (int k = 0; k < count; ++k)
          if (i + k >= t.valid[lane]) indices[k * tile_columns + lane] = static_cast<Index>(i + k);
    }
    for (int k = 0; k < count; ++k) scatter_row(dy + k * dy_pitch, p + k * p_pitch, t.scratch);
  }
}

template <class T>
void write_tile(permuted_tile<T> const& t) {
  using A = detail::accumulator_t<T>;
  constexpr int batch = 8;
  T sums[batch * tile_columns];
  for (index_t i = 0; i < t.rows; i += batch) {
    int const count = t.rows - i < batch ? static_cast<int>(t.rows - i) : batch;
    T const* from = t.scratch + i * tile_columns;
    if (t.mode == grad_mode::accumulate) {
      gather_rows(t.dx, t.dx_at, 0, t.width, i, count, sums, tile_columns);
      for (int k = 0; k < count; ++k)
        for (int lane = 0; lane < t.width; ++lane) {
          T& sum = sums[k * tile_columns + lane];
          sum = static_cast<T>(static_cast<A>(sum) + static_cast<A>(from[k * tile_columns + lane]));
        }
      from = sums;
    }
    if (t.dx_at.dense)
      for (int k = 0; k < count; ++k)
        std::memcpy(t.dx + t.dx_at.start[0] + (i + k) * t.dx_at.pitch, from + k * tile_columns,
                    sizeof(T) * tile_columns);
    else
      scatter_rows(from, tile_columns, t.width, i, count, t.dx_at, t.dx);
  }
}

template <class T>
void permute_tile(permuted_tile<T> const& t) {
  if (t.perm_width == index_width::bits16)
    transpose_permutation<T, std::uint16_t>(t);
  else
    transpose_permutation<T, std::uint32_t>(t);
  write_tile(t);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

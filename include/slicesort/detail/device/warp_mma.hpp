// SPDX-License-Identifier: Apache-2.0
// Products of tiles in shared memory, a warp at a time, without tensor cores.
//
// A tile has rows of `Width` elements, in pieces of 16 bytes that lie as `piece_tile` says.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/swizzled_tile.hpp>
#include <slicesort/dtype.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// A float that tensor cores multiply as TF32: its last 13 bits are 0. It is rounded to the nearest
// such number, of two the one that is farther from 0, as cvt.rna.tf32 does.
struct tf32 {
  float number;

  tf32() = default;
  SLICESORT_HD explicit tf32(float value) {
    std::uint32_t const u = bit_cast<std::uint32_t>(value);
    bool const nan = (u & 0x7fffffffu) > 0x7f800000u;
    number = bit_cast<float>(nan ? 0x7fffe000u : (u + 0x1000u) & 0xffffe000u);
  }
  SLICESORT_HD explicit operator float() const { return number; }
};

// 16 bytes of a row.
template <class T>
struct alignas(16) tile_piece {
  static constexpr int elements = 16 / static_cast<int>(sizeof(T));
  T value[static_cast<unsigned>(elements)];
};
template <class T>
inline constexpr int elements_of_piece = tile_piece<T>::elements;

// The layout of a tile with rows of `Width` elements T: which piece lies where.
template <class T, int Width>
using piece_tile = swizzled_tile<Width / elements_of_piece<T>, 1, 8>;

// sums of row r and column c += sum over k < depth of a[r][k] * b[c][k]. `depth` may be brought up
// to whole pieces: the rest of these is 0.
template <int Width, class Block, class A, class T, int Rows, int Columns>
SLICESORT_HD_INLINE void plain_mma_abt(Block& block, register_tile<A, Rows, Columns>& sums,
                                       tile_piece<T> const* a, tile_piece<T> const* b, int depth) {
  using tile = piece_tile<T, Width>;
  constexpr int elements = elements_of_piece<T>;
  tile_lane const me(block.rank());
  int const used = (depth + elements - 1) / elements;
  SLICESORT_NO_UNROLL
  for (int k = 0; k < used; ++k) {
    A mine[static_cast<std::size_t>(2 * Rows * elements)];
    SLICESORT_UNROLL
    for (int i = 0; i < 2 * Rows; ++i) {
      tile_piece<T> const row = a[tile::offset(8 * i + me.g, k, tile::swizzle(me.g))];
      SLICESORT_UNROLL
      for (int u = 0; u < elements; ++u) mine[i * elements + u] = static_cast<A>(row.value[u]);
    }
    SLICESORT_UNROLL
    for (int j = 0; j < 2 * Columns; ++j) {
      int const column = 2 * me.t + j % 2;
      tile_piece<T> const other = b[tile::offset(8 * (j / 2) + column, k, tile::swizzle(column))];
      SLICESORT_UNROLL
      for (int u = 0; u < elements; ++u) {
        A const y = static_cast<A>(other.value[u]);
        SLICESORT_UNROLL
        for (int i = 0; i < 2 * Rows; ++i)
          sums(i / 2, j / 2, i % 2 * 2 + j % 2) += mine[i * elements + u] * y;
      }
    }
  }
}

// Sums as the left factor of another product: rounded as a tensor core would be given them.
template <class T, class A, int Rows, int Columns>
SLICESORT_HD_INLINE register_tile<A, Rows, Columns> plain_mma_operand(
    register_tile<A, Rows, Columns> const& sums) {
  if constexpr (sizeof(T) == 2) {
    register_tile<A, Rows, Columns> weights;
    SLICESORT_UNROLL
    for (int i = 0; i < sums.count; ++i) weights[i] = static_cast<A>(static_cast<T>(sums[i]));
    return weights;
  } else {
    return sums;
  }
}

// sums of row r and column c += sum over k of weights[r][k] * x[k][c], for c < width at least; the
// rest of the sums is of no use. Weights lie as sums do.
template <int Width, class Block, class A, class T, int Rows, int Columns>
SLICESORT_HD_INLINE void plain_mma_ab(Block& block, register_tile<A, Rows, Width / 8>& sums,
                                      register_tile<A, Rows, Columns> const& weights,
                                      tile_piece<T> const* x, int width) {
  using tile = piece_tile<T, Width>;
  constexpr int elements = elements_of_piece<T>;
  tile_lane const me(block.rank());
  auto const theirs = block.shfl_quad(weights);
  SLICESORT_UNROLL
  for (int j = 0; j < Columns; ++j) {
    SLICESORT_NO_UNROLL
    for (int lane = 0; lane < 4; ++lane) {
      SLICESORT_UNROLL
      for (int e = 0; e < 2; ++e) {
        A weight[static_cast<std::size_t>(2 * Rows)];
        SLICESORT_UNROLL
        for (int i = 0; i < 2 * Rows; ++i)
          weight[i] = theirs(lane, (i / 2 * Columns + j) * 4 + i % 2 * 2 + e);
        int const row = 2 * lane + e;
        SLICESORT_UNROLL
        for (int c = 0; c < Width / 8; ++c) {
          if (8 * c >= width) continue;
          int const first = 8 * c + 2 * me.t;
          T const* const pair =
              x[tile::offset(8 * j + row, first / elements, tile::swizzle(row))].value +
              first % elements;
          A const y[2] = {static_cast<A>(pair[0]), static_cast<A>(pair[1])};
          SLICESORT_UNROLL
          for (int i = 0; i < 2 * Rows; ++i) {
            sums(i / 2, c, i % 2 * 2) += weight[i] * y[0];
            sums(i / 2, c, i % 2 * 2 + 1) += weight[i] * y[1];
          }
        }
      }
    }
  }
}

SLICESORT_DETAIL_END

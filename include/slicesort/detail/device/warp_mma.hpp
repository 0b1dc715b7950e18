// SPDX-License-Identifier: Apache-2.0
// Products of tiles in shared memory by one warp without tensor cores. A tile has rows of `Width`
// elements, in pieces of 16 bytes with the layout `piece_tile`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/swizzled_tile.hpp>
#include <slicesort/dtype.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Float with the precision of TF32: its last 13 bits are 0. Rounds to nearest, ties away from 0,
// like cvt.rna.tf32.
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

template <class T>
struct alignas(16) tile_piece {
  static constexpr int elements = 16 / static_cast<int>(sizeof(T));
  T value[static_cast<unsigned>(elements)];
};
template <class T>
inline constexpr int elements_per_piece = tile_piece<T>::elements;

// Layout of a tile with rows of `Width` elements T. Offsets are in pieces.
template <class T, int Width>
using piece_tile = swizzled_tile<Width / elements_per_piece<T>, 1, 8>;

// Computes sums[r][c] += sum over k < depth of a[r][k] * b[c][k]. May round `depth` up to whole
// pieces, which are padded with zeros.
template <int Width, class Block, class A, class T, int Rows, int Columns>
SLICESORT_HD_INLINE void plain_mma_abt(Block& block, register_tile<A, Rows, Columns>& sums,
                                       tile_piece<T> const* a, tile_piece<T> const* b, int depth) {
  using tile = piece_tile<T, Width>;
  constexpr int elements = elements_per_piece<T>;
  tile_lane const lane(block.rank());
  int const pieces = (depth + elements - 1) / elements;
  SLICESORT_NO_UNROLL
  for (int k = 0; k < pieces; ++k) {
    A a_row[static_cast<std::size_t>(2 * Rows * elements)];
    SLICESORT_UNROLL
    for (int i = 0; i < 2 * Rows; ++i) {
      tile_piece<T> const row = a[tile::offset(8 * i + lane.g, k, tile::swizzle(lane.g))];
      SLICESORT_UNROLL
      for (int u = 0; u < elements; ++u) a_row[i * elements + u] = static_cast<A>(row.value[u]);
    }
    SLICESORT_UNROLL
    for (int j = 0; j < 2 * Columns; ++j) {
      int const column = 2 * lane.t + j % 2;
      tile_piece<T> const b_row = b[tile::offset(8 * (j / 2) + column, k, tile::swizzle(column))];
      SLICESORT_UNROLL
      for (int u = 0; u < elements; ++u) {
        A const y = static_cast<A>(b_row.value[u]);
        SLICESORT_UNROLL
        for (int i = 0; i < 2 * Rows; ++i)
          sums(i / 2, j / 2, i % 2 * 2 + j % 2) += a_row[i * elements + u] * y;
      }
    }
  }
}

// Returns sums as the left operand of another product, rounded as for a tensor core.
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

// Computes sums[r][c] += sum over k of weights[r][k] * x[k][c]. Columns from `width` on are
// unspecified. Weights have the layout of sums.
template <int Width, class Block, class A, class T, int Rows, int Columns>
SLICESORT_HD_INLINE void plain_mma_ab(Block& block, register_tile<A, Rows, Width / 8>& sums,
                                      register_tile<A, Rows, Columns> const& weights,
                                      tile_piece<T> const* x, int width) {
  using tile = piece_tile<T, Width>;
  constexpr int elements = elements_per_piece<T>;
  tile_lane const lane(block.rank());
  auto const weight_of = block.shfl_quad(weights);
  SLICESORT_UNROLL
  for (int j = 0; j < Columns; ++j) {
    SLICESORT_NO_UNROLL
    for (int source = 0; source < 4; ++source) {
      SLICESORT_UNROLL
      for (int e = 0; e < 2; ++e) {
        A weight[static_cast<std::size_t>(2 * Rows)];
        SLICESORT_UNROLL
        for (int i = 0; i < 2 * Rows; ++i)
          weight[i] = weight_of(source, (i / 2 * Columns + j) * 4 + i % 2 * 2 + e);
        int const row = 2 * source + e;
        SLICESORT_UNROLL
        for (int c = 0; c < Width / 8; ++c) {
          if (8 * c >= width) continue;
          int const first = 8 * c + 2 * lane.t;
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

// SPDX-License-Identifier: Apache-2.0
// Products of tiles in shared memory by one warp, without tensor cores. A tile has rows of `Width`
// elements, in pieces of 16 bytes with the layout `vector16_tile`.
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
  float rounded_value;

  tf32() = default;
  SLICESORT_HD explicit tf32(float value) {
    std::uint32_t const bits = bit_cast<std::uint32_t>(value);
    bool const is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    rounded_value = bit_cast<float>(is_nan ? 0x7fffe000u : (bits + 0x1000u) & 0xffffe000u);
  }
  SLICESORT_HD explicit operator float() const { return rounded_value; }
};

template <class T>
struct alignas(16) tile_vector16 {
  static constexpr int elements = 16 / static_cast<int>(sizeof(T));
  T value[static_cast<unsigned>(elements)];
};
template <class T>
inline constexpr int elements_per_vector16 = tile_vector16<T>::elements;

// Layout of a tile with rows of `Width` elements T. Offsets are in pieces.
template <class T, int Width>
using vector16_tile = swizzled_tile<Width / elements_per_vector16<T>, 1, 8>;

// Computes sums[r][c] += sum over k < depth of a[r][k] * b[c][k]. May round `depth` up to whole
// pieces, which are padded with zeros.
template <int Width, class Block, class A, class T, int Rows, int Columns>
SLICESORT_HD_INLINE void plain_mma_abt(Block& block, register_tile<A, Rows, Columns>& sums,
                                       tile_vector16<T> const* a, tile_vector16<T> const* b,
                                       int depth) {
  using tile = vector16_tile<T, Width>;
  constexpr int elements = elements_per_vector16<T>;
  tile_lane const lane(block.rank());
  int const pieces = (depth + elements - 1) / elements;
  SLICESORT_NO_UNROLL
  for (int k = 0; k < pieces; ++k) {
    A a_rows[static_cast<std::size_t>(2 * Rows * elements)];
    SLICESORT_UNROLL
    for (int i = 0; i < 2 * Rows; ++i) {
      tile_vector16<T> const piece =
          a[tile::offset(8 * i + lane.group, k, tile::swizzle(lane.group))];
      SLICESORT_UNROLL
      for (int e = 0; e < elements; ++e) a_rows[i * elements + e] = static_cast<A>(piece.value[e]);
    }
    SLICESORT_UNROLL
    for (int j = 0; j < 2 * Columns; ++j) {
      int const column = 2 * lane.thread_in_group + j % 2;
      tile_vector16<T> const piece =
          b[tile::offset(8 * (j / 2) + column, k, tile::swizzle(column))];
      SLICESORT_UNROLL
      for (int e = 0; e < elements; ++e) {
        A const b_element = static_cast<A>(piece.value[e]);
        SLICESORT_UNROLL
        for (int i = 0; i < 2 * Rows; ++i)
          sums(i / 2, j / 2, i % 2 * 2 + j % 2) += a_rows[i * elements + e] * b_element;
      }
    }
  }
}

// Returns the sums as the left operand of another product, rounded as for a tensor core.
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
                                      tile_vector16<T> const* x, int width) {
  using tile = vector16_tile<T, Width>;
  constexpr int elements = elements_per_vector16<T>;
  tile_lane const lane(block.rank());
  auto const weight_of = block.shfl_quad(weights);
  SLICESORT_UNROLL
  for (int j = 0; j < Columns; ++j) {
    SLICESORT_NO_UNROLL
    for (int source_lane = 0; source_lane < 4; ++source_lane) {
      SLICESORT_UNROLL
      for (int e = 0; e < 2; ++e) {
        A weight[static_cast<std::size_t>(2 * Rows)];
        SLICESORT_UNROLL
        for (int i = 0; i < 2 * Rows; ++i)
          weight[i] = weight_of(source_lane, (i / 2 * Columns + j) * 4 + i % 2 * 2 + e);
        int const row = 2 * source_lane + e;
        SLICESORT_UNROLL
        for (int c = 0; c < Width / 8; ++c) {
          if (8 * c >= width) continue;
          int const first = 8 * c + 2 * lane.thread_in_group;
          T const* const x_pair =
              x[tile::offset(8 * j + row, first / elements, tile::swizzle(row))].value +
              first % elements;
          A const x_values[2] = {static_cast<A>(x_pair[0]), static_cast<A>(x_pair[1])};
          SLICESORT_UNROLL
          for (int i = 0; i < 2 * Rows; ++i) {
            sums(i / 2, c, i % 2 * 2) += weight[i] * x_values[0];
            sums(i / 2, c, i % 2 * 2 + 1) += weight[i] * x_values[1];
          }
        }
      }
    }
  }
}

SLICESORT_DETAIL_END

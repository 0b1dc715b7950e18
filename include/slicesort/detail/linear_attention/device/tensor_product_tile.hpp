// SPDX-License-Identifier: Apache-2.0
// Tensor core version of product_tile.hpp. Operands are rounded to TF32. Sums are floats, in the
// order of the hardware.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/product_tile.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Both operands are 64-row tiles of device/warp_mma.hpp, contiguous along k. Each warp computes 32
// x 32 of the 64 x 64 sums.
struct tensor_product_tile : product_slices<tensor_product_tile, tile_vector16<tf32>> {
  using A = float;
  using piece = tile_vector16<tf32>;
  static constexpr int size = linear_tile;
  static constexpr int depth = 32;  // values of k per slice
  static constexpr int pieces = depth / elements_per_vector16<tf32>;
  using layout = vector16_tile<tf32, depth>;
  static constexpr int warp_rows = 32, warp_columns = 32;
  static constexpr int min_blocks = 4;  // most blocks per multiprocessor without register spills
  static_assert(linear_threads / warp_threads * warp_rows * warp_columns == size * size,
                "every sum has a warp");

  // Weights are stored as two tiles, for the first and the last 32 partner rows.
  static constexpr int operand_size = size * pieces, weights_size = size / depth * operand_size;

  register_tile<float, warp_rows / 16, warp_columns / 8> sums;

  SLICESORT_HD_INLINE void clear() { sums.clear(); }

  template <class F>
  static SLICESORT_HD_INLINE void for_each_lhs(operands const& memory, int line, int first,
                                               int count, F const& f) {
    SLICESORT_UNROLL
    for (int p = 0; p < 2; ++p) {
      piece const lhs = memory.lhs[layout::offset(line, first / 4 + p)];
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i)
        if (first + 4 * p + i < count) f(4 * p + i, static_cast<float>(lhs.value[i]));
    }
  }

  static SLICESORT_HD_INLINE tf32& weight(weights matrix, int row, int partner) {
    piece& slice =
        matrix[partner / depth * operand_size + layout::offset(row, partner % depth / 4)];
    return slice.value[partner % 4];
  }
  // Requires weights of 0 for masked pairs.
  template <class Block, class Right>
  SLICESORT_HD_INLINE void add_triangle(Block& block, operands const& memory, weights lhs, int end,
                                        bool upper, Right const& rhs) {
    for_each_slice(block, memory, end, rhs, [&](int k, int count) {
      int const row = first_row(block.rank());
      if (upper ? row <= k : k <= row)
        multiply(block, lhs + k / depth * operand_size, memory.rhs, count);
    });
  }

  template <class F>
  SLICESORT_HD_INLINE void for_each(int rank, F const& f) const {
    tile_lane const lane(rank);
    SLICESORT_UNROLL
    for (int i = 0; i < sums.count; ++i)
      f(first_row(rank) + sums.row(i, lane), first_column(rank) + sums.column(i, lane), sums[i]);
  }

  // Loads `depth` elements, from k on, of each of 64 operand lines; zeros from `end` on.
  // A thread loads 4 x 4 elements. Eight adjacent threads store their pieces to different banks.
  template <class Block, class Operand>
  static SLICESORT_HD_INLINE void load(Block& block, piece* to, index_t k, index_t end,
                                       Operand const& from, bool load_fours) {
    int const rank = block.rank();
    if constexpr (Operand::along_k) {
      int const p = rank % pieces, row = rank / pieces;
      constexpr int row_stride = linear_threads / pieces;
      SLICESORT_UNROLL_2
      for (int i = 0; i < 4; ++i) {
        float values[4];
        from.load_four(block, row + i * row_stride, k + 4 * p, end, load_fours, values);
        to[layout::offset(row + i * row_stride, p)] =
            rounded(values[0], values[1], values[2], values[3]);
      }
    } else {
      int const p = rank % 4 + rank / 64 * 4, row = rank / 4 % 16 * 4;
      float values[4][4];
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i)
        from.load_four(block, row, k + 4 * p + i, end, load_fours, values[i]);
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i)
        to[layout::offset(row + i, p)] =
            rounded(values[0][i], values[1][i], values[2][i], values[3][i]);
    }
  }
  static SLICESORT_HD_INLINE piece rounded(float a, float b, float c, float d) {
    return {{tf32(a), tf32(b), tf32(c), tf32(d)}};
  }

  template <class Block>
  SLICESORT_HD_INLINE void multiply(Block& block, piece const* lhs, piece const* rhs, int count) {
    block.template mma_abt<depth>(sums, lhs + first_row(block.rank()) * pieces,
                                  rhs + first_column(block.rank()) * pieces, count);
  }

 private:
  static SLICESORT_HD_INLINE int first_row(int rank) {
    return rank / warp_threads / (size / warp_columns) * warp_rows;
  }
  static SLICESORT_HD_INLINE int first_column(int rank) {
    return rank / warp_threads % (size / warp_columns) * warp_columns;
  }
};

// True if tensor cores can multiply elements of type T.
template <class T>
inline constexpr bool may_use_tensor_cores = sizeof(T) == 2;

template <class T, products Products>
using product_tile_t = std::conditional_t<may_use_tensor_cores<T> && Products == products::native,
                                          tensor_product_tile, product_tile<accumulator_t<T>>>;

SLICESORT_DETAIL_END

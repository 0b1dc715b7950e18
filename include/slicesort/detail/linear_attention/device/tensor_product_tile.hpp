// SPDX-License-Identifier: Apache-2.0
// The tile of product_tile.hpp on tensor cores: its operands are rounded to TF32, its sums are
// floats that the device adds up as it does.
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

// Both operands are rows of numbers that are neighbors in k: tiles of 64 rows as
// device/warp_mma.hpp has them. Of the 64 x 64 sums, a warp has 32 x 32.
struct tensor_product_tile {
  using A = float;
  using piece = tile_piece<tf32>;
  static constexpr int size = linear_tile;
  static constexpr int depth = 32;  // of k, loaded at once
  static constexpr int pieces = depth / elements_of_piece<tf32>;
  using layout = piece_tile<tf32, depth>;
  static constexpr int warp_rows = 32, warp_columns = 32;
  static constexpr int min_blocks = 4;  // without spilled registers
  static_assert(linear_threads / warp_threads * warp_rows * warp_columns == size * size,
                "every sum has a warp");

  struct operands {
    piece *left, *right;
  };
  // In two tiles, with the first and the last 32 of what rows are paired with.
  using weights = piece*;

  register_tile<float, warp_rows / 16, warp_columns / 8> sums;

  template <class SharedAllocator>
  static SLICESORT_HD operands shared(SharedAllocator& memory) {
    operands m;
    m.left = memory.template allocate<piece>(std::size_t{size} * pieces);
    m.right = memory.template allocate<piece>(std::size_t{size} * pieces);
    return m;
  }

  SLICESORT_HD_INLINE void clear() { sums.clear(); }

  // As in product_tile, but for the order of the sums.
  template <class Block, class Left, class Right, class Seen = unseen>
  SLICESORT_HD_INLINE void add(Block& block, operands const& m, index_t whole, Left const& left,
                               Right const& right, Seen const& seen = {}) {
    bool const left_fours = left.in_fours(), right_fours = right.in_fours();
    SLICESORT_NO_UNROLL
    for (index_t k = 0; k < whole; k += depth) {
      int const some = whole - k < depth ? static_cast<int>(whole - k) : depth;
      block.sync();
      load(block, m.left, k, whole, left, left_fours);
      load(block, m.right, k, whole, right, right_fours);
      block.sync();
      seen(k, some);
      multiply(block, m.left, m.right, some);
    }
  }
  template <class F>
  static SLICESORT_HD_INLINE void each_left(operands const& m, int at, int first, int some,
                                            F const& f) {
    SLICESORT_UNROLL
    for (int p = 0; p < 2; ++p) {
      piece const here = m.left[layout::offset(at, first / 4 + p)];
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i)
        if (first + 4 * p + i < some) f(4 * p + i, static_cast<float>(here.value[i]));
    }
  }

  template <class SharedAllocator>
  static SLICESORT_HD weights shared_weights(SharedAllocator& memory) {
    return memory.template allocate<piece>(std::size_t{size} * pieces * (size / depth));
  }
  static SLICESORT_HD_INLINE tf32& weight(weights of, int row, int with) {
    piece& here = of[with / depth * (size * pieces) + layout::offset(row, with % depth / 4)];
    return here.value[with % 4];
  }
  // The weights of pairs that do not count are 0.
  template <class Block, class Right>
  SLICESORT_HD_INLINE void add_triangle(Block& block, operands const& m, weights left, int whole,
                                        bool later, Right const& right) {
    bool const fours = right.in_fours();
    SLICESORT_NO_UNROLL
    for (int k = 0; k < whole; k += depth) {
      int const some = whole - k < depth ? whole - k : depth;
      block.sync();
      load(block, m.right, k, whole, right, fours);
      block.sync();
      int const row = first_row(block.rank());
      if (later ? row <= k : k <= row)
        multiply(block, left + k / depth * (size * pieces), m.right, some);
    }
  }

  template <class F>
  SLICESORT_HD_INLINE void each(int rank, F const& f) const {
    tile_lane const me(rank);
    SLICESORT_UNROLL
    for (int i = 0; i < sums.count; ++i)
      f(first_row(rank) + sums.row(i, me), first_column(rank) + sums.column(i, me), sums[i]);
  }

 private:
  static SLICESORT_HD_INLINE int first_row(int rank) {
    return rank / warp_threads / (size / warp_columns) * warp_rows;
  }
  static SLICESORT_HD_INLINE int first_column(int rank) {
    return rank / warp_threads % (size / warp_columns) * warp_columns;
  }

  // `depth` numbers of 64 rows of an operand, from k on; zeros behind `end`. A thread takes 4 x 4
  // of them. The pieces that eight neighboring threads write at once lie in different banks.
  template <class Block, class Operand>
  static SLICESORT_HD_INLINE void load(Block& block, piece* to, index_t k, index_t end,
                                       Operand const& from, bool fours) {
    int const rank = block.rank();
    if constexpr (Operand::along_k) {
      int const p = rank % pieces, row = rank / pieces;
      constexpr int step = linear_threads / pieces;
      SLICESORT_UNROLL_2
      for (int i = 0; i < 4; ++i) {
        float some[4];
        from.read_four(block, row + i * step, k + 4 * p, end, fours, some);
        to[layout::offset(row + i * step, p)] = rounded(some[0], some[1], some[2], some[3]);
      }
    } else {
      int const p = rank % 4 + rank / 64 * 4, row = rank / 4 % 16 * 4;
      float some[4][4];
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i) from.read_four(block, row, k + 4 * p + i, end, fours, some[i]);
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i)
        to[layout::offset(row + i, p)] = rounded(some[0][i], some[1][i], some[2][i], some[3][i]);
    }
  }
  static SLICESORT_HD_INLINE piece rounded(float a, float b, float c, float d) {
    return {{tf32(a), tf32(b), tf32(c), tf32(d)}};
  }

  template <class Block>
  SLICESORT_HD_INLINE void multiply(Block& block, piece const* left, piece const* right, int some) {
    block.template mma_abt<depth>(sums, left + first_row(block.rank()) * pieces,
                                  right + first_column(block.rank()) * pieces, some);
  }
};

// Whether tensor cores multiply what has elements of type T.
template <class T>
inline constexpr bool may_use_tensor_cores = sizeof(T) == 2;

template <class T, products Kind>
using tile_of_products = std::conditional_t<may_use_tensor_cores<T> && Kind == products::native,
                                            tensor_product_tile, product_tile<accumulator_t<T>>>;

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Tile of a matrix product: 64 x 64 sums over k in the registers of a block. Each sum is one chain
// of fused multiply-adds in order of k, so products may be added in several calls.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Visitor that ignores the operands.
struct no_visitor {
  SLICESORT_HD_INLINE void operator()(index_t, int) const {}
};

// Loops over k that all tiles share, and their shared memory: a slice of both operands, and the
// weights of the query-key pairs of a tile. `Tile` loads and multiplies a slice.
template <class Tile, class Element>
struct product_slices {
  struct operands {
    Element *lhs, *rhs;
  };
  using weights = Element*;  // lhs operand of add_triangle

  template <class SharedAllocator>
  static SLICESORT_HD operands shared(SharedAllocator& allocator) {
    operands memory;
    memory.lhs = allocator.template allocate<Element>(std::size_t{Tile::operand_size});
    memory.rhs = allocator.template allocate<Element>(std::size_t{Tile::operand_size});
    return memory;
  }
  template <class SharedAllocator>
  static SLICESORT_HD weights shared_weights(SharedAllocator& allocator) {
    return allocator.template allocate<Element>(std::size_t{Tile::weights_size});
  }

  // Adds the products of `lhs` and `rhs` for all k below `end`, in order. Calls visit(k, count) for
  // each slice while it is in shared memory.
  template <class Block, class Left, class Right, class Visit = no_visitor>
  SLICESORT_HD_INLINE void add(Block& block, operands const& memory, index_t end, Left const& lhs,
                               Right const& rhs, Visit const& visit = {}) {
    bool const lhs_by_fours = lhs.has_aligned_fours(), rhs_by_fours = rhs.has_aligned_fours();
    SLICESORT_NO_UNROLL
    for (index_t k = 0; k < end; k += Tile::depth) {
      int const count = end - k < Tile::depth ? static_cast<int>(end - k) : Tile::depth;
      block.sync();
      Tile::load(block, memory.lhs, k, end, lhs, lhs_by_fours);
      Tile::load(block, memory.rhs, k, end, rhs, rhs_by_fours);
      block.sync();
      visit(k, count);
      static_cast<Tile&>(*this).multiply(block, memory.lhs, memory.rhs, count);
    }
  }
  // Loads each slice of `rhs` and calls f(k, count).
  template <class Block, class Right, class F>
  static SLICESORT_HD_INLINE void for_each_slice(Block& block, operands const& memory, int end,
                                                 Right const& rhs, F const& f) {
    bool const load_fours = rhs.has_aligned_fours();
    SLICESORT_NO_UNROLL
    for (int k = 0; k < end; k += Tile::depth) {
      block.sync();
      Tile::load(block, memory.rhs, k, end, rhs, load_fours);
      block.sync();
      f(k, end - k < Tile::depth ? end - k : Tile::depth);
    }
  }
};

template <class A>
struct product_tile : product_slices<product_tile<A>, A> {
  static constexpr int size = linear_tile;
  static constexpr int depth = 64 / static_cast<int>(sizeof(A));  // values of k per slice
  static constexpr int thread_rows = 8, thread_columns = 4;
  static constexpr int count = thread_rows * thread_columns;
  static constexpr int min_blocks =
      sizeof(A) == 8 ? 2 : 4;  // most blocks per multiprocessor without register spills
  static_assert(linear_threads * count == size * size, "every sum has a thread");
  // Operands are loaded in pieces of 16 bytes and stored transposed. One piece of padding per list
  // avoids most bank conflicts.
  static constexpr int elements_per_vector16 = 16 / static_cast<int>(sizeof(A));
  static constexpr int stride = size + elements_per_vector16;

  // A slice has `depth` lists of 64 elements, one per k. Weights have one list per partner row.
  static constexpr int operand_size = depth * stride, weights_size = size * stride;
  using slices = product_slices<product_tile, A>;
  using typename slices::operands, typename slices::weights;

  A sums[static_cast<std::size_t>(count)];

  SLICESORT_HD_INLINE void clear() {
    SLICESORT_UNROLL
    for (A& sum : sums) sum = A(0);
  }

  // Calls f(d, value) with the lhs elements of a line, for the lists first .. first + 7 below
  // `end`.
  template <class F>
  static SLICESORT_HD_INLINE void for_each_lhs(operands const& memory, int line, int first, int end,
                                               F const& f) {
    SLICESORT_UNROLL
    for (int d = 0; d < 8; ++d)
      if (first + d < end) f(d, memory.lhs[(first + d) * stride + line]);
  }

  static SLICESORT_HD_INLINE A& weight(weights matrix, int row, int partner) {
    return matrix[partner * stride + row];
  }
  // Adds the products of weights and `rhs` with k < end and k <= row, or k >= row if `upper`.
  // Skips the other k instead of multiplying by 0, so NaN and infinities of masked rows have no
  // effect.
  template <class Block, class Right>
  SLICESORT_HD_INLINE void add_triangle(Block& block, operands const& memory, weights lhs, int end,
                                        bool upper, Right const& rhs) {
    int const row = first_row(block.rank()), end_row = row + thread_rows;
    slices::for_each_slice(block, memory, end, rhs, [&](int k, int slice_depth) {
      SLICESORT_NO_UNROLL
      for (int d = 0; d < slice_depth; ++d) {
        A const* const lhs_list = lhs + (k + d) * stride;
        A const* const rhs_list = memory.rhs + d * stride;
        if (row <= k + d && k + d < end_row)
          multiply(block, lhs_list, rhs_list,
                   [&](int i) { return upper ? row + i <= k + d : k + d <= row + i; });
        else if (upper == (end_row <= k + d))
          multiply(block, lhs_list, rhs_list, [](int) { return true; });
      }
    });
  }

  // Calls f(row, column, sum) for each sum of the thread.
  template <class F>
  SLICESORT_HD_INLINE void for_each(int rank, F const& f) const {
    SLICESORT_UNROLL
    for (int i = 0; i < thread_rows; ++i) {
      SLICESORT_UNROLL
      for (int j = 0; j < thread_columns; ++j)
        f(first_row(rank) + i, first_column(rank) + j, sums[i * thread_columns + j]);
    }
  }

  // Loads `depth` lists of an operand from k on. Lists from `end` on are zeros.
  template <class Block, class Operand>
  static SLICESORT_HD_INLINE void load(Block& block, A* to, index_t k, index_t end,
                                       Operand const& from, bool load_fours) {
    constexpr int steps = size * depth / 4 / linear_threads;
    SLICESORT_UNROLL
    for (int step = 0; step < steps; ++step) {
      int const e = step * linear_threads + block.rank();
      A values[4];
      if constexpr (Operand::along_k) {
        int const d = e % (depth / 4) * 4, line = e / (depth / 4);
        from.load_four(block, line, k + d, end, load_fours, values);
        SLICESORT_UNROLL
        for (int i = 0; i < 4; ++i) to[(d + i) * stride + line] = values[i];
      } else {
        int const d = e / (size / 4), line = e % (size / 4) * 4;
        from.load_four(block, line, k + d, end, load_fours, values);
        SLICESORT_UNROLL
        for (int i = 0; i < 4; i += elements_per_vector16) {
          piece& stored = *reinterpret_cast<piece*>(to + d * stride + line + i);
          SLICESORT_UNROLL
          for (int j = 0; j < elements_per_vector16; ++j) stored.elements[j] = values[i + j];
        }
      }
    }
  }
  // Adds the products of a slice.
  template <class Block>
  SLICESORT_HD_INLINE void multiply(Block& block, A const* lhs, A const* rhs, int slice_depth) {
    SLICESORT_UNROLL_2
    for (int d = 0; d < slice_depth; ++d)
      multiply(block, lhs + d * stride, rhs + d * stride, [](int) { return true; });
  }

 private:
  struct alignas(16) piece {
    A elements[static_cast<std::size_t>(elements_per_vector16)];
  };

  static SLICESORT_HD_INLINE int first_row(int rank) {
    return rank / (size / thread_columns) * thread_rows;
  }
  static SLICESORT_HD_INLINE int first_column(int rank) {
    return rank % (size / thread_columns) * thread_columns;
  }

  template <int Count>
  static SLICESORT_HD_INLINE void load_elements(A const* from,
                                                A (&values)[static_cast<std::size_t>(Count)]) {
    SLICESORT_UNROLL
    for (int i = 0; i < Count; i += elements_per_vector16) {
      piece const loaded = *reinterpret_cast<piece const*>(from + i);
      SLICESORT_UNROLL
      for (int j = 0; j < elements_per_vector16; ++j) values[i + j] = loaded.elements[j];
    }
  }

  // Adds the products of one list to each row i of the thread for which active(i) is true.
  template <class Block, class Active>
  SLICESORT_HD_INLINE void multiply(Block& block, A const* lhs, A const* rhs,
                                    Active const& active) {
    A a[static_cast<std::size_t>(thread_rows)], b[static_cast<std::size_t>(thread_columns)];
    load_elements<thread_rows>(lhs + first_row(block.rank()), a);
    load_elements<thread_columns>(rhs + first_column(block.rank()), b);
    SLICESORT_UNROLL
    for (int i = 0; i < thread_rows; ++i) {
      SLICESORT_UNROLL
      for (int j = 0; j < thread_columns; ++j) {
        A& sum = sums[i * thread_columns + j];
        if (active(i)) sum = block.fused_multiply_add(a[i], b[j], sum);
      }
    }
  }
};

SLICESORT_DETAIL_END

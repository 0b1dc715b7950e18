// SPDX-License-Identifier: Apache-2.0
// A tile of 64 x 64 sums of products in the registers of a block. Every sum is one chain of fused
// multiply-adds, in order, so products may be added to it piece by piece.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// For products whose operands nobody else looks at.
struct unseen {
  SLICESORT_HD_INLINE void operator()(index_t, int) const {}
};

template <class A>
struct product_tile {
  static constexpr int size = linear_tile;
  static constexpr int depth = 64 / static_cast<int>(sizeof(A));  // lists that are loaded at once
  static constexpr int thread_rows = 8, thread_columns = 4;
  static constexpr int count = thread_rows * thread_columns;
  static constexpr int min_blocks = sizeof(A) == 8 ? 2 : 4;  // without spilled registers
  static_assert(linear_threads * count == size * size, "every sum has a thread");
  // Lists are read in pieces of 16 bytes, and written across without many conflicts.
  static constexpr int in_piece = 16 / static_cast<int>(sizeof(A));
  static constexpr int stride = size + in_piece;

  // Some of both operands, in lists of 64 numbers that share their k.
  struct operands {
    A *left, *right;
  };
  // Weights of the tile's pairs, likewise, as the left operand of add_triangle.
  using weights = A*;

  A sums[static_cast<std::size_t>(count)];

  template <class SharedAllocator>
  static SLICESORT_HD operands shared(SharedAllocator& memory) {
    operands m;
    m.left = memory.template allocate<A>(static_cast<std::size_t>(depth * stride));
    m.right = memory.template allocate<A>(static_cast<std::size_t>(depth * stride));
    return m;
  }

  SLICESORT_HD_INLINE void clear() {
    SLICESORT_UNROLL
    for (A& sum : sums) sum = A(0);
  }

  // Adds the products of `left` with `right` for all k below `whole`, in order. seen(k, some) is
  // called for the lists from k on, when they are there to be read.
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
      SLICESORT_UNROLL_2
      for (int d = 0; d < some; ++d)
        multiply(block, m.left + d * stride, m.right + d * stride, [](int) { return true; });
    }
  }
  // f(d, number) for those of list 0, 1, .. `some` - 1 that lie in the group of 8 from `first` on:
  // their number `at` of the left operand.
  template <class F>
  static SLICESORT_HD_INLINE void each_left(operands const& m, int at, int first, int some,
                                            F const& f) {
    SLICESORT_UNROLL
    for (int d = 0; d < 8; ++d)
      if (first + d < some) f(d, m.left[(first + d) * stride + at]);
  }

  template <class SharedAllocator>
  static SLICESORT_HD weights shared_weights(SharedAllocator& memory) {
    return memory.template allocate<A>(std::size_t{size} * stride);
  }
  static SLICESORT_HD_INLINE A& weight(weights of, int row, int with) {
    return of[with * stride + row];
  }
  // Adds the products of weights with `right` for those k below `whole` that are no later than the
  // row, or no earlier. The others do not even count 0 times: a NaN or infinity of theirs would
  // show.
  template <class Block, class Right>
  SLICESORT_HD_INLINE void add_triangle(Block& block, operands const& m, weights left, int whole,
                                        bool later, Right const& right) {
    bool const fours = right.in_fours();
    int const first = first_row(block.rank()), end = first + thread_rows;
    SLICESORT_NO_UNROLL
    for (int k = 0; k < whole; k += depth) {
      int const some = whole - k < depth ? whole - k : depth;
      block.sync();
      load(block, m.right, k, whole, right, fours);
      block.sync();
      SLICESORT_NO_UNROLL
      for (int d = 0; d < some; ++d) {
        A const* const of_left = left + (k + d) * stride;
        A const* const of_right = m.right + d * stride;
        if (first <= k + d && k + d < end)
          multiply(block, of_left, of_right,
                   [&](int i) { return later ? first + i <= k + d : k + d <= first + i; });
        else if (later == (end <= k + d))
          multiply(block, of_left, of_right, [](int) { return true; });
      }
    }
  }

  // f(row, column, sum) for the sums of a thread.
  template <class F>
  SLICESORT_HD_INLINE void each(int rank, F const& f) const {
    SLICESORT_UNROLL
    for (int i = 0; i < thread_rows; ++i) {
      SLICESORT_UNROLL
      for (int j = 0; j < thread_columns; ++j)
        f(first_row(rank) + i, first_column(rank) + j, sums[i * thread_columns + j]);
    }
  }

 private:
  struct alignas(16) piece {
    A elements[static_cast<std::size_t>(in_piece)];
  };

  static SLICESORT_HD_INLINE int first_row(int rank) {
    return rank / (size / thread_columns) * thread_rows;
  }
  static SLICESORT_HD_INLINE int first_column(int rank) {
    return rank % (size / thread_columns) * thread_columns;
  }

  // `depth` lists of an operand, from k on; zeros behind `end`.
  template <class Block, class Operand>
  static SLICESORT_HD_INLINE void load(Block& block, A* to, index_t k, index_t end,
                                       Operand const& from, bool fours) {
    constexpr int turns = size * depth / 4 / linear_threads;
    SLICESORT_UNROLL
    for (int turn = 0; turn < turns; ++turn) {
      int const e = turn * linear_threads + block.rank();
      A some[4];
      if constexpr (Operand::along_k) {
        int const d = e % (depth / 4) * 4, at = e / (depth / 4);
        from.read_four(block, at, k + d, end, fours, some);
        SLICESORT_UNROLL
        for (int i = 0; i < 4; ++i) to[(d + i) * stride + at] = some[i];
      } else {
        int const d = e / (size / 4), at = e % (size / 4) * 4;
        from.read_four(block, at, k + d, end, fours, some);
        SLICESORT_UNROLL
        for (int i = 0; i < 4; i += in_piece) {
          piece& here = *reinterpret_cast<piece*>(to + d * stride + at + i);
          SLICESORT_UNROLL
          for (int j = 0; j < in_piece; ++j) here.elements[j] = some[i + j];
        }
      }
    }
  }

  template <int Count>
  static SLICESORT_HD_INLINE void read(A const* from, A (&to)[static_cast<std::size_t>(Count)]) {
    SLICESORT_UNROLL
    for (int i = 0; i < Count; i += in_piece) {
      piece const some = *reinterpret_cast<piece const*>(from + i);
      SLICESORT_UNROLL
      for (int j = 0; j < in_piece; ++j) to[i + j] = some.elements[j];
    }
  }

  // For those rows of the thread that take part.
  template <class Block, class Takes>
  SLICESORT_HD_INLINE void multiply(Block& block, A const* left, A const* right,
                                    Takes const& takes) {
    A a[static_cast<std::size_t>(thread_rows)], b[static_cast<std::size_t>(thread_columns)];
    read<thread_rows>(left + first_row(block.rank()), a);
    read<thread_columns>(right + first_column(block.rank()), b);
    SLICESORT_UNROLL
    for (int i = 0; i < thread_rows; ++i) {
      SLICESORT_UNROLL
      for (int j = 0; j < thread_columns; ++j) {
        A& sum = sums[i * thread_columns + j];
        if (takes(i)) sum = block.fused_multiply_add(a[i], b[j], sum);
      }
    }
  }
};

SLICESORT_DETAIL_END

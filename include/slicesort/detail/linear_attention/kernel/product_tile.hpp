// SPDX-License-Identifier: Apache-2.0
// A tile of 64 x 64 sums of products in the registers of a block. Every sum is one chain of fused
// multiply-adds, in order, so products may be added to it piece by piece.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/kernel/rows.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// Some columns of the left operand and some rows of the right one, each as lists of 64 numbers.
template <class A>
struct product_memory {
  A *left, *right;
};

template <class A>
struct product_tile {
  static constexpr int size = linear_tile;
  static constexpr int depth = 64 / static_cast<int>(sizeof(A));  // lists that are loaded at once
  static constexpr int thread_rows = 8, thread_columns = 4;
  static constexpr int count = thread_rows * thread_columns;
  static_assert(linear_threads * count == size * size, "every sum has a thread");
  // Lists are read in pieces of 16 bytes, and written across without many conflicts.
  static constexpr int in_piece = 16 / static_cast<int>(sizeof(A));
  static constexpr int stride = size + in_piece;

  A sums[static_cast<std::size_t>(count)];

  template <class SharedAllocator>
  static SLICESORT_HD product_memory<A> shared(SharedAllocator& memory) {
    product_memory<A> m;
    m.left = memory.template allocate<A>(static_cast<std::size_t>(depth * stride));
    m.right = memory.template allocate<A>(static_cast<std::size_t>(depth * stride));
    return m;
  }

  SLICESORT_HD_INLINE void clear() {
    SLICESORT_UNROLL
    for (A& sum : sums) sum = A(0);
  }

  // Adds left(row, k) * right(k, column) for all k below `whole`, in order. The flags say whether
  // neighbors in memory are those in k.
  template <bool LeftAlongK, bool RightAlongK, class Block, class Left, class Right>
  SLICESORT_HD_INLINE void add(Block& block, product_memory<A> const& m, index_t whole,
                               Left const& left, Right const& right) {
    SLICESORT_NO_UNROLL
    for (index_t k = 0; k < whole; k += depth) {
      int const some = whole - k < depth ? static_cast<int>(whole - k) : depth;
      block.sync();
      load<LeftAlongK>(block, m.left, some, [&](int row, int d) { return left(row, k + d); });
      load<RightAlongK>(block, m.right, some,
                        [&](int column, int d) { return right(k + d, column); });
      block.sync();
      SLICESORT_UNROLL_4
      for (int d = 0; d < some; ++d)
        multiply(block, m.left + d * stride, m.right + d * stride, [](int) { return true; });
    }
  }
  // The same with a left operand that is in shared memory, as 64 lists: for those k below `whole`
  // that are no later than the row, or no earlier. The others do not even count 0 times: a NaN or
  // infinity of theirs would show.
  template <class Block, class Right>
  SLICESORT_HD_INLINE void add_triangle(Block& block, product_memory<A> const& m, A const* left,
                                        int whole, bool later, Right const& right) {
    int const first = first_row(block.rank()), end = first + thread_rows;
    SLICESORT_NO_UNROLL
    for (int k = 0; k < whole; k += depth) {
      int const some = whole - k < depth ? whole - k : depth;
      block.sync();
      load<false>(block, m.right, some, [&](int column, int d) { return right(k + d, column); });
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

  // number(at, k) for `some` k.
  template <bool AlongK, class Block, class Number>
  static SLICESORT_HD_INLINE void load(Block& block, A* to, int some, Number const& number) {
    SLICESORT_UNROLL
    for (int turn = 0; turn < size * depth / linear_threads; ++turn) {
      int const e = turn * linear_threads + block.rank();
      int const k = AlongK ? e % depth : e / size, at = AlongK ? e / depth : e % size;
      if (k < some) to[k * stride + at] = number(at, k);
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

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

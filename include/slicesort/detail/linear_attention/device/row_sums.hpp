// SPDX-License-Identifier: Apache-2.0
// Sums over each row of a tile, with partials_per_row partial sums per row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// partials_per_row threads share a row. for_each_row calls f(row) on all of them; for_each_column
// distributes the calls f(column) among them.
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_row(Block& block, int rows, F const& f) {
  SLICESORT_NO_UNROLL
  for (int row = block.rank() / partials_per_row; row < rows;
       row += linear_threads / partials_per_row)
    f(row);
}
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_column(Block& block, index_t width, F const& f) {
  SLICESORT_UNROLL_4
  for (index_t k = block.rank() % partials_per_row; k < width; k += partials_per_row) f(k);
}
// Calls f(row, column) for each element.
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_element(Block& block, int rows, index_t width, F const& f) {
  for_each_row(block, rows,
               [&](int row) { for_each_column(block, width, [&](index_t k) { f(row, k); }); });
}

// Adds up the first `Count` partial sums, halving their number in each step. Recursive, because
// nvcc does not unroll a loop that halves the count.
template <std::size_t Count, class Block, class A, std::size_t Size>
SLICESORT_HD_INLINE A reduce_first(Block& block, A (&partial)[Size]) {
  constexpr std::size_t half = Count / 2;
  SLICESORT_UNROLL
  for (std::size_t l = 0; l < half; ++l)
    partial[l] = block.fused_multiply_add(partial[l], A(1), partial[l + half]);
  if constexpr (half > 1)
    return reduce_first<half>(block, partial);
  else
    return partial[0];
}
template <class Block, class A, std::size_t Count>
SLICESORT_HD_INLINE A fold_in_registers(Block& block, A (&partial)[Count]) {
  return reduce_first<Count>(block, partial);
}

// Partial sums of each row, and one result per row.
template <class A>
struct row_sums {
  // Odd, so that threads that reduce adjacent rows read from different banks.
  static constexpr int stride = partials_per_row + 1;

  A *partial, *results;

  template <class SharedAllocator>
  static SLICESORT_HD row_sums shared(SharedAllocator& memory) {
    row_sums sums;
    sums.partial = memory.template allocate<A>(std::size_t{linear_tile} * stride);
    sums.results = memory.template allocate<A>(linear_tile);
    return sums;
  }

  // Computes finish(row, sum) for each row. next(row, k, sum) returns sum plus element k.
  template <class Block, class Next, class Finish>
  SLICESORT_HD_INLINE void compute(Block& block, int rows, index_t width, Next const& next,
                                   Finish const& finish) const {
    for_each_row(block, rows, [&](int row) {
      A sum(0);
      for_each_column(block, width, [&](index_t k) { sum = next(row, k, sum); });
      partial[row * stride + block.rank() % partials_per_row] = sum;
    });
    block.sync();
    if (block.rank() < rows) {
      A sums[static_cast<std::size_t>(partials_per_row)];
      SLICESORT_UNROLL
      for (int l = 0; l < partials_per_row; ++l) sums[l] = partial[block.rank() * stride + l];
      results[block.rank()] = finish(block.rank(), fold_in_registers(block, sums));
    }
    block.sync();
  }
};

// Base of kernels that sum over rows.
template <class A>
struct with_row_sums {
  template <class SharedAllocator>
  SLICESORT_HD row_sums<A> shared(SharedAllocator& memory) const {
    return row_sums<A>::shared(memory);
  }
};

SLICESORT_DETAIL_END

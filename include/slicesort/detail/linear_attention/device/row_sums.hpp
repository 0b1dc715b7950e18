// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a tile, with row_parts partial sums.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// for_each_row calls f(row) for each row on row_parts threads; for_each_column calls f(column) for
// each column of a row on the same threads.
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_row(Block& block, int rows, F const& f) {
  SLICESORT_NO_UNROLL
  for (int row = block.rank() / row_parts; row < rows; row += linear_threads / row_parts) f(row);
}
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_column(Block& block, index_t width, F const& f) {
  SLICESORT_UNROLL_4
  for (index_t k = block.rank() % row_parts; k < width; k += row_parts) f(k);
}
// Calls f(row, column) for each element.
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_element(Block& block, int rows, index_t width, F const& f) {
  for_each_row(block, rows,
               [&](int row) { for_each_column(block, width, [&](index_t k) { f(row, k); }); });
}

// Reduces the partial sums of a row in registers. Recursive, because nvcc does not unroll a loop
// that halves the count.
template <std::size_t Count, class Block, class A, std::size_t Size>
SLICESORT_HD_INLINE A fold_first(Block& block, A (&parts)[Size]) {
  constexpr std::size_t half = Count / 2;
  SLICESORT_UNROLL
  for (std::size_t l = 0; l < half; ++l)
    parts[l] = block.fused_multiply_add(parts[l], A(1), parts[l + half]);
  if constexpr (half > 1)
    return fold_first<half>(block, parts);
  else
    return parts[0];
}
template <class Block, class A, std::size_t Count>
SLICESORT_HD_INLINE A fold_in_registers(Block& block, A (&parts)[Count]) {
  return fold_first<Count>(block, parts);
}

// Partial sums of each row, and one result per row.
template <class A>
struct row_sums {
  // Odd, so that threads that reduce adjacent rows read from different banks.
  static constexpr int stride = row_parts + 1;

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
    constexpr int lanes = row_parts;
    for_each_row(block, rows, [&](int row) {
      A sum(0);
      for_each_column(block, width, [&](index_t k) { sum = next(row, k, sum); });
      partial[row * stride + block.rank() % lanes] = sum;
    });
    block.sync();
    if (block.rank() < rows) {
      A sums[static_cast<std::size_t>(lanes)];
      SLICESORT_UNROLL
      for (int l = 0; l < lanes; ++l) sums[l] = partial[block.rank() * stride + l];
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

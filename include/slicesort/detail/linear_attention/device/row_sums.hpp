// SPDX-License-Identifier: Apache-2.0
// A sum over each row of a tile, in parts as detail::row_parts says.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// f(row) for each of `rows` rows, by row_parts threads, and f(column) for the columns of one, by
// these threads: as row_sums takes them.
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_row(Block& block, int rows, F const& f) {
  SLICESORT_NO_UNROLL
  for (int row = block.rank() / row_parts; row < rows; row += linear_threads / row_parts) f(row);
}
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_of_row(Block& block, index_t width, F const& f) {
  SLICESORT_UNROLL_4
  for (index_t k = block.rank() % row_parts; k < width; k += row_parts) f(k);
}
// f(row, column) for all of them.
template <class Block, class F>
SLICESORT_HD_INLINE void for_each_of_rows(Block& block, int rows, index_t width, F const& f) {
  for_each_row(block, rows,
               [&](int row) { for_each_of_row(block, width, [&](index_t k) { f(row, k); }); });
}

// One sum of the parts of a row, in registers: a loop over the halves the device's compiler would
// not unroll.
template <std::size_t Count, class Block, class A, std::size_t Room>
SLICESORT_HD_INLINE A fold_first(Block& block, A (&parts)[Room]) {
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

// The parts of every row, and a number of each.
template <class A>
struct row_sums {
  // Odd, so that threads that fold neighboring rows read from different banks.
  static constexpr int stride = row_parts + 1;

  A *parts, *numbers;

  template <class SharedAllocator>
  static SLICESORT_HD row_sums shared(SharedAllocator& memory) {
    row_sums sums;
    sums.parts = memory.template allocate<A>(std::size_t{linear_tile} * stride);
    sums.numbers = memory.template allocate<A>(linear_tile);
    return sums;
  }

  // next(row, k, sum) adds element k of a row to a sum; finish(row, sum) makes of a row's sum what
  // `numbers` gets.
  template <class Block, class Next, class Finish>
  SLICESORT_HD_INLINE void form(Block& block, int rows, index_t width, Next const& next,
                                Finish const& finish) const {
    constexpr int lanes = row_parts;
    for_each_row(block, rows, [&](int row) {
      A sum(0);
      for_each_of_row(block, width, [&](index_t k) { sum = next(row, k, sum); });
      parts[row * stride + block.rank() % lanes] = sum;
    });
    block.sync();
    if (block.rank() < rows) {
      A mine[static_cast<std::size_t>(lanes)];
      SLICESORT_UNROLL
      for (int l = 0; l < lanes; ++l) mine[l] = parts[block.rank() * stride + l];
      numbers[block.rank()] = finish(block.rank(), fold_in_registers(block, mine));
    }
    block.sync();
  }
};

SLICESORT_DETAIL_END

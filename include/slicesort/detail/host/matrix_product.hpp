// SPDX-License-Identifier: Apache-2.0
// Products of whole matrices of any strides, where no BLAS forms them: panels of b and blocks of a
// in the accumulator's type go through the kernel of small products.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// A matrix, either of elements T or of the accumulator's type.
template <class T>
struct matrix_operand {
  using A = accumulator_t<T>;

  T const* elements;
  A const* sums;  // null: a matrix of elements
  index_t row, column;

  static matrix_operand of(T const* data, index_t row, index_t column) {
    if constexpr (std::is_same_v<T, A>)
      return {nullptr, data, row, column};
    else
      return {data, nullptr, row, column};
  }
  static matrix_operand of_sums(A const* data, index_t row, index_t column) {
    return {nullptr, data, row, column};
  }
  matrix_operand transposed() const { return {elements, sums, column, row}; }
};

template <class T>
class matrix_product {
 public:
  using A = accumulator_t<T>;
  using matrix = matrix_operand<T>;

  // No side of a matrix may be longer than `depth`.
  matrix_product(arena& a, index_t depth)
      : panel_(a.take<A>(amount(depth) * panel_columns)),
        block_(a.take<A>(std::min(depth, block_depth) * block_rows)),
        tile_(a.take<A>(block_rows * panel_columns)) {}

  // Calls put(tile, pitch, first row, rows, first column, columns) for all parts of scale * a * b.
  // `use` has the loops of row_kernels<T> and `multiply`, of one instruction set.
  template <class Kernels, class Put>
  void form(Kernels const& use, index_t rows, index_t columns, index_t depth, matrix const& a,
            matrix const& b, A scale, Put const& put) const {
    for (index_t column = 0; column < columns; column += panel_columns) {
      index_t const width = std::min(panel_columns, columns - column);
      index_t const padded = padded_columns(width);
      if (width < padded) std::fill_n(panel_, depth * panel_columns, A(0));
      bring(use, b, 0, column, depth, width, panel_, panel_columns);
      for (index_t row = 0; row < rows; row += block_rows) {
        index_t const count = std::min<index_t>(block_rows, rows - row);
        product_call<A> p{};
        p.c = {tile_, panel_columns};
        p.size = {static_cast<int>(padded_rows(count)), static_cast<int>(padded), 0};
        index_t at = 0;
        do {  // sums go on from part to part of the depth, in its order
          p.size.depth = std::min<index_t>(block_depth, depth - at);
          p.a = block_of(use, a, row, count, at, p.size.depth);
          p.b = {panel_ + at * panel_columns, panel_columns};
          p.end.adds = at > 0;
          at += p.size.depth;
          p.end.scale = at == depth ? scale : A(1);
          use.multiply(p);
        } while (at < depth);
        put(tile_, panel_columns, row, count, column, width);
      }
    }
  }

 private:
  // Of a: 128 KB in float, which stay in L2. Columns of a map that lies the other way are copied by
  // rows of eight cache lines or so.
  static constexpr index_t block_rows = 128, block_depth = 256;
  static constexpr index_t panel_columns = 48;  // of b: three vectors of 16

  // Copies rows [row, row + rows) and columns [column, column + columns) of `from` to rows of `to`.
  static void bring(row_kernels<T> const& use, matrix const& from, index_t row, index_t column,
                    index_t rows, index_t columns, A* to, index_t pitch) {
    if (rows == 0 || columns == 0) return;  // an empty matrix may have no memory
    index_t const first = row * from.row + column * from.column;
    if (from.sums == nullptr)
      return row_access<T>(use).load(from.elements + first, from.row, from.column, rows, columns,
                                     to, pitch);
    for (index_t i = 0; i < rows; ++i, to += pitch) {
      A const* const sums = from.sums + first + i * from.row;
      if (from.column == 1)
        std::copy_n(sums, columns, to);
      else
        for (index_t c = 0; c < columns; ++c) to[c] = sums[c * from.column];
    }
  }
  // Rows [row, row + rows) of columns [column, column + columns) of a, where they are or copied in
  // the order of a's memory, so that all of a cache line is used while it is there.
  strided_rows<A> block_of(row_kernels<T> const& use, matrix const& a, index_t row, index_t rows,
                           index_t column, index_t columns) const {
    if (a.sums != nullptr && a.column == 1 && rows % product_rows == 0)
      return {a.sums + row * a.row + column, a.row, 1};
    if (rows % product_rows != 0) std::fill_n(block_, block_rows * columns, A(0));
    if (a.row == 1) {
      bring(use, a.transposed(), column, row, columns, rows, block_, block_rows);
      return {block_, 1, block_rows};
    }
    bring(use, a, row, column, rows, columns, block_, columns);
    return {block_, columns, 1};
  }

  A *panel_, *block_, *tile_;
};

SLICESORT_DETAIL_END

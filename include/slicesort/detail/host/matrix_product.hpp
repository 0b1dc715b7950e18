// SPDX-License-Identifier: Apache-2.0
// Products of matrices with arbitrary strides, without a BLAS. Packs panels of b and blocks of a in
// the accumulator's type, and multiplies them with the micro kernel.
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

// A matrix of elements T or of the accumulator's type.
template <class T>
struct matrix_operand {
  using A = accumulator_t<T>;

  T const* elements;
  A const* sums;        // null if the matrix has elements T
  index_t row, column;  // strides

  static matrix_operand from_elements(T const* data, index_t row_stride, index_t column_stride) {
    if constexpr (std::is_same_v<T, A>)
      return {nullptr, data, row_stride, column_stride};
    else
      return {data, nullptr, row_stride, column_stride};
  }
  static matrix_operand from_sums(A const* data, index_t row_stride, index_t column_stride) {
    return {nullptr, data, row_stride, column_stride};
  }
  matrix_operand transposed() const { return {elements, sums, column, row}; }
};

template <class T>
class matrix_product {
 public:
  using A = accumulator_t<T>;
  using matrix = matrix_operand<T>;
  // Block of a: 128 KB in float, which fits in the L2 cache.
  static constexpr index_t block_rows = 128, block_depth = 256;
  static constexpr index_t panel_columns = 48;  // panel of b: three vectors of 16

  // Workspace for products with a depth of at most `depth`.
  matrix_product(arena& memory, index_t depth)
      : panel_(memory.take<A>(amount(depth) * panel_columns)),
        block_(memory.take<A>(std::min(depth, block_depth) * block_rows)),
        tile_(memory.take<A>(block_rows * panel_columns)) {}

  // Computes scale * a * b in tiles. Calls store(tile, pitch, first row, rows, first column,
  // columns) for each tile. `kernels` has the functions of row_kernels<T> and `multiply`.
  template <class Kernels, class Store>
  void multiply(Kernels const& kernels, index_t rows, index_t columns, index_t depth,
                matrix const& a, matrix const& b, A scale, Store const& store) const {
    for (index_t column = 0; column < columns; column += panel_columns) {
      index_t const width = std::min(panel_columns, columns - column);
      index_t const padded = padded_columns(width);
      if (width < padded) std::fill_n(panel_, depth * panel_columns, A(0));
      pack(kernels, b, 0, column, depth, width, panel_, panel_columns);
      for (index_t row = 0; row < rows; row += block_rows) {
        index_t const block_height = std::min<index_t>(block_rows, rows - row);
        product_params<A> params{};
        params.c = {tile_, panel_columns};
        params.size = {static_cast<int>(padded_rows(block_height)), static_cast<int>(padded), 0};
        index_t k = 0;
        do {  // accumulates over blocks of the depth in order
          params.size.depth = std::min<index_t>(block_depth, depth - k);
          params.a = pack_block(kernels, a, row, block_height, k, params.size.depth);
          params.b = {panel_ + k * panel_columns, panel_columns};
          params.epilogue.accumulate = k > 0;
          k += params.size.depth;
          params.epilogue.scale = k == depth ? scale : A(1);
          kernels.multiply(params);
        } while (k < depth);
        store(tile_, panel_columns, row, block_height, column, width);
      }
    }
  }

  // A tile of c, for callers that distribute the tiles of a product.
  struct tile {
    index_t row, column, rows, columns;
  };
  struct operands {
    matrix a, b;
  };
  static constexpr index_t tile_depth = block_depth;  // depth of the workspace of sum_tile

  static constexpr index_t row_blocks(index_t rows) { return (rows + block_rows - 1) / block_rows; }
  static constexpr index_t column_panels(index_t columns) {
    return (columns + panel_columns - 1) / panel_columns;
  }
  static tile tile_at(index_t row_block, index_t panel, index_t rows, index_t columns) {
    index_t const row = row_block * block_rows, column = panel * panel_columns;
    return {row, column, std::min(block_rows, rows - row),
            std::min(panel_columns, columns - column)};
  }

  // Computes a tile of scale * sum of a_i * b_i for `terms` pairs; operands_of(i) returns {a_i,
  // b_i}. Accumulates in the order of the pairs, in each over the depth in ascending order.
  template <class Kernels, class OperandsOf>
  pitched_rows<A const> sum_tile(Kernels const& kernels, tile const& position, index_t depth,
                                 index_t terms, A scale, OperandsOf const& operands_of) const {
    product_params<A> params{};
    params.c = {tile_, panel_columns};
    params.b = {panel_, panel_columns};
    index_t const padded = padded_columns(position.columns);
    params.size = {static_cast<int>(padded_rows(position.rows)), static_cast<int>(padded), 0};
    if (position.columns < padded) std::fill_n(panel_, block_depth * panel_columns, A(0));
    if (depth == 0 || terms == 0) std::fill_n(tile_, block_rows * panel_columns, A(0));
    for (index_t term = 0; depth > 0 && term < terms; ++term) {
      operands const pair = operands_of(term);
      for (index_t k = 0; k < depth; k += params.size.depth) {
        params.size.depth = std::min<index_t>(block_depth, depth - k);
        pack(kernels, pair.b, k, position.column, params.size.depth, position.columns, panel_,
             panel_columns);
        params.a = pack_block(kernels, pair.a, position.row, position.rows, k, params.size.depth);
        params.epilogue.accumulate = term > 0 || k > 0;
        bool const is_last = term + 1 == terms && k + params.size.depth == depth;
        params.epilogue.scale = is_last ? scale : A(1);
        kernels.multiply(params);
      }
    }
    return {tile_, panel_columns};
  }

 private:
  // Copies rows [row, row + rows) and columns [column, column + columns) of `from` to rows of `to`.
  static void pack(row_kernels<T> const& kernels, matrix const& from, index_t row, index_t column,
                   index_t rows, index_t columns, A* to, index_t pitch) {
    if (rows == 0 || columns == 0) return;  // an empty matrix may have no memory
    index_t const first = row * from.row + column * from.column;
    if (from.sums == nullptr)
      return row_access<T>(kernels).load(from.elements + first, from.row, from.column, rows,
                                         columns, to, pitch);
    for (index_t i = 0; i < rows; ++i, to += pitch) {
      A const* const sums = from.sums + first + i * from.row;
      if (from.column == 1)
        std::copy_n(sums, columns, to);
      else
        for (index_t c = 0; c < columns; ++c) to[c] = sums[c * from.column];
    }
  }
  // Packs a block of a, unless it can be read in place. Copies in memory order to use whole cache
  // lines.
  strided_rows<A> pack_block(row_kernels<T> const& kernels, matrix const& a, index_t row,
                             index_t rows, index_t column, index_t columns) const {
    if (a.sums != nullptr && a.column == 1 && rows % product_rows == 0)
      return {a.sums + row * a.row + column, a.row, 1};
    if (rows % product_rows != 0) std::fill_n(block_, block_rows * columns, A(0));
    if (a.row == 1) {
      pack(kernels, a.transposed(), column, row, columns, rows, block_, block_rows);
      return {block_, 1, block_rows};
    }
    pack(kernels, a, row, column, rows, columns, block_, columns);
    return {block_, columns, 1};
  }

  A *panel_, *block_, *tile_;
};

SLICESORT_DETAIL_END

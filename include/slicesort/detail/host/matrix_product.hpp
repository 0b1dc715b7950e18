// SPDX-License-Identifier: Apache-2.0
// Products of matrices with arbitrary strides, without a BLAS. Packs panels of b and blocks of a in
// the accumulator's type, and multiplies them with the micro kernel. Reads a and writes c in place
// where whole vectors fit.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
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

// The matrix that a product overwrites or is added to, with elements T or of the accumulator's
// type.
template <class T>
struct matrix_result {
  using A = accumulator_t<T>;

  T* elements;
  A* sums;              // null if the matrix has elements T
  index_t row, column;  // strides
  grad_mode mode;

  static matrix_result from_elements(T* data, index_t row_stride, index_t column_stride,
                                     grad_mode mode) {
    if constexpr (std::is_same_v<T, A>)
      return {nullptr, data, row_stride, column_stride, mode};
    else
      return {data, nullptr, row_stride, column_stride, mode};
  }
  static matrix_result from_sums(A* data, index_t row_stride, grad_mode mode) {
    return {nullptr, data, row_stride, 1, mode};
  }
};

template <class T>
class matrix_product {
 public:
  using A = accumulator_t<T>;
  using matrix = matrix_operand<T>;
  using result = matrix_result<T>;
  // Block of a: 128 KB in float, which fits in the L2 cache.
  static constexpr index_t block_rows = 128, block_depth = 256;
  static constexpr index_t panel_columns = 96;  // panel of b: twice three vectors of 16

  // Workspace for products with a depth of at most `depth`.
  matrix_product(arena& memory, index_t depth)
      : panel_(memory.take<A>(amount(depth) * panel_columns)),
        block_(memory.take<A>(std::min(depth, block_depth) * block_rows)),
        tile_(memory.take<A>(block_rows * panel_columns)) {}

  // A tile of c, for callers that distribute the tiles of a product.
  struct tile {
    index_t row, column, rows, columns;
  };
  struct operands {
    matrix a, b;
  };
  static constexpr index_t tile_depth = block_depth;  // depth of the workspace of multiply_tile

  static constexpr index_t row_blocks(index_t rows) { return (rows + block_rows - 1) / block_rows; }
  static constexpr index_t column_panels(index_t columns) {
    return (columns + panel_columns - 1) / panel_columns;
  }
  static tile tile_at(index_t row_block, index_t panel, index_t rows, index_t columns) {
    index_t const row = row_block * block_rows, column = panel * panel_columns;
    return {row, column, std::min(block_rows, rows - row),
            std::min(panel_columns, columns - column)};
  }

  // Computes c = scale * a * b, or adds it to c. `kernels` has the functions of row_kernels<T> and
  // `multiply`.
  template <class Kernels>
  void multiply(Kernels const& kernels, index_t rows, index_t columns, index_t depth,
                matrix const& a, matrix const& b, A scale, result const& c) const {
    for (index_t column = 0; column < columns; column += panel_columns) {
      index_t const width = std::min(panel_columns, columns - column);
      if (width < padded_columns(width)) std::fill_n(panel_, depth * panel_columns, A(0));
      pack(kernels, b, 0, column, depth, width, panel_, panel_columns);
      for (index_t row = 0; row < rows; row += block_rows) {
        tile const t{row, column, std::min(block_rows, rows - row), width};
        product_params<A> params = params_of(t, c, /*products*/ depth_blocks(depth));
        index_t k = 0;
        do {  // accumulates over blocks of the depth in order
          params.size.depth = std::min<index_t>(block_depth, depth - k);
          params.a = pack_block(kernels, a, row, t.rows, k, params.size.depth);
          params.b = {panel_ + k * panel_columns, panel_columns};
          params.epilogue.accumulate = k > 0;
          k += params.size.depth;
          params.epilogue.scale = k == depth ? scale : A(1);
          kernels.multiply(params);
        } while (k < depth);
        store(kernels, params, t, c);
      }
    }
  }

  // Computes a tile of c = scale * sum of a_i * b_i for `terms` pairs, or adds it to c.
  // operands_of(i) returns {a_i, b_i}. Accumulates in the order of the pairs, in each of them over
  // the depth in ascending order.
  template <class Kernels, class OperandsOf>
  void multiply_tile(Kernels const& kernels, tile const& t, index_t depth, index_t terms, A scale,
                     OperandsOf const& operands_of, result const& c) const {
    product_params<A> params = params_of(t, c, /*products*/ terms * depth_blocks(depth));
    params.b = {panel_, panel_columns};
    if (t.columns < padded_columns(t.columns))
      std::fill_n(panel_, block_depth * panel_columns, A(0));
    if (depth == 0 || terms == 0) std::fill_n(tile_, block_rows * panel_columns, A(0));
    for (index_t term = 0; depth > 0 && term < terms; ++term) {
      operands const pair = operands_of(term);
      for (index_t k = 0; k < depth; k += params.size.depth) {
        params.size.depth = std::min<index_t>(block_depth, depth - k);
        pack(kernels, pair.b, k, t.column, params.size.depth, t.columns, panel_, panel_columns);
        params.a = pack_block(kernels, pair.a, t.row, t.rows, k, params.size.depth);
        params.epilogue.accumulate = term > 0 || k > 0;
        bool const is_last = term + 1 == terms && k + params.size.depth == depth;
        params.epilogue.scale = is_last ? scale : A(1);
        kernels.multiply(params);
      }
    }
    store(kernels, params, t, c);
  }

 private:
  // Columns of a that are at most this many elements apart are read in place. Farther ones would
  // evict each other from the L1 cache.
  static constexpr index_t in_place_pitch = 128;

  static constexpr index_t depth_blocks(index_t depth) {
    return (depth + block_depth - 1) / block_depth;
  }
  // Returns the parameters of the products of a tile. Their sum is computed in c if whole vectors
  // fit and it need not be kept apart from the values of c, otherwise in tile_.
  product_params<A> params_of(tile const& t, result const& c, index_t products) const {
    bool const fits = c.sums != nullptr && c.column == 1 && t.rows % product_rows == 0 &&
                      t.columns % product_columns == 0,
               adds = c.mode == grad_mode::accumulate,
               in_place = fits && products > 0 && (products == 1 || !adds);
    product_params<A> params{};
    params.c = {tile_, panel_columns};
    if (in_place) params.c = {c.sums + t.row * c.row + t.column, c.row};
    params.size = {static_cast<int>(padded_rows(t.rows)),
                   static_cast<int>(padded_columns(t.columns)), 0};
    params.epilogue.separate_sum = in_place && adds;
    params.epilogue.is_output = in_place;
    return params;
  }
  // Stores tile_ to c, unless it was computed there.
  void store(row_kernels<T> const& kernels, product_params<A> const& params, tile const& t,
             result const& c) const {
    if (params.c.data != tile_) return;
    index_t const first = t.row * c.row + t.column * c.column;
    if constexpr (std::is_same_v<T, A>)
      return row_access<T>(kernels).store(tile_, panel_columns, t.rows, t.columns, c.sums + first,
                                          c.row, c.column, c.mode);
    if (c.sums == nullptr)
      return row_access<T>(kernels).store(tile_, panel_columns, t.rows, t.columns,
                                          c.elements + first, c.row, c.column, c.mode);
    for (index_t i = 0; i < t.rows; ++i)
      with_store<A>(c.mode, [&](auto element) {
        for (index_t j = 0; j < t.columns; ++j)
          element.sum(c.sums[first + i * c.row + j], tile_[i * panel_columns + j]);
      });
  }
  // Copies rows [row, row + rows) and columns [column, column + columns) of `from` to rows of `to`.
  static void pack(row_kernels<T> const& kernels, matrix const& from, index_t row, index_t column,
                   index_t rows, index_t columns, A* to, index_t pitch) {
    if (rows == 0 || columns == 0) return;  // an empty matrix may have no memory
    index_t const first = row * from.row + column * from.column;
    row_access<T> const rows_of(kernels);
    if constexpr (std::is_same_v<T, A>)
      return rows_of.load(from.sums + first, from.row, from.column, rows, columns, to, pitch);
    if (from.sums == nullptr)
      return rows_of.load(from.elements + first, from.row, from.column, rows, columns, to, pitch);
    for (index_t i = 0; i < rows; ++i)
      for (index_t c = 0; c < columns; ++c)
        to[i * pitch + c] = from.sums[first + i * from.row + c * from.column];
  }
  // Packs a block of a, unless it can be read in place. Copies in memory order to use whole cache
  // lines.
  strided_rows<A> pack_block(row_kernels<T> const& kernels, matrix const& a, index_t row,
                             index_t rows, index_t column, index_t columns) const {
    bool const is_row_major = a.column == 1,
               is_column_major = a.row == 1 && a.column <= in_place_pitch;
    if (a.sums != nullptr && rows % product_rows == 0 && (is_row_major || is_column_major))
      return {a.sums + row * a.row + column * a.column, a.row, a.column};
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

// SPDX-License-Identifier: Apache-2.0
// Products of whole matrices of any strides, where no BLAS forms them: panels of b and blocks of a
// in the accumulator's type go through the kernel of attention's tiles.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/softmax_attention/host/kernels.hpp>
#include <slicesort/detail/softmax_attention/host/row_io.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// A matrix, either of elements T or of the accumulator's type.
template <class T>
struct attention_matrix {
  using A = detail::accumulator_t<T>;

  T const* elements;
  A const* sums;  // null: a matrix of elements
  index_t row, column;

  static attention_matrix of(T const* data, index_t row, index_t column) {
    if constexpr (std::is_same_v<T, A>)
      return {nullptr, data, row, column};
    else
      return {data, nullptr, row, column};
  }
  static attention_matrix of_sums(A const* data, index_t row, index_t column) {
    return {nullptr, data, row, column};
  }
  attention_matrix transposed() const { return {elements, sums, column, row}; }
};

template <class T>
class attention_product {
 public:
  using A = detail::accumulator_t<T>;
  using matrix = attention_matrix<T>;

  // No side of a matrix may be longer than `depth`.
  attention_product(detail::arena& a, index_t depth)
      : panel_(a.take<A>(detail::amount(depth) * attention_queries)),
        block_(a.take<A>(detail::amount(depth) * product_rows)),
        tile_(a.take<A>(attention_keys * attention_queries)) {}

  // Calls put(tile, pitch, first row, rows, first column, columns) for all parts of scale * a * b.
  template <class Put>
  void form(attention_kernels<T> const& use, index_t rows, index_t columns, index_t depth,
            matrix const& a, matrix const& b, A scale, Put const& put) const {
    for (index_t column = 0; column < columns; column += attention_queries) {
      index_t const width = std::min<index_t>(attention_queries, columns - column);
      index_t const padded = padded_columns(width);
      if (width < padded) std::fill_n(panel_, depth * attention_queries, A(0));
      bring(use, b, 0, column, depth, width, panel_);
      for (index_t row = 0, count; row < rows; row += count) {
        product_call<A> p{};
        p.b = {panel_, attention_queries};
        p.c = {tile_, attention_queries};
        p.size = {0, static_cast<int>(padded), depth};
        p.end.scale = scale;
        count = std::min<index_t>(attention_keys, rows - row);
        if (lies_well(a) && count >= product_rows) {
          count = count / product_rows * product_rows;
          p.a = {a.sums + row * a.row, a.row, a.column};
        } else {
          count = std::min<index_t>(product_rows, count);
          bring_rows(use, a, row, count, depth, p);
        }
        p.size.rows = static_cast<int>(padded_rows(count));
        use.multiply(p);
        put(tile_, index_t{attention_queries}, row, count, column, width);
      }
    }
  }

 private:
  static bool lies_well(matrix const& a) {
    return a.sums != nullptr && (a.row == 1 || a.column == 1);
  }

  // Copies rows [row, row + rows) and columns [column, column + columns) of `from` to rows of `to`.
  static void bring(attention_kernels<T> const& use, matrix const& from, index_t row,
                    index_t column, index_t rows, index_t columns, A* to,
                    index_t pitch = attention_queries) {
    if (rows == 0 || columns == 0) return;  // an empty matrix may have no memory
    index_t const first = row * from.row + column * from.column;
    if (from.sums == nullptr)
      return row_io<T>(use).load(from.elements + first, from.row, from.column, rows, columns, to,
                                 pitch);
    for (index_t i = 0; i < rows; ++i)
      for (index_t c = 0; c < columns; ++c)
        to[i * pitch + c] = from.sums[first + i * from.row + c * from.column];
  }
  void bring_rows(attention_kernels<T> const& use, matrix const& a, index_t row, index_t count,
                  index_t depth, product_call<A>& p) const {
    if (a.row == 1) {  // as columns
      if (count < product_rows) std::fill_n(block_, depth * product_rows, A(0));
      bring(use, a.transposed(), 0, row, depth, count, block_, product_rows);
      p.a = {block_, 1, product_rows};
    } else {
      std::fill(block_ + count * depth, block_ + product_rows * depth, A(0));
      bring(use, a, row, 0, count, depth, block_, depth);
      p.a = {block_, depth, 1};
    }
  }

  A *panel_, *block_, *tile_;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

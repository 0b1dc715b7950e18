// SPDX-License-Identifier: Apache-2.0
// A column of decaying_sum in a kernel: access to its numbers, and its arithmetic, whose order is
// in params.hpp.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// A real or complex number. im is used if complex.
template <class A>
struct decay_number {
  A re, im;
};

// Arithmetic of a column, and access to its numbers.
template <class T, bool Complex>
struct decay_column {
  using A = accumulator_t<T>;
  using number = decay_number<A>;
  static constexpr index_t parts = Complex ? 2 : 1;
  static constexpr int tile_rows = static_cast<int>(decay_tile_rows);

  column_index column;
  row_walk walk;
  index_t valid;
  bool per_row;  // true if a is given per row

  // Returns number j of a tensor, or a real `missing` if there is no tensor.
  template <class From>
  SLICESORT_HD_INLINE number load(tensor4<From const> t, index_t batch, index_t j, index_t row,
                                  int missing) const {
    if (t.data() == nullptr) return {static_cast<A>(missing), A(0)};
    return {static_cast<A>(t(batch, j, row, column.channel)),
            Complex ? static_cast<A>(t(batch, j + 1, row, column.channel)) : A(0)};
  }
  SLICESORT_HD_INLINE number load_a(tensor4<T const> a, index_t j, index_t step) const {
    return per_row ? load(a, column.batch, j, walk.row(step), 0) : load(a, 0, j, 0, 0);
  }
  // Weights of the output, doubled if complex.
  SLICESORT_HD_INLINE number load_w(tensor4<T const> w, index_t j) const {
    number const v = load(w, 0, j, 0, 1);
    return Complex ? number{2 * v.re, 2 * v.im} : v;
  }
  SLICESORT_HD_INLINE void store(tensor4<A> target, index_t j, number v) const {
    if (target.data() == nullptr) return;
    target(column.batch, j, 0, column.channel) = rounded<A>(v.re);
    if constexpr (Complex) target(column.batch, j + 1, 0, column.channel) = rounded<A>(v.im);
  }

  template <class Block>
  SLICESORT_HD_INLINE static number next_state(Block& block, number a, number s, A x) {
    if constexpr (Complex)
      return {block.fused_multiply_add(a.re, s.re, block.fused_multiply_add(-a.im, s.im, x)),
              block.fused_multiply_add(a.re, s.im, a.im * s.re)};
    else
      return {block.fused_multiply_add(a.re, s.re, x), A(0)};
  }
  // Returns sum + lam * conj(s).
  template <class Block>
  SLICESORT_HD_INLINE static number add_conjugate_product(Block& block, number lam, number s,
                                                          number sum) {
    if constexpr (Complex)
      return {
          block.fused_multiply_add(lam.re, s.re, block.fused_multiply_add(lam.im, s.im, sum.re)),
          block.fused_multiply_add(lam.im, s.re, block.fused_multiply_add(-lam.re, s.im, sum.im))};
    else
      return {block.fused_multiply_add(lam.re, s.re, sum.re), A(0)};
  }
  // Returns conj(a) * lam.
  template <class Block>
  SLICESORT_HD_INLINE static number decayed(Block& block, number a, number lam) {
    if constexpr (Complex)
      return {block.fused_multiply_add(a.re, lam.re, a.im * lam.im),
              block.fused_multiply_add(a.re, lam.im, -a.im * lam.re)};
    else
      return {a.re * lam.re, A(0)};
  }

  // Loads the rows of a tile; 0 for rows that do not exist.
  SLICESORT_HD_INLINE void load_rows(column_of<T const> rows, index_t first,
                                     A (&values)[std::size_t{tile_rows}]) const {
    SLICESORT_UNROLL
    for (int r = 0; r < tile_rows; ++r)
      values[r] = first + r < valid ? static_cast<A>(rows[walk.row(first + r)]) : A(0);
  }
  SLICESORT_HD_INLINE void clear_padding(column_of<T> rows, index_t length) const {
    for (index_t n = valid; n < length; ++n) rows[n] = T(0.0F);
  }
};

// Numbers of a column between tiles, [number][column] in global memory.
template <class A, bool Complex>
struct column_numbers {
  A* data;
  index_t pitch;

  SLICESORT_HD_INLINE decay_number<A> load(index_t j) const {
    return {data[j * pitch], Complex ? data[(j + 1) * pitch] : A(0)};
  }
  SLICESORT_HD_INLINE void store(index_t j, decay_number<A> v) const {
    data[j * pitch] = v.re;
    if constexpr (Complex) data[(j + 1) * pitch] = v.im;
  }
};

SLICESORT_DETAIL_END

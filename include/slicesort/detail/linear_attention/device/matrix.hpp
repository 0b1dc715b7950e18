// SPDX-License-Identifier: Apache-2.0
// Matrices with a row for each query, key or feature, as kernels read them, and what a product
// takes of them.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// What elements are read as: features that need nothing but their element are formed as it is read.
template <class A>
struct element_map {
  feature_kind kind;
  A eps;

  template <class Block, std::size_t Count>
  SLICESORT_HD_INLINE void apply(Block& block, A (&to)[Count]) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    if (kind == feature_kind::elu_plus_one) {
      SLICESORT_UNROLL
      for (A& x : to) x = x > A(0) ? math::sum(ops, x, A(1)) : math::exponential(ops, x);
    } else {  // relu
      SLICESORT_UNROLL
      for (A& x : to) x = math::sum(ops, ops.higher(x, A(0)), eps);
    }
  }
};

// Numbers in rows and columns, in the accumulator's type: elements of a tensor, or numbers of the
// workspace, which have that type already. `Mapped`: elements go through a map. (A flag tells them
// apart: of two pointers, a compiler that knows one to be null would make reading it a trap, and
// lanes that may run into a trap do not meet again before the next barrier.)
template <class T, bool Mapped = false>
struct linear_matrix {
  using A = accumulator_t<T>;

  void const* data;
  bool of_elements;  // or of the workspace's numbers
  index_t row_stride, column_stride;
  element_map<A> map{};

  template <class Block>
  SLICESORT_HD_INLINE A operator()(Block& block, index_t row, index_t column) const {
    A x[1] = {as_read(row, column)};
    apply_map(block, x);
    return x[0];
  }
  // Without the map.
  SLICESORT_HD_INLINE A as_read(index_t row, index_t column) const {
    index_t const at = row * row_stride + column * column_stride;
    return of_elements ? static_cast<A>(static_cast<T const*>(data)[at])
                       : static_cast<A const*>(data)[at];
  }
  template <class Block, std::size_t Count>
  SLICESORT_HD_INLINE void apply_map([[maybe_unused]] Block& block,
                                     [[maybe_unused]] A (&read)[Count]) const {
    if constexpr (Mapped)
      if (of_elements) map.apply(block, read);
  }

  // Whether rows lie in fours that may be read at once: columns are neighbors, and rows begin where
  // a four may.
  SLICESORT_HD bool in_fours() const {
    return column_stride == 1 && row_stride % 4 == 0 &&
           reinterpret_cast<std::uintptr_t>(data) %
                   (of_elements ? alignof(four<T>) : alignof(four<A>)) ==
               0;
  }
  // Then, four neighbors of a row, from a multiple of four on, without the map.
  SLICESORT_HD_INLINE void read_four(index_t row, index_t column, A (&to)[4]) const {
    index_t const at = row * row_stride + column;
    auto const read = [&](auto const* numbers) {
      using element = std::remove_cv_t<std::remove_reference_t<decltype(*numbers)>>;
      auto const some = *reinterpret_cast<four<element> const*>(numbers + at);
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i) to[i] = static_cast<A>(some.element[i]);
    };
    if (of_elements)
      read(static_cast<T const*>(data));
    else
      read(static_cast<A const*>(data));
  }

 private:
  template <class Element>
  struct alignas(sizeof(Element) < 4 ? 4 * sizeof(Element) : 16) four {
    Element element[4];
  };
};

template <class T, bool Mapped = false>
SLICESORT_HD linear_matrix<T, Mapped> matrix_of_elements(
    T const* first, index_t row_stride, index_t column_stride,
    element_map<accumulator_t<T>> const& map = {}) {
  return {first, true, row_stride, column_stride, map};
}

// A matrix for every pair.
template <class T, bool Mapped = false>
struct linear_operand {
  using A = accumulator_t<T>;

  tensor4<T const> tensor{};
  A const* numbers = nullptr;  // [pair][rows][pitch], if there is no tensor
  index_t rows = 0, pitch = 0;
  element_map<A> map{};

  SLICESORT_HD linear_matrix<T, Mapped> of(linear_block const& at) const {
    if (numbers != nullptr) return {numbers + at.pair * rows * pitch, false, pitch, 1, map};
    strides4 const s = tensor.strides();
    return matrix_of_elements<T, Mapped>(first_of(tensor, {at.sample, at.head}), s.length,
                                         s.channels, map);
  }
};

// The features of queries, or of keys: in the workspace, or formed as their elements are read.
template <class T>
using feature_operand = linear_operand<T, true>;

// Some of a matrix, as one of the two operands of a product of a tile: number `at` of the tile's
// rows or columns, and k of what is summed over. `AlongK`: neighbors in k lie in a row of the
// matrix, and `at` counts its rows; else the other way round.
template <class Matrix, bool AlongK>
struct product_operand {
  using A = typename Matrix::A;
  static constexpr bool along_k = AlongK;

  Matrix of;
  index_t row, column;  // where `at` and k begin
  index_t count;        // of `at`; behind them are zeros
  A const* factors;     // of the matrix's rows from `row` on; or null

  // Whether fours of the matrix begin where `at` and k are multiples of 4.
  SLICESORT_HD bool in_fours() const { return column % 4 == 0 && of.in_fours(); }
  // Of k and the next three, or of `at` and the next three: neighbors in a row of the matrix, from
  // a multiple of 4 on, at once where it is `in_fours`. There are zeros from k = `end` on.
  template <class Block>
  SLICESORT_HD_INLINE void read_four(Block& block, int at, index_t k, index_t end, bool fours,
                                     A (&to)[4]) const {
    bool const any = at < count && k < end;
    index_t const left = AlongK ? end - k : count - at;
    int const some = !any ? 0 : left < 4 ? static_cast<int>(left) : 4;
    index_t const r = AlongK ? at : k, c = AlongK ? k : at;
    if (fours && some == 4) {
      of.read_four(row + r, column + c, to);
    } else {
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i) to[i] = i < some ? of.as_read(row + r, column + c + i) : A(0);
    }
    of.apply_map(block, to);
    if (factors != nullptr) {
      A const factor = any ? factors[r] : A(0);
      SLICESORT_UNROLL
      for (A& one : to) one = block.fused_multiply_add(one, factor, A(0));
    }
    SLICESORT_UNROLL
    for (int i = 0; i < 4; ++i)
      if (i >= some) to[i] = A(0);
  }
};
template <bool AlongK, class Matrix>
SLICESORT_HD_INLINE product_operand<Matrix, AlongK> operand_of(
    Matrix const& of, index_t row, index_t column, index_t count,
    typename Matrix::A const* factors = nullptr) {
  return {of, row, column, count, factors};
}

SLICESORT_DETAIL_END

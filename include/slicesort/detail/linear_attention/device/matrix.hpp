// SPDX-License-Identifier: Apache-2.0
// Matrices with one row per query, key or feature, as kernels read them, and operands of products.
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

// Applies an elementwise feature map while loading.
template <class A>
struct element_map {
  feature_kind kind;
  A eps;

  template <class Block, std::size_t Count>
  SLICESORT_HD_INLINE void apply(Block& block, A (&values)[Count]) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    if (kind == feature_kind::elu_plus_one) {
      SLICESORT_UNROLL
      for (A& x : values) x = x > A(0) ? math::sum(ops, x, A(1)) : math::exponential(ops, x);
    } else {  // relu
      SLICESORT_UNROLL
      for (A& x : values) x = math::sum(ops, ops.max(x, A(0)), eps);
    }
  }
};

// Matrix whose elements are read in the accumulator type, from a tensor or from the workspace.
// `Mapped` matrices apply a feature map to tensor elements. A flag distinguishes tensors from the
// workspace, because the compiler turns loads from a pointer that it knows to be null into traps,
// and lanes that may trap reconverge only at the next barrier.
template <class T, bool Mapped = false>
struct linear_matrix {
  using A = accumulator_t<T>;

  void const* data;
  bool is_tensor;  // false: workspace elements, of type A
  index_t row_stride, column_stride;
  element_map<A> map{};

  template <class Block>
  SLICESORT_HD_INLINE A operator()(Block& block, index_t row, index_t column) const {
    A x[1] = {load(row, column)};
    apply_map(block, x);
    return x[0];
  }
  // Loads an element without applying the map.
  SLICESORT_HD_INLINE A load(index_t row, index_t column) const {
    index_t const offset = row * row_stride + column * column_stride;
    return is_tensor ? static_cast<A>(static_cast<T const*>(data)[offset])
                     : static_cast<A const*>(data)[offset];
  }
  template <class Block, std::size_t Count>
  SLICESORT_HD_INLINE void apply_map([[maybe_unused]] Block& block,
                                     [[maybe_unused]] A (&values)[Count]) const {
    if constexpr (Mapped)
      if (is_tensor) map.apply(block, values);
  }

  // True if rows are contiguous and aligned, so four adjacent elements can be loaded at once.
  SLICESORT_HD bool has_aligned_fours() const {
    return column_stride == 1 && row_stride % 4 == 0 &&
           reinterpret_cast<std::uintptr_t>(data) %
                   (is_tensor ? alignof(four<T>) : alignof(four<A>)) ==
               0;
  }
  // Loads four adjacent elements of a row at once, without the map. `column` must be a multiple of
  // 4. Requires has_aligned_fours().
  SLICESORT_HD_INLINE void load_four(index_t row, index_t column, A (&values)[4]) const {
    index_t const offset = row * row_stride + column;
    auto const convert = [&](auto const* elements) {
      using element = std::remove_cv_t<std::remove_reference_t<decltype(*elements)>>;
      auto const loaded = *reinterpret_cast<four<element> const*>(elements + offset);
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i) values[i] = static_cast<A>(loaded.element[i]);
    };
    if (is_tensor)
      convert(static_cast<T const*>(data));
    else
      convert(static_cast<A const*>(data));
  }

 private:
  template <class Element>
  struct alignas(sizeof(Element) < 4 ? 4 * sizeof(Element) : 16) four {
    Element element[4];
  };
};

template <class T, bool Mapped = false>
SLICESORT_HD linear_matrix<T, Mapped> make_tensor_matrix(
    T const* first, index_t row_stride, index_t column_stride,
    element_map<accumulator_t<T>> const& map = {}) {
  return {first, true, row_stride, column_stride, map};
}

// One matrix per (sample, head) pair.
template <class T, bool Mapped = false>
struct linear_operand {
  using A = accumulator_t<T>;

  tensor4<T const> tensor{};
  A const* values = nullptr;  // [pair / group][rows][pitch]; null if there is a tensor
  index_t rows = 0, pitch = 0;
  element_map<A> map{};
  index_t group = 1;  // consecutive heads that share a matrix

  SLICESORT_HD linear_matrix<T, Mapped> matrix(tile_position const& position) const {
    return matrix_of(divide_by_group(position.pair, group),
                     {position.sample, divide_by_group(position.head, group)});
  }
  // The same for groups of one.
  SLICESORT_HD linear_matrix<T, Mapped> ungrouped_matrix(tile_position const& position) const {
    return matrix_of(position.pair, {position.sample, position.head});
  }

 private:
  SLICESORT_HD linear_matrix<T, Mapped> matrix_of(index_t pair, head_index head) const {
    if (values != nullptr) return {values + pair * rows * pitch, false, pitch, 1, map};
    strides4 const s = tensor.strides();
    return make_tensor_matrix<T, Mapped>(head_data(tensor, head), s.length, s.channels, map);
  }
};

// Features of queries or keys, from the workspace or computed while loading.
template <class T>
using feature_operand = linear_operand<T, true>;

// Operand of a product tile: one line per row or column of the tile, and k is the summation index.
// A line is a row of the matrix if `AlongK`, else a column.
template <class Matrix, bool AlongK>
struct product_operand {
  using A = typename Matrix::A;
  static constexpr bool along_k = AlongK;

  Matrix matrix;
  index_t first_row, first_column;  // of line 0 and k = 0 in the matrix
  index_t line_count;               // later lines are zeros
  A const* factors;                 // one per matrix row from `first_row` on; null means 1

  // True if four lines, or four k, can be loaded at once from multiples of 4.
  SLICESORT_HD bool has_aligned_fours() const {
    return first_column % 4 == 0 && matrix.has_aligned_fours();
  }
  // Loads four adjacent elements of a matrix row, starting at a multiple of 4: k .. k + 3 of a
  // line, or lines line .. line + 3. Elements with k >= end are zeros. `load_fours` must be the
  // result of has_aligned_fours().
  template <class Block>
  SLICESORT_HD_INLINE void load_four(Block& block, int line, index_t k, index_t end,
                                     bool load_fours, A (&values)[4]) const {
    bool const in_range = line < line_count && k < end;
    index_t const remaining = AlongK ? end - k : line_count - line;
    int const valid_count = !in_range ? 0 : remaining < 4 ? static_cast<int>(remaining) : 4;
    index_t const r = AlongK ? line : k, c = AlongK ? k : line;
    if (load_fours && valid_count == 4) {
      matrix.load_four(first_row + r, first_column + c, values);
    } else {
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i)
        values[i] = i < valid_count ? matrix.load(first_row + r, first_column + c + i) : A(0);
    }
    matrix.apply_map(block, values);
    if (factors != nullptr) {
      A const factor = in_range ? factors[r] : A(0);
      SLICESORT_UNROLL
      for (A& x : values) x = block.fused_multiply_add(x, factor, A(0));
    }
    SLICESORT_UNROLL
    for (int i = 0; i < 4; ++i)
      if (i >= valid_count) values[i] = A(0);
  }
};
template <bool AlongK, class Matrix>
SLICESORT_HD_INLINE product_operand<Matrix, AlongK> make_operand(
    Matrix const& matrix, index_t first_row, index_t first_column, index_t line_count,
    typename Matrix::A const* factors = nullptr) {
  return {matrix, first_row, first_column, line_count, factors};
}

SLICESORT_DETAIL_END

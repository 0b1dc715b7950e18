// SPDX-License-Identifier: Apache-2.0
// Matrices with a row for each query, key or feature, as kernels read them, and operands of
// products.
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
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    if (kind == feature_kind::elu_plus_one) {
      SLICESORT_UNROLL
      for (A& x : values) x = x > A(0) ? math::sum(ops, x, A(1)) : math::exponential(ops, x);
    } else {  // relu
      SLICESORT_UNROLL
      for (A& x : values) x = math::sum(ops, ops.higher(x, A(0)), eps);
    }
  }
};

// A matrix in the accumulator's type: elements of a tensor, or of the workspace. `Mapped` matrices
// apply a map to the elements of tensors. A flag tells the two apart, since a compiler that knows
// one of two pointers to be null turns the load into a trap, and lanes that may run into a trap
// reconverge only at the next barrier.
template <class T, bool Mapped = false>
struct linear_matrix {
  using A = accumulator_t<T>;

  void const* data;
  bool is_tensor;  // else workspace, in the accumulator's type
  index_t row_stride, column_stride;
  element_map<A> map{};

  template <class Block>
  SLICESORT_HD_INLINE A operator()(Block& block, index_t row, index_t column) const {
    A x[1] = {load(row, column)};
    apply_map(block, x);
    return x[0];
  }
  // Loads without the map.
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

  // True if four neighbors of a row can be loaded at once: columns are contiguous and rows are
  // aligned.
  SLICESORT_HD bool aligned_fours() const {
    return column_stride == 1 && row_stride % 4 == 0 &&
           reinterpret_cast<std::uintptr_t>(data) %
                   (is_tensor ? alignof(four<T>) : alignof(four<A>)) ==
               0;
  }
  // Loads four neighbors of a row at once, from a multiple of four on, without the map. Requires
  // aligned_fours().
  SLICESORT_HD_INLINE void load_four(index_t row, index_t column, A (&values)[4]) const {
    index_t const offset = row * row_stride + column;
    auto const convert = [&](auto const* numbers) {
      using element = std::remove_cv_t<std::remove_reference_t<decltype(*numbers)>>;
      auto const loaded = *reinterpret_cast<four<element> const*>(numbers + offset);
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

// A matrix of every pair.
template <class T, bool Mapped = false>
struct linear_operand {
  using A = accumulator_t<T>;

  tensor4<T const> tensor{};
  A const* numbers = nullptr;  // [pair][rows][pitch], if there is no tensor
  index_t rows = 0, pitch = 0;
  element_map<A> map{};

  SLICESORT_HD linear_matrix<T, Mapped> matrix(tile_position const& position) const {
    if (numbers != nullptr) return {numbers + position.pair * rows * pitch, false, pitch, 1, map};
    strides4 const s = tensor.strides();
    return make_tensor_matrix<T, Mapped>(first_of(tensor, {position.sample, position.head}),
                                         s.length, s.channels, map);
  }
};

// Features of queries or of keys: in the workspace, or computed while loading.
template <class T>
using feature_operand = linear_operand<T, true>;

// One operand of a tile of products: a line for each row or column of the tile, and k, the index
// that is summed over. `AlongK`: a line is a row of the matrix; else a line is a column.
template <class Matrix, bool AlongK>
struct product_operand {
  using A = typename Matrix::A;
  static constexpr bool along_k = AlongK;

  Matrix matrix;
  index_t row, column;  // first line and first k
  index_t count;        // lines; those behind are zeros
  A const* factors;     // one per row of the matrix from `row` on; or null

  // True if fours of lines or of k, from multiples of 4 on, can be loaded at once.
  SLICESORT_HD bool aligned_fours() const { return column % 4 == 0 && matrix.aligned_fours(); }
  // Loads four neighbors of a row of the matrix, from a multiple of 4 on: k .. k + 3 of a line, or
  // lines .. line + 3. Elements from k = `end` on are zeros. `fours`: aligned_fours().
  template <class Block>
  SLICESORT_HD_INLINE void load_four(Block& block, int line, index_t k, index_t end, bool fours,
                                     A (&values)[4]) const {
    bool const inside = line < count && k < end;
    index_t const remaining = AlongK ? end - k : count - line;
    int const valid = !inside ? 0 : remaining < 4 ? static_cast<int>(remaining) : 4;
    index_t const r = AlongK ? line : k, c = AlongK ? k : line;
    if (fours && valid == 4) {
      matrix.load_four(row + r, column + c, values);
    } else {
      SLICESORT_UNROLL
      for (int i = 0; i < 4; ++i)
        values[i] = i < valid ? matrix.load(row + r, column + c + i) : A(0);
    }
    matrix.apply_map(block, values);
    if (factors != nullptr) {
      A const factor = inside ? factors[r] : A(0);
      SLICESORT_UNROLL
      for (A& x : values) x = block.fused_multiply_add(x, factor, A(0));
    }
    SLICESORT_UNROLL
    for (int i = 0; i < 4; ++i)
      if (i >= valid) values[i] = A(0);
  }
};
template <bool AlongK, class Matrix>
SLICESORT_HD_INLINE product_operand<Matrix, AlongK> make_operand(
    Matrix const& matrix, index_t row, index_t column, index_t count,
    typename Matrix::A const* factors = nullptr) {
  return {matrix, row, column, count, factors};
}

SLICESORT_DETAIL_END

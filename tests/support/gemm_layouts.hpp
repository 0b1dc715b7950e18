// SPDX-License-Identifier: Apache-2.0
// Matrix products in every layout that a BLAS supports, and some that it does not, compared with
// plain loops.
#pragma once

#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/numbers.hpp"

#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace support {

template <class T>
constexpr slicesort::element_kind kind_of() {
  using kind = slicesort::element_kind;
  return std::is_same_v<T, float>     ? kind::f32
         : std::is_same_v<T, double>  ? kind::f64
         : std::is_same_v<T, float16> ? kind::f16
                                      : kind::bf16;
}

// Contiguous axis of a matrix, with or without gaps (`apart`) along the other.
enum class matrix_layout { rows, rows_apart, columns, columns_apart, strided };

template <class T>
struct matrices {
  index_t rows, columns, count;
  slicesort::gemm_operand operand{};
  std::vector<T> memory;

  matrices(index_t r, index_t c, index_t n, matrix_layout layout, std::uint64_t seed)
      : rows(r), columns(c), count(n) {
    index_t const gap =
        layout == matrix_layout::rows_apart || layout == matrix_layout::columns_apart ? 3 : 0;
    bool const column_major =
        layout == matrix_layout::columns || layout == matrix_layout::columns_apart;
    operand.kind = kind_of<T>();
    operand.row_stride =
        column_major ? 1 : (layout == matrix_layout::strided ? 2 * c + 1 : c + gap);
    operand.column_stride = column_major ? r + gap : (layout == matrix_layout::strided ? 2 : 1);
    operand.matrix_stride = (r + 4) * (c + 4) * 2;
    memory.resize(static_cast<std::size_t>(operand.matrix_stride * n + 1));
    random_stream random(seed);
    for (T& element : memory) element = from_double<T>(random.normal());
    operand.data = memory.data();
  }
  std::size_t offset_of(index_t m, index_t r, index_t c) const {
    return static_cast<std::size_t>(m * operand.matrix_stride + r * operand.row_stride +
                                    c * operand.column_stride);
  }
  T& operator()(index_t m, index_t r, index_t c) { return memory[offset_of(m, r, c)]; }
};

// Returns true if `gemm` computes two products, and checks all elements; otherwise checks that it
// writes nothing.
template <class T, class C = T, class Gemm>
bool multiplies(Gemm const& gemm, index_t rows, index_t columns, index_t depth,
                matrix_layout a_layout, matrix_layout b_layout, matrix_layout c_layout,
                double alpha, double beta) {
  matrices<T> a(rows, depth, 2, a_layout, 1), b(depth, columns, 2, b_layout, 2);
  matrices<C> c(rows, columns, 2, c_layout, 3);
  double const ulp = std::ldexp(1.0, -format_of<C>().fraction_bits);
  std::vector<double> expected, bound(c.memory.size());
  for (C element : c.memory) expected.push_back(as_double(element));
  for (index_t m = 0; m < 2; ++m)
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j) {
        double sum = 0, magnitude = 0;
        for (index_t k = 0; k < depth; ++k) {
          double const product = as_double(a(m, i, k)) * as_double(b(m, k, j));
          sum += product, magnitude += std::abs(product);
        }
        std::size_t const n = c.offset_of(m, i, j);
        double const scaled_c = beta > 0 ? beta * expected[n] : 0.0;
        expected[n] = alpha * sum + scaled_c;
        bound[n] = (alpha * magnitude + std::abs(scaled_c)) * ulp * static_cast<double>(depth + 4);
        if (beta <= 0) c.memory[n] = from_double<C>(1e4);  // not read
      }
  auto const untouched = c.memory;
  slicesort::gemm_call const call{rows, columns,   depth,     2,        alpha,
                                  beta, a.operand, b.operand, c.operand};
  if (!gemm.multiply(nullptr, call)) {
    CHECK(same_bits(c.memory, untouched));
    return false;
  }
  int error_count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(as_double(c.memory[i]) - expected[i]) <= bound[i])) ++error_count;
  CHECK(error_count == 0);
  return true;
}

}  // namespace support

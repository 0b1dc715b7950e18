// SPDX-License-Identifier: Apache-2.0
// Matrix products in every layout that a BLAS can be told and some that it cannot, compared with
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
template <class T>
double as_double(T number) {
  return static_cast<double>(static_cast<slicesort::detail::accumulator_t<T>>(number));
}

// How the two axes of a matrix lie in memory.
enum class lie { rows, rows_apart, columns, columns_apart, both_apart };

template <class T>
struct matrices {
  index_t rows, columns, count;
  slicesort::gemm_operand said{};
  std::vector<T> memory;

  matrices(index_t r, index_t c, index_t n, lie how, std::uint64_t seed)
      : rows(r), columns(c), count(n) {
    index_t const gap = how == lie::rows_apart || how == lie::columns_apart ? 3 : 0;
    bool const by_columns = how == lie::columns || how == lie::columns_apart;
    said.kind = kind_of<T>();
    said.row_stride = by_columns ? 1 : (how == lie::both_apart ? 2 * c + 1 : c + gap);
    said.column_stride = by_columns ? r + gap : (how == lie::both_apart ? 2 : 1);
    said.matrix_stride = (r + 4) * (c + 4) * 2;
    memory.resize(static_cast<std::size_t>(said.matrix_stride * n + 1));
    random_stream random(seed);
    for (T& one : memory) one = from_double<T>(random.normal());
    said.data = memory.data();
  }
  std::size_t place(index_t m, index_t r, index_t c) const {
    return static_cast<std::size_t>(m * said.matrix_stride + r * said.row_stride +
                                    c * said.column_stride);
  }
  T& operator()(index_t m, index_t r, index_t c) { return memory[place(m, r, c)]; }
};

// Whether `gemm` makes two products. If so, checks that every element is right, and that no other
// was touched; if not, that none was.
template <class T, class C = T, class Gemm>
bool multiplies(Gemm const& gemm, index_t rows, index_t columns, index_t depth, lie a_lies,
                lie b_lies, lie c_lies, double alpha, double beta) {
  matrices<T> a(rows, depth, 2, a_lies, 1), b(depth, columns, 2, b_lies, 2);
  matrices<C> c(rows, columns, 2, c_lies, 3);
  double const unit = std::ldexp(1.0, -format_of<C>().fraction_bits);
  std::vector<double> want, bound(c.memory.size());
  for (C one : c.memory) want.push_back(as_double(one));
  for (index_t m = 0; m < 2; ++m)
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j) {
        double sum = 0, size = 0;
        for (index_t k = 0; k < depth; ++k) {
          double const product = as_double(a(m, i, k)) * as_double(b(m, k, j));
          sum += product, size += std::abs(product);
        }
        std::size_t const at = c.place(m, i, j);
        double const before = beta > 0 ? beta * want[at] : 0.0;
        want[at] = alpha * sum + before;
        bound[at] = (alpha * size + std::abs(before)) * unit * static_cast<double>(depth + 4);
        if (beta <= 0) c.memory[at] = from_double<C>(1e4);  // not read
      }
  auto const untouched = c.memory;
  slicesort::gemm_call const call{rows, columns, depth, 2, alpha, beta, a.said, b.said, c.said};
  if (!gemm.multiply(nullptr, call)) {
    CHECK(same_bits(c.memory, untouched));
    return false;
  }
  int wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(std::abs(as_double(c.memory[i]) - want[i]) <= bound[i])) ++wrong;
  CHECK(wrong == 0);
  return true;
}

}  // namespace support

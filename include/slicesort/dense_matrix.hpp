// SPDX-License-Identifier: Apache-2.0
/// A matrix that owns its elements, the result of `equivalent_matrix`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <vector>

SLICESORT_OPERATORS_BEGIN

/// A matrix of `size` rows and `columns` columns, stored row by row. It is square for every
/// operator except attention.
struct dense_matrix {
  index_t size = 0, columns = 0;
  std::vector<double> elements;

  dense_matrix() = default;
  explicit dense_matrix(index_t n) : dense_matrix(n, n) {}
  dense_matrix(index_t n, index_t m)
      : size(n), columns(m), elements(static_cast<std::size_t>(n * m)) {}
  double& operator()(index_t row, index_t column) {
    return elements[static_cast<std::size_t>(row * columns + column)];
  }
  double operator()(index_t row, index_t column) const {
    return elements[static_cast<std::size_t>(row * columns + column)];
  }
};

SLICESORT_OPERATORS_END

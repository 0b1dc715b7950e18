// SPDX-License-Identifier: Apache-2.0
// Computes a whole Sinkhorn matrix from its definition, for equivalent_matrix.hpp. The operator
// never stores the matrix.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

SLICESORT_DETAIL_BEGIN

// Normalizes the matrix exp(v(i) w(j) / tau) of `size` rows `iterations` times in the log domain,
// rows first. Calls put(i, j, element) for every element of the result.
template <class V, class W, class Put>
void dense_sinkhorn(index_t size, double tau, index_t iterations, V const& v, W const& w,
                    Put const& put) {
  auto const n = static_cast<std::size_t>(size);
  std::vector<double> row_potentials(n), column_potentials(n);
  auto const logit = [&](std::size_t i, std::size_t j) {
    return v(static_cast<index_t>(i)) * w(static_cast<index_t>(j)) / tau;
  };
  // Returns the offset that makes the exponentials of term(k) + offset sum to 1.
  auto const compute_potential = [&](auto const& term) {
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t k = 0; k < n; ++k)
      if (double const exponent = term(k); maximum < exponent) maximum = exponent;
    for (std::size_t k = 0; k < n; ++k) sum += std::exp(term(k) - maximum);
    return -(maximum + std::log(sum));
  };
  for (index_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t i = 0; i < n; ++i)
      row_potentials[i] =
          compute_potential([&](std::size_t j) { return logit(i, j) + column_potentials[j]; });
    for (std::size_t j = 0; j < n; ++j)
      column_potentials[j] =
          compute_potential([&](std::size_t i) { return logit(i, j) + row_potentials[i]; });
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      put(static_cast<index_t>(i), static_cast<index_t>(j),
          std::exp(logit(i, j) + row_potentials[i] + column_potentials[j]));
}

SLICESORT_DETAIL_END

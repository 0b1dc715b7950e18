// SPDX-License-Identifier: Apache-2.0
// Checks of the recipes: tensors with exact inputs, dense matrices in double for oracles, and
// central differences.
#pragma once

#include "cuda/backend/fields.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/numbers.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace recipe_checks {

namespace ss = slicesort;
using ss::extents3, ss::extents4, ss::index_t, ss::tensor4;

// Type by which elements are converted from and to double.
template <class T>
using number = std::conditional_t<std::is_same_v<T, double>, double, float>;

// A tensor [batch, heads, length, channels] that owns its elements. If packed, they have the order
// [batch, length, heads * channels], in which projections write them.
template <class T>
struct owned {
  extents4 shape{};
  std::vector<T> values{};
  bool is_packed = false;

  owned() = default;
  explicit owned(extents4 e, T value = T(0.0f))
      : shape(e), values(static_cast<std::size_t>(e.size()), value) {}
  owned(extents4 e, std::initializer_list<double> list) : shape(e) {
    for (double value : list) values.push_back(static_cast<T>(static_cast<number<T>>(value)));
    REQUIRE(static_cast<index_t>(values.size()) == e.size());
  }
  tensor4<T> view() { return view_of(values.data()); }
  tensor4<T const> view() const { return view_of(values.data()); }
  T& operator()(index_t b, index_t h, index_t n, index_t c) { return view()(b, h, n, c); }
  T const& operator()(index_t b, index_t h, index_t n, index_t c) const {
    return view()(b, h, n, c);
  }

 private:
  template <class U>
  tensor4<U> view_of(U* data) const {
    if (!is_packed) return {data, shape};
    extents3 const rows{shape.batch, shape.length, shape.heads * shape.channels};
    return ss::split_heads(ss::tensor3<U>(data, rows), shape.heads);
  }
};
template <class T>
owned<T> copy_with_layout(owned<T> const& x, bool is_packed) {
  owned<T> result(x.shape);
  result.is_packed = is_packed;
  for (index_t b = 0; b < x.shape.batch; ++b)
    for (index_t h = 0; h < x.shape.heads; ++h)
      for (index_t n = 0; n < x.shape.length; ++n)
        for (index_t c = 0; c < x.shape.channels; ++c) result(b, h, n, c) = x(b, h, n, c);
  return result;
}

// Multiples of 1/16 in [-1, 1], which every element type represents exactly.
inline owned<double> random_tensor(extents4 e, std::uint64_t seed) {
  support::random_stream random(seed);
  owned<double> x(e);
  for (double& value : x.values) value = static_cast<double>(random.below(33)) / 16 - 1;
  return x;
}
template <class T>
owned<T> convert(owned<double> const& x) {
  owned<T> result(x.shape);
  result.is_packed = x.is_packed;
  for (std::size_t i = 0; i < x.values.size(); ++i)
    result.values[i] = static_cast<T>(static_cast<number<T>>(x.values[i]));
  return result;
}

template <class T>
T nan() {
  return static_cast<T>(std::numeric_limits<number<T>>::quiet_NaN());
}
// A result with the shape and the layout of x, to be overwritten.
template <class T>
owned<T> nan_like(owned<T> const& x) {
  owned<T> result(x.shape, nan<T>());
  result.is_packed = x.is_packed;
  return result;
}

// Inputs of the golden values.
inline owned<double> golden_q() { return {{1, 1, 4, 2}, {1, 0, 0, 1, 1, 1, -1, 2}}; }
inline owned<double> golden_k() { return {{1, 1, 4, 2}, {1, 1, 0, 2, -1, 1, 2, 0}}; }
inline owned<double> golden_v() { return {{1, 1, 4, 2}, {1, 0, 0, 1, 2, -1, 1, 3}}; }
inline owned<double> golden_dy() { return {{1, 1, 4, 2}, {1, 2, 0, 1, -1, 1, 2, 0}}; }

// A dense matrix.
struct matrix {
  index_t rows = 0, columns = 0;
  std::vector<double> values{};

  matrix(index_t r, index_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  // The first rows of a head; by default all.
  matrix(tensor4<double const> x, index_t b, index_t h, index_t count = -1)
      : matrix(count < 0 ? x.extents().length : count, x.extents().channels) {
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j)
        (*this)(i, j) = x(x.extents().batch == 1 ? 0 : b, x.extents().heads == 1 ? 0 : h, i, j);
  }
  double& operator()(index_t i, index_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  double operator()(index_t i, index_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  // The first rows and columns.
  matrix block(index_t row_count, index_t column_count) const {
    matrix part(row_count, column_count);
    for (index_t i = 0; i < row_count; ++i)
      for (index_t j = 0; j < column_count; ++j) part(i, j) = (*this)(i, j);
    return part;
  }
};
inline matrix operator*(matrix const& a, matrix const& b) {
  REQUIRE(a.columns == b.rows);
  matrix c(a.rows, b.columns);
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t k = 0; k < a.columns; ++k)
      for (index_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
inline matrix operator*(double factor, matrix a) {
  for (double& value : a.values) value *= factor;
  return a;
}
inline matrix operator+(matrix a, matrix const& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}
inline matrix transposed(matrix const& a) {
  matrix t(a.columns, a.rows);
  for (index_t i = 0; i < a.rows; ++i)
    for (index_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  return t;
}
inline matrix softmax_rows(matrix a) {
  for (index_t i = 0; i < a.rows; ++i) {
    double largest = -HUGE_VAL, sum = 0;
    for (index_t j = 0; j < a.columns; ++j) largest = std::max(largest, a(i, j));
    for (index_t j = 0; j < a.columns; ++j) sum += a(i, j) = std::exp(a(i, j) - largest);
    for (index_t j = 0; j < a.columns; ++j) a(i, j) /= sum;
  }
  return a;
}
inline double default_scale(matrix const& q) {
  return q.columns == 0 ? 1 : 1 / std::sqrt(static_cast<double>(q.columns));
}
// softmax(q k^T / sqrt(channels))
inline matrix attention_map(matrix const& q, matrix const& k) {
  return softmax_rows(default_scale(q) * (q * transposed(k)));
}
// Writes the matrix to the first rows of a head.
inline void store(owned<double>& x, index_t b, index_t h, matrix const& m) {
  for (index_t i = 0; i < m.rows; ++i)
    for (index_t j = 0; j < m.columns; ++j) x(b, h, i, j) = m(i, j);
}

// The lengths of a call; none if empty.
inline ss::row_lengths lengths_of(std::vector<index_t> const& lengths) {
  if (lengths.empty()) return {};
  return ss::lengths(lengths);
}
inline index_t valid_rows(std::vector<index_t> const& lengths, index_t b, index_t length) {
  return lengths.empty() ? length : lengths[static_cast<std::size_t>(b)];
}
// Writes NaN past the lengths, where inputs must not be read.
template <class T>
void fill_padding(owned<T>& x, std::vector<index_t> const& lengths) {
  for (index_t b = 0; b < x.shape.batch; ++b)
    for (index_t h = 0; h < x.shape.heads; ++h)
      for (index_t n = valid_rows(lengths, b, x.shape.length); n < x.shape.length; ++n)
        for (index_t c = 0; c < x.shape.channels; ++c) x(b, h, n, c) = nan<T>();
}

// LayerNorm of the valid rows of x, over the channels of all heads. Other rows are zeros.
inline owned<double> layer_norm(owned<double> const& x, owned<double> const& weight,
                                owned<double> const& bias, double epsilon,
                                std::vector<index_t> const& lengths = {}) {
  extents4 const e = x.shape;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t n = 0; n < valid_rows(lengths, b, e.length); ++n) {
      double const count = static_cast<double>(e.heads * e.channels);
      double sum = 0, squares = 0;
      for (index_t h = 0; h < e.heads; ++h)
        for (index_t c = 0; c < e.channels; ++c) sum += x(b, h, n, c);
      double const mean = sum / count;
      for (index_t h = 0; h < e.heads; ++h)
        for (index_t c = 0; c < e.channels; ++c)
          squares += (x(b, h, n, c) - mean) * (x(b, h, n, c) - mean);
      double const deviation = std::sqrt(squares / count + epsilon);
      for (index_t h = 0; h < e.heads; ++h)
        for (index_t c = 0; c < e.channels; ++c)
          y(b, h, n, c) =
              weight(0, h, 0, c) * (x(b, h, n, c) - mean) / deviation + bias(0, h, 0, c);
    }
  return y;
}

// Compares every element, relative to the largest one, or to `magnitude` if that is larger.
template <class T>
void check_close(owned<T> const& actual, owned<double> const& expected, double tolerance,
                 double magnitude = 0) {
  REQUIRE(actual.shape == expected.shape);
  double largest = magnitude, difference = 0;
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    double const value = static_cast<double>(static_cast<number<T>>(actual.values[i]));
    if (!std::isfinite(value)) FAIL_CHECK("element " << i << " is " << value);
    largest = std::max(largest, std::fabs(expected.values[i]));
    difference = support::max_or_nan(difference, std::fabs(value - expected.values[i]));
  }
  CHECK(difference <= tolerance * largest);
}
// First-order difference of two computations in double, relative to the size of what they add. Each
// has `terms` roundings in succession, those of a sum and of the factors of a term.
inline double oracle_difference(index_t terms) { return static_cast<double>(terms) * 0x1p-52; }
// Roundings of the functions of a parameter and of the factors of a weight, exp with two each.
inline constexpr index_t weight_roundings = 16;
// First-order error of `roundings` roundings to T, and of sums of `terms` terms in float.
template <class T>
double rounding_error(double roundings, index_t terms) {
  return roundings * (sizeof(T) == 2 ? 0x1p-8 : 0x1p-24) + static_cast<double>(terms) * 0x1p-24;
}
// Compares the tensors of a result in T with those of the same result in double. `magnitude` is the
// size of terms that may cancel.
template <class T, template <class> class Result>
void check_rounded(Result<T> const& actual, Result<double> const& expected, double roundings,
                   index_t terms, double magnitude = 0) {
  double const tolerance = rounding_error<T>(roundings, terms);
  support::with_fields(actual, [&](auto const&... actual_field) {
    support::with_fields(expected, [&](auto const&... expected_field) {
      (check_close(actual_field, expected_field, tolerance, magnitude), ...);
    });
  });
}

inline void check_same(owned<double> const& actual, owned<double> const& expected) {
  CHECK(copy_with_layout(actual, expected.is_packed).values == expected.values);
}
inline void pack(owned<double>& x) { x = copy_with_layout(x, true); }
template <class Field>
void pack(Field&) {}
// Compares the result of a problem with the one of packed tensors.
template <class Problem, class Run>
void check_packed(Problem problem, Run const& run) {
  auto const expected = run(problem);
  support::with_fields(problem, [](auto&... field) { (pack(field), ...); });
  auto const actual = run(problem);
  support::with_fields(actual, [&](auto const&... actual_field) {
    support::with_fields(expected, [&](auto const&... expected_field) {
      (check_same(actual_field, expected_field), ...);
    });
  });
}

// A sum of dy * y, whose gradient backward computes.
inline double weighted_sum(owned<double> const& y, owned<double> const& dy) {
  double sum = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i) sum += y.values[i] * dy.values[i];
  return sum;
}

// Compares dx with differences of loss() over all elements of x. The stencil of five points has an
// error of step^4, about 1e-10 for functions with derivatives of about 1.
template <class Loss>
void check_gradient(Loss const& loss, owned<double>& x, owned<double> const& dx,
                    double tolerance = 1e-8) {
  REQUIRE(x.shape == dx.shape);
  double const step = 0x1p-9;
  owned<double> differences(x.shape);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    double const value = x.values[i];
    auto const loss_at = [&](double offset) {
      x.values[i] = value + offset;
      return loss();
    };
    double const near_points = loss_at(step) - loss_at(-step),
                 far_points = loss_at(2 * step) - loss_at(-2 * step);
    differences.values[i] = (8 * near_points - far_points) / (12 * step);
    x.values[i] = value;
  }
  check_close(dx, differences, tolerance);
}

}  // namespace recipe_checks

// SPDX-License-Identifier: Apache-2.0
/// Rank collapse: how far the rows of a sample are from being equal. This is the residual of
/// Theorem 1 of the CSP paper (after Dong et al. 2021), for the output of any operator. A
/// diagnostic for host memory.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

SLICESORT_TYPES_BEGIN

/// Norms of a matrix `[rows, channels]`.
struct matrix_norms {
  double max_column_sum = 0;  ///< the largest sum of magnitudes in a column
  double max_row_sum = 0;     ///< the largest sum of magnitudes in a row
  double frobenius = 0;       ///< the square root of the sum of squares

  /// The paper's (1, infinity)-norm, `sqrt(max_column_sum * max_row_sum)`.
  SLICESORT_ABI_TAG double composite() const {
    return std::sqrt(max_column_sum) * std::sqrt(max_row_sum);
  }
};

/// Result of `rank_collapse` for one sample X.
struct rank_report {
  matrix_norms matrix;    ///< norms of X
  matrix_norms residual;  ///< norms of X - 1 m', where m is the mean row

  /// 0 if all rows are equal or zero, near 1 (and at most 2) if they have nothing in common.
  SLICESORT_ABI_TAG double relative() const {
    return matrix.composite() == 0 ? 0 : residual.composite() / matrix.composite();
  }
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

inline void fail_rank_collapse(char const* name, index_t value, index_t limit) {
  status error;
  error.kind = error_kind::argument;
  std::snprintf(error.message, sizeof error.message,
                "rank_collapse: %s is %lld, must be in 0..%lld", name,
                static_cast<long long>(value), static_cast<long long>(limit));
  enforce(error);
}

// Computes the norms of the first rows of a sample minus the row subtracted_row(c).
template <class T, class F>
matrix_norms compute_residual_norms(tensor3<T const> x, index_t sample, index_t rows,
                                    F const& subtracted_row) {
  index_t const channels = x.extents().channels;
  std::vector<double> column_sums(static_cast<std::size_t>(channels));
  matrix_norms norms;
  double squares = 0;
  for (index_t n = 0; n < rows; ++n) {
    double row_sum = 0;
    for (index_t c = 0; c < channels; ++c) {
      auto const value = static_cast<double>(static_cast<accumulator_t<T>>(x(sample, n, c)));
      double const distance = std::fabs(value - subtracted_row(c));
      row_sum += distance;
      squares += distance * distance;
      column_sums[static_cast<std::size_t>(c)] += distance;
    }
    if (!(row_sum <= norms.max_row_sum)) norms.max_row_sum = row_sum;
  }
  for (double const sum : column_sums)
    if (!(sum <= norms.max_column_sum)) norms.max_column_sum = sum;
  norms.frobenius = std::sqrt(squares);
  return norms;
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// Computes the residual of the first `rows` rows of sample `sample` of `x`,
/// `[batch, length, channels]`.
///
/// The paper subtracts `1 x'` from X, with the x that minimizes the norm of the residual (eq. 6).
/// For the Frobenius norm x is the mean row; for the composite norm there is no closed form. This
/// function always subtracts the mean row, so its result is at most twice the minimum, and is 0
/// exactly if the minimum is 0.
///
/// - **dtypes** float, double, float16, bfloat16, or any type with `dtype_traits`; sums in double.
/// - **Errors** `invalid_argument`: no such sample, more rows than the length, or channels that no
///   operator accepts.
/// - **Memory** allocates two doubles per channel; unlike an operator, it takes no workspace.
template <class X>
SLICESORT_ABI_TAG rank_report rank_collapse(X const& x, index_t sample, index_t rows) {
  using view = detail::view_of_rank3_t<X>;
  using T = typename view::value_type;
  static_assert(detail::is_dtype<T>,
                "slicesort: the element type must be float, double, slicesort::float16, "
                "slicesort::bfloat16, or have a slicesort::dtype_traits specialization.");
  tensor3<T const> const values = view(x);
  extents3 const e = values.extents();
  // Without this limit the allocations could overflow.
  constexpr index_t max_channels = index_t{1} << 57;
  if (e.channels < 0 || e.channels > max_channels)
    detail::fail_rank_collapse("x.channels", e.channels, max_channels);
  if (sample < 0 || sample >= e.batch) detail::fail_rank_collapse("sample", sample, e.batch - 1);
  if (rows < 0 || rows > e.length) detail::fail_rank_collapse("rows", rows, e.length);
  auto const element = [&](index_t n, index_t c) {
    return static_cast<double>(static_cast<detail::accumulator_t<T>>(values(sample, n, c)));
  };
  // Means are relative to the first row, so that the mean of equal rows is exact.
  std::vector<double> mean(static_cast<std::size_t>(e.channels));
  for (index_t n = 1; n < rows; ++n)
    for (index_t c = 0; c < e.channels; ++c)
      mean[static_cast<std::size_t>(c)] += element(n, c) - element(0, c);
  for (index_t c = 0; c < e.channels && rows > 0; ++c) {
    double& m = mean[static_cast<std::size_t>(c)];
    m = element(0, c) + m / static_cast<double>(rows);
  }
  return {detail::compute_residual_norms(values, sample, rows, [](index_t) { return 0.0; }),
          detail::compute_residual_norms(
              values, sample, rows, [&](index_t c) { return mean[static_cast<std::size_t>(c)]; })};
}

/// Computes the residual of all rows of sample `sample` of `x`.
template <class X>
SLICESORT_ABI_TAG rank_report rank_collapse(X const& x, index_t sample = 0) {
  using view = detail::view_of_rank3_t<X>;
  return rank_collapse(x, sample, view(x).extents().length);
}

SLICESORT_TYPES_END

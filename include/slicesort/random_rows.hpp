// SPDX-License-Identifier: Apache-2.0
/// Matrices of random rows, for the features of Performer, random Fourier features, and the
/// rotations of Reformer. They are computed once, on the host, in double, and their bits depend
/// only on the parameters. Operators also accept any other matrix.
#pragma once

#include <slicesort/dense_matrix.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/normal.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

SLICESORT_TYPES_BEGIN

/// Distribution of the rows.
enum class row_form {
  gaussian,         ///< independent normal numbers with mean 0 and variance 1
  orthogonal_chi,   ///< orthogonal in blocks of `columns` rows, with norms of gaussian rows
  orthogonal_unit,  ///< as orthogonal_chi, but all norms are sqrt(columns)
};

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// Matrix of random rows.
///
/// - **gaussian** element (r, c) is normal number `r * columns + c` of the seed's sequence 0
///   (Marsaglia's polar method on a counter-based hash).
/// - **orthogonal** each block of `columns` rows of that matrix (the last one may be shorter) is
///   orthogonalized by two Gram-Schmidt passes (Performer's orthogonal random features). Each row
///   is then scaled: with `orthogonal_chi` by the norm of `columns` normal numbers of sequence 1,
///   so each row by itself is distributed like a gaussian row; with `orthogonal_unit` by
///   sqrt(columns).
/// - **Rows** do not depend on `rows`: a larger matrix begins with the rows of a smaller one.
/// - **Bits** are the same for every compiler, flag and processor. 16-bit elements are rounded from
///   float.
/// - **Errors** `invalid_argument`: negative sizes, more than 2^40 elements, or a view with a
///   different shape.
/// - **Cost** one logarithm and one square root per normal number; orthogonal rows add `4 *
///   columns^2` multiplications each. Allocates a block of rows.
struct random_rows {
  std::uint64_t seed = 0;
  index_t rows = 0, columns = 0;
  row_form form = row_form::gaussian;

  /// The matrix, in double.
  dense_matrix matrix() const {
    check_size();
    dense_matrix result(rows, columns);
    for_each_row([&](index_t r, double const* row) {
      std::copy(row, row + columns,
                result.elements.begin() + static_cast<std::ptrdiff_t>(r * columns));
    });
    return result;
  }
  /// Writes the rows to a view `[batch, length, channels]` of host memory, with any element type.
  /// `batch * length` must equal `rows`, and `channels` must equal `columns`. The rows of sample
  /// (or head) 0 come first. If `length` is a multiple of `columns`, each block of orthogonal rows
  /// belongs to one sample.
  template <class W>
  void write(W const& view) const {
    using T = typename detail::view_of_rank3_t<W>::value_type;
    static_assert(detail::is_dtype<T>,
                  "slicesort: the element type must be float, double, slicesort::float16, "
                  "slicesort::bfloat16, or have a slicesort::dtype_traits specialization.");
    check_size();
    tensor3<T> const w = view;
    extents3 const e = w.extents();
    // Compares by division, because the product may overflow.
    bool const fits =
        e.batch >= 0 && e.length >= 0 && e.channels == columns &&
        (e.batch == 0 || e.length == 0 ? rows == 0
                                       : rows / e.length == e.batch && rows % e.length == 0);
    if (!fits) fail("the view has another shape: batch * length must be rows, channels columns");
    for_each_row([&](index_t r, double const* row) {
      for (index_t c = 0; c < columns; ++c)
        w(r / e.length, r % e.length, c) =
            static_cast<T>(static_cast<detail::accumulator_t<T>>(row[c]));
    });
  }

 private:
  static void fail(char const* reason) {
    status error;
    error.kind = error_kind::argument;
    std::snprintf(error.message, sizeof error.message, "random_rows: %s", reason);
    detail::enforce(error);
  }
  void check_size() const {
    constexpr index_t limit = index_t{1} << 40;
    if (rows < 0 || columns < 0 || rows > limit || (rows > 0 && columns > limit / rows))
      fail("rows and columns must be at least 0, and their product at most 2^40");
  }

  // Calls f(r, row) for each row.
  template <class F>
  void for_each_row(F const& f) const {
    index_t const block_rows = form == row_form::gaussian ? 1 : columns;
    std::vector<double> block(static_cast<std::size_t>(std::min(block_rows, rows) * columns)),
        row(static_cast<std::size_t>(columns));
    for (index_t first = 0; first < rows && columns > 0; first += block_rows) {
      index_t const count = std::min(block_rows, rows - first);
      for (index_t r = 0; r < count; ++r) {
        double* const unscaled = block.data() + r * columns;
        for (index_t c = 0; c < columns; ++c) unscaled[c] = normal_value(0, first + r, c);
        if (form != row_form::gaussian) orthogonalize(block.data(), r);
        double const norm = form == row_form::gaussian ? 1 : compute_norm(first + r);
        for (index_t c = 0; c < columns; ++c)
          row[static_cast<std::size_t>(c)] =
              detail::uncontracted_arithmetic{}.product(unscaled[c], norm);
        f(first + r, row.data());
      }
    }
  }
  double normal_value(std::uint64_t sequence, index_t r, index_t c) const {
    return detail::counter_normal(seed, sequence, static_cast<std::uint64_t>(r * columns + c));
  }
  double compute_norm(index_t r) const {
    detail::uncontracted_arithmetic const ops;
    double squares = static_cast<double>(columns);
    if (form == row_form::orthogonal_chi) {
      squares = 0;
      for (index_t c = 0; c < columns; ++c) {
        double const x = normal_value(1, r, c);
        squares = ops.multiply_add(x, x, squares);
      }
    }
    return detail::exact_square_root(squares);
  }
  // Turns row r of a block into a unit vector orthogonal to the preceding rows, which are unit
  // vectors.
  void orthogonalize(double* block, index_t r) const {
    detail::uncontracted_arithmetic const ops;
    double* const x = block + r * columns;
    auto const dot = [&](double const* y) {
      double sum = 0;
      for (index_t c = 0; c < columns; ++c) sum = ops.multiply_add(x[c], y[c], sum);
      return sum;
    };
    // The second pass removes the rounding errors that cancellation leaves after the first.
    for (int pass = 0; pass < 2; ++pass)
      for (index_t s = 0; s < r; ++s) {
        double const* const y = block + s * columns;
        double const projection = dot(y);
        for (index_t c = 0; c < columns; ++c) x[c] = ops.multiply_add(-projection, y[c], x[c]);
      }
    double const norm = detail::exact_square_root(dot(x));
    for (index_t c = 0; c < columns; ++c) x[c] = ops.divide(x[c], norm);
  }
};

SLICESORT_OPERATORS_END

// SPDX-License-Identifier: Apache-2.0
/// Matrices of random rows, for what takes them as an input: the features of Performer and of
/// random Fourier features, the rotations of Reformer. Formed on the host, in double, once; their
/// bits depend on nothing but the numbers given. A matrix from elsewhere does as well.
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

/// What random rows look like.
enum class row_form {
  gaussian,         ///< independent normal numbers of mean 0 and variance 1
  orthogonal_chi,   ///< as many as there are columns are orthogonal, with lengths of gaussian rows
  orthogonal_unit,  ///< the same, but all have the length of a unit vector times sqrt(columns)
};

SLICESORT_TYPES_END

SLICESORT_OPERATORS_BEGIN

/// A matrix of random rows.
///
/// - **gaussian** element (r, c) is normal number `r * columns + c` of stream 0 of the seed
///   (Marsaglia's polar method on a counter-based hash).
/// - **orthogonal** each block of `columns` rows of that matrix, the last of them maybe fewer, is
///   orthogonalized by Gram and Schmidt's method, twice (the orthogonal random features of
///   Performer). Then each row is given a length: with `orthogonal_chi` the norm of `columns` other
///   normal numbers, of stream 1, which makes every row by itself distributed like a gaussian one;
///   with `orthogonal_unit` sqrt(columns).
/// - **Rows** do not depend on how many there are: more of them begin with the same ones.
/// - **Bits** are the same for every compiler, flag and processor. To 16 bits numbers are rounded
///   by way of float.
/// - **Errors** `invalid_argument`: negative numbers, more than 2^40 elements, or a view of another
///   shape.
/// - **Cost** a logarithm and a root for each normal number; orthogonal rows `4 * columns^2` more
///   multiplications each. Allocates a block of rows.
struct random_rows {
  std::uint64_t seed = 0;
  index_t rows = 0, columns = 0;
  row_form form = row_form::gaussian;

  /// The matrix, in double.
  dense_matrix matrix() const {
    check();
    dense_matrix all(rows, columns);
    for_each_row([&](index_t r, double const* row) {
      std::copy(row, row + columns,
                all.elements.begin() + static_cast<std::ptrdiff_t>(r * columns));
    });
    return all;
  }
  /// Writes the rows to a view `[batch, length, channels]` of host memory, of any element type:
  /// `batch * length` must be `rows`, and `channels` be `columns`. The rows of sample (or head) 0
  /// come first. Where `length` is a multiple of `columns`, no block of orthogonal rows belongs to
  /// two samples.
  template <class W>
  void write(W const& to) const {
    using T = typename detail::view_of_rank3_t<W>::value_type;
    static_assert(detail::is_dtype<T>,
                  "slicesort: the element type must be float, double, slicesort::float16, "
                  "slicesort::bfloat16, or have a slicesort::dtype_traits specialization.");
    check();
    tensor3<T> const w = to;
    extents3 const e = w.extents();
    // Division, because the product may be too great.
    bool const fits =
        e.batch >= 0 && e.length >= 0 && e.channels == columns &&
        (e.batch == 0 || e.length == 0 ? rows == 0
                                       : rows / e.length == e.batch && rows % e.length == 0);
    if (!fits) refuse("the view has another shape: batch * length must be rows, channels columns");
    for_each_row([&](index_t r, double const* row) {
      for (index_t c = 0; c < columns; ++c)
        w(r / e.length, r % e.length, c) =
            static_cast<T>(static_cast<detail::accumulator_t<T>>(row[c]));
    });
  }

 private:
  static void refuse(char const* what) {
    status v;
    v.kind = error_kind::argument;
    std::snprintf(v.message, sizeof v.message, "random_rows: %s", what);
    detail::enforce(v);
  }
  void check() const {
    constexpr index_t most = index_t{1} << 40;
    if (rows < 0 || columns < 0 || rows > most || (rows > 0 && columns > most / rows))
      refuse("rows and columns must be at least 0, and their product at most 2^40");
  }

  // Rows begin .. begin + count - 1 as one matrix; `as_row` is called for each.
  template <class F>
  void for_each_row(F const& as_row) const {
    index_t const together = form == row_form::gaussian ? 1 : columns;
    std::vector<double> block(static_cast<std::size_t>(std::min(together, rows) * columns)),
        row(static_cast<std::size_t>(columns));
    for (index_t first = 0; first < rows && columns > 0; first += together) {
      index_t const count = std::min(together, rows - first);
      for (index_t r = 0; r < count; ++r) {
        double* const mine = block.data() + r * columns;
        for (index_t c = 0; c < columns; ++c) mine[c] = normal(0, first + r, c);
        if (form != row_form::gaussian) orthogonalize(block.data(), r);
        double const length = form == row_form::gaussian ? 1 : length_of(first + r);
        for (index_t c = 0; c < columns; ++c)
          row[static_cast<std::size_t>(c)] =
              detail::uncontracted_arithmetic{}.product(mine[c], length);
        as_row(first + r, row.data());
      }
    }
  }
  double normal(std::uint64_t stream, index_t r, index_t c) const {
    return detail::counter_normal(seed, stream, static_cast<std::uint64_t>(r * columns + c));
  }
  double length_of(index_t r) const {
    detail::uncontracted_arithmetic const ops;
    double squares = static_cast<double>(columns);
    if (form == row_form::orthogonal_chi) {
      squares = 0;
      for (index_t c = 0; c < columns; ++c) {
        double const x = normal(1, r, c);
        squares = ops.multiply_add(x, x, squares);
      }
    }
    return detail::exact_square_root(squares);
  }
  // Row r of a block, whose rows before are unit vectors, becomes one that is orthogonal to them.
  void orthogonalize(double* block, index_t r) const {
    detail::uncontracted_arithmetic const ops;
    double* const x = block + r * columns;
    auto const dot = [&](double const* y) {
      double sum = 0;
      for (index_t c = 0; c < columns; ++c) sum = ops.multiply_add(x[c], y[c], sum);
      return sum;
    };
    // The first time leaves what cancellation left, up to the condition of the rows.
    for (int time = 0; time < 2; ++time)
      for (index_t s = 0; s < r; ++s) {
        double const* const y = block + s * columns;
        double const along = dot(y);
        for (index_t c = 0; c < columns; ++c) x[c] = ops.multiply_add(-along, y[c], x[c]);
      }
    double const norm = detail::exact_square_root(dot(x));
    for (index_t c = 0; c < columns; ++c) x[c] = ops.divide(x[c], norm);
  }
};

SLICESORT_OPERATORS_END

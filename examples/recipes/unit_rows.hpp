// SPDX-License-Identifier: Apache-2.0
// Rows divided by their norm, and the gradient. The keys of reformer.
#pragma once

#include "support.hpp"

#include <slicesort/tensor_view.hpp>

#include <cmath>

namespace recipes {

// Norm of the row that begins at p, at least 1e-12.
template <class T>
RECIPES_HD accumulator<T> norm_of_row(tensor4<T const> x, position p) {
  accumulator<T> squares = 0;
  for (; p.channel < x.extents().channels; ++p.channel) {
    auto const value = static_cast<accumulator<T>>(element(x, p));
    squares += value * value;
  }
  accumulator<T> const norm = std::sqrt(squares), floor = static_cast<accumulator<T>>(1e-12);
  return norm > floor ? norm : floor;
}

template <class T>
struct write_unit_row {
  tensor4<T const> x;
  tensor4<T> unit;

  RECIPES_HD void operator()(position p) const {
    accumulator<T> const norm = norm_of_row(x, p);
    for (; p.channel < x.extents().channels; ++p.channel)
      element(unit, p) = static_cast<T>(static_cast<accumulator<T>>(element(x, p)) / norm);
  }
};

// dx += (dunit - unit <unit, dunit>) / |x|
template <class T>
struct add_unit_row_gradient {
  tensor4<T const> x, unit, dunit;
  tensor4<T> dx;

  RECIPES_HD void operator()(position first) const {
    using A = accumulator<T>;
    index_t const channels = x.extents().channels;
    A const norm = norm_of_row(x, first);
    A radial = 0;
    for (position p = first; p.channel < channels; ++p.channel)
      radial += static_cast<A>(element(unit, p)) * static_cast<A>(element(dunit, p));
    for (position p = first; p.channel < channels; ++p.channel) {
      A const tangent =
          static_cast<A>(element(dunit, p)) - static_cast<A>(element(unit, p)) * radial;
      element(dx, p) = static_cast<T>(static_cast<A>(element(dx, p)) + tangent / norm);
    }
  }
};

inline extents4 rows_of(extents4 e) { return {e.batch, e.heads, e.length, 1}; }

// Writes unit = x / |x| for every row.
template <class Exec, class T>
void normalize_rows(Exec const& exec, tensor4<T const> x, tensor4<T> unit) {
  for_each_position(exec, rows_of(x.extents()), write_unit_row<T>{x, unit});
}
template <class Exec, class T>
void add_normalization_gradient(Exec const& exec, tensor4<T const> x, tensor4<T const> unit,
                                tensor4<T const> dunit, tensor4<T> dx) {
  for_each_position(exec, rows_of(x.extents()), add_unit_row_gradient<T>{x, unit, dunit, dx});
}

}  // namespace recipes

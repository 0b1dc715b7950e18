// SPDX-License-Identifier: Apache-2.0
// Elementwise operations on all rows except padding.
#pragma once

#include "learning/context.hpp"

#include <algorithm>

namespace learning {

template <class T>
void fill(context<T>& c, T value, matrix<T> y) {
  c.for_each_row(y, [&](index_t r) { std::fill_n(y.row(r), y.columns, value); });
}
template <class T>
void copy(context<T>& c, matrix<T const> x, matrix<T> y) {
  c.for_each_row(y, [&](index_t r) { std::copy_n(x.row(r), y.columns, y.row(r)); });
}
/// Computes `y = a * b` elementwise; `y` may be a or b.
template <class T>
void multiply_elements(context<T>& c, matrix<T const> a, matrix<T const> b, matrix<T> y) {
  c.for_each_row(y, [&](index_t r) {
    for (index_t i = 0; i < y.columns; ++i) y.row(r)[i] = a.row(r)[i] * b.row(r)[i];
  });
}
/// Computes `y = a + b`; `y` may be a or b.
template <class T>
void add_elements(context<T>& c, matrix<T const> a, matrix<T const> b, matrix<T> y) {
  c.for_each_row(y, [&](index_t r) {
    for (index_t i = 0; i < y.columns; ++i) y.row(r)[i] = a.row(r)[i] + b.row(r)[i];
  });
}

}  // namespace learning

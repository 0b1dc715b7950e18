// SPDX-License-Identifier: Apache-2.0
// Elementwise operations on all rows except padding.
#pragma once

#include "learning/context.hpp"

#include <algorithm>

namespace learning {

template <class T>
void fill(context<T>& c, T value, matrix<T> to) {
  c.parallel_rows(to, [&](index_t first, index_t count) {
    for (index_t r = first; r < first + count; ++r) std::fill_n(to.row(r), to.columns, value);
  });
}
template <class T>
void copy(context<T>& c, matrix<T const> from, matrix<T> to) {
  c.parallel_rows(to, [&](index_t first, index_t count) {
    for (index_t r = first; r < first + count; ++r) std::copy_n(from.row(r), to.columns, to.row(r));
  });
}
/// Computes `to = a * b` elementwise; `to` may be a or b.
template <class T>
void multiply_elements(context<T>& c, matrix<T const> a, matrix<T const> b, matrix<T> to) {
  c.parallel_rows(to, [&](index_t first, index_t count) {
    for (index_t r = first; r < first + count; ++r)
      for (index_t i = 0; i < to.columns; ++i) to.row(r)[i] = a.row(r)[i] * b.row(r)[i];
  });
}
/// Computes `to = a + b`; `to` may be a or b.
template <class T>
void add_elements(context<T>& c, matrix<T const> a, matrix<T const> b, matrix<T> to) {
  c.parallel_rows(to, [&](index_t first, index_t count) {
    for (index_t r = first; r < first + count; ++r)
      for (index_t i = 0; i < to.columns; ++i) to.row(r)[i] = a.row(r)[i] + b.row(r)[i];
  });
}

}  // namespace learning

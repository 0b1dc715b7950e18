// SPDX-License-Identifier: Apache-2.0
// Recipes of low rank in the arena: Linformer, Nystromformer, Transformer-LS.
#pragma once

#include "recipe_entry.hpp"
#include "recipes/linformer.hpp"
#include "recipes/long_short.hpp"
#include "recipes/nystromformer.hpp"

#include <slicesort/policies/mask.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

// Shared by all heads, one projection for keys and one for values.
template <class T>
struct linformer_case {
  using element = T;
  using layer = recipes::linformer<T, counting_exec>;
  static constexpr ss::index_t rank = 256;
  learned_tensor<T> e, f;

  // The variance 1 / rank keeps projected rows as large as rows.
  explicit linformer_case(extents4 x)
      : e({1, 1, rank, x.length}, 1 / std::sqrt(double{rank}), 1),
        f({1, 1, rank, x.length}, 1 / std::sqrt(double{rank}), 2) {}
  layer make(counting_exec const& exec) const { return layer(exec); }
  recipes::linformer_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.k, x.v, e.view(), f.view()};
  }
  recipes::linformer_grads<T> grads(recipe_inputs<T> const& d) {
    return {d.q, d.k, d.v, e.grad(), f.grad()};
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t h) const {
    return t.attention(x.q, t.product(t.constant(e.matrix(h)), x.k),
                       t.product(t.constant(f.matrix(h)), x.v));
  }
  // Backward of attention computes five products for the two of forward.
  static operations count_operations(extents4) { return {8.0 * rank, (10.0 + 8.0) * rank}; }
  // Roundings of projected rows, of their gradients, and of the result.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(3, x); }
};

// Settings of the Long Range Arena. Shorter sequences have a landmark for each row.
template <class T>
struct nystromformer_case {
  using element = T;
  using layer = recipes::nystromformer<T, counting_exec>;
  static constexpr ss::index_t most_landmarks = 128, taps = 35, newton_steps = 6;
  ss::index_t landmarks;
  learned_tensor<T> filters;

  explicit nystromformer_case(extents4 x)
      : landmarks(landmarks_of(x.length)),
        filters({1, x.heads, 1, taps}, 1 / std::sqrt(double{taps}), 1) {}
  layer make(counting_exec const& exec) const { return layer(exec, landmarks, newton_steps); }
  recipes::nystromformer_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.k, x.v, filters.view()};
  }
  recipes::nystromformer_grads<T> grads(recipe_inputs<T> const& d) {
    return {d.q, d.k, d.v, filters.grad()};
  }

  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t h) const {
    ss::index_t const length = x.q.value.rows, count = landmarks;
    auto const list_segment = [=](ss::index_t i, std::vector<dense::term>& terms) {
      ss::index_t const first = i * length / count, last = (i + 1) * length / count;
      for (ss::index_t j = first; j < last; ++j)
        terms.push_back({j, 1 / static_cast<double>(last - first)});
    };
    auto const list_taps = [=, filter = filters.matrix(h)](ss::index_t i,
                                                           std::vector<dense::term>& terms) {
      for (ss::index_t tap = 0; tap < taps; ++tap)
        if (ss::index_t const j = i + tap - (taps - 1) / 2; 0 <= j && j < length)
          terms.push_back({j, filter(0, tap)});
    };
    dense::matrix identity(count, count);
    for (ss::index_t i = 0; i < count; ++i) identity(i, i) = 1;

    dense::node &q_mean = t.sums(count, x.q, list_segment),
                &k_mean = t.sums(count, x.k, list_segment);
    dense::node& map = t.attention(q_mean, k_mean, t.constant(std::move(identity)));
    dense::node& context = t.product(inverse(t, map), t.attention(q_mean, x.k, x.v));
    return t.combine(1, t.attention(x.q, k_mean, context), 1, t.sums(length, x.v, list_taps));
  }
  // Without means. A step of the inverse has four products, and eleven backward.
  static operations count_operations(extents4 x) {
    auto const count = static_cast<double>(landmarks_of(x.length)),
               product = 2 * count * count * count / static_cast<double>(x.length * x.channels);
    return {8 * count + 2.0 * taps + 4.0 * newton_steps * product,
            20 * count + 4.0 * taps + 11.0 * newton_steps * product};
  }
  // Roundings of landmarks, of the context, of its gradient, and of the result. A step of the
  // inverse multiplies small singular values by up to 13 / 4, and rounding errors with them.
  static double tolerance(extents4 x) {
    return recipe_tolerance<T>(4, x) + 4 * std::pow(3.25, newton_steps) * unit_roundoff<float>();
  }

 private:
  static ss::index_t landmarks_of(ss::index_t length) { return std::min(length, most_landmarks); }
  static dense::node& inverse(dense::tape& t, dense::node& a) {
    dense::node* z = &divided_by_largest_column_sum(t, a);
    for (ss::index_t step = 0; step < newton_steps; ++step) {
      dense::node& x = t.product(a, *z);
      dense::node& u1 = t.combine(7, *z, -1, t.product(*z, x));
      dense::node& u2 = t.combine(15, *z, -1, t.product(u1, x));
      z = &t.combine(3.25, *z, -.25, t.product(u2, x));
    }
    return *z;
  }
  // a^T / max_j sum_i a_ij
  static dense::node& divided_by_largest_column_sum(dense::tape& t, dense::node& a) {
    ss::index_t const n = a.value.rows;
    std::vector<double> sums(static_cast<std::size_t>(n));
    for (ss::index_t i = 0; i < n; ++i) dense::add_scaled(1, a.value.row(i), sums.data(), n);
    auto const largest = std::max_element(sums.begin(), sums.end());
    ss::index_t const column = largest - sums.begin();
    double const sum = *largest;
    dense::node& z = t.variable(dense::transposed(a.value));
    for (double& value : z.value.values) value /= sum;
    z.backward = [&a, &z, n, column, sum] {
      double const product = dense::dot(z.grad.row(0), z.value.row(0), n * n);
      for (ss::index_t i = 0; i < n; ++i) {
        for (ss::index_t j = 0; j < n; ++j) a.grad(i, j) += z.grad(j, i) / sum;
        a.grad(i, column) -= product / sum;
      }
    };
    return z;
  }
};

// The projection reads the queries of all heads, as rows of an input of its own.
template <class T>
struct long_short_case {
  using element = T;
  using layer = recipes::long_short<T, counting_exec>;
  static constexpr ss::index_t rank = 32, reach = 8;
  learned_tensor<T> w;
  std::vector<T> drows;

  explicit long_short_case(extents4 x)
      : w({1, x.heads, x.heads * x.channels, rank},
          1 / std::sqrt(static_cast<double>(x.heads * x.channels)), 1),
        drows(static_cast<std::size_t>(x.size())) {}
  layer make(counting_exec const& exec) const {
    return layer(exec, ss::mask::window{reach, reach});
  }
  recipes::long_short_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, x.k, x.v, joined_heads(x.q, x.q.data()), w.view()};
  }
  recipes::long_short_grads<T> grads(recipe_inputs<T> const& d) {
    return {d.q, d.k, d.v, joined_heads(d.q, drows.data()), w.grad()};
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t h) const {
    ss::index_t const length = x.q.value.rows;
    dense::node& projection = t.constant(projection_of(x.rows, w.matrix(h)));
    dense::node &keys = t.joined(t.product(projection, x.k), x.k),
                &values = t.joined(t.product(projection, x.v), x.v);
    return t.attention(x.q, keys, values,
                       [length](ss::index_t i, std::vector<dense::term>& keys_of_row) {
                         for (ss::index_t j = 0; j < rank; ++j) keys_of_row.push_back({j, 0});
                         for (ss::index_t j = std::max<ss::index_t>(0, i - reach);
                              j < std::min(length, i + reach + 1); ++j)
                           keys_of_row.push_back({rank + j, 0});
                       });
  }
  static operations count_operations(extents4 x) {
    double const window = 2.0 * reach + 1, logits = 2.0 * rank * static_cast<double>(x.heads);
    return {4 * window + 8.0 * rank + logits, 10 * window + (10.0 + 8.0) * rank + 2 * logits};
  }
  // Roundings of projected rows, of their gradients, and of the result.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(3, x); }

 private:
  // softmax((x w)^T) along the rows of x
  static dense::matrix projection_of(tensor3<double const> x, dense::matrix const& weights) {
    ss::index_t const length = x.extents().length;
    dense::matrix map(rank, length);
    for (ss::index_t n = 0; n < length; ++n)
      for (ss::index_t c = 0; c < weights.rows; ++c)
        for (ss::index_t r = 0; r < rank; ++r) map(r, n) += x(0, n, c) * weights(c, r);
    for (ss::index_t r = 0; r < rank; ++r) {
      double const largest = *std::max_element(map.row(r), map.row(r) + length);
      double sum = 0;
      for (ss::index_t n = 0; n < length; ++n) sum += map(r, n) = std::exp(map(r, n) - largest);
      for (ss::index_t n = 0; n < length; ++n) map(r, n) /= sum;
    }
    return map;
  }
  template <class U>
  static tensor4<U> joined_heads(tensor4<U> x, U* data) {
    extents4 const e = x.extents();
    return {data, {e.batch, 1, e.length, e.heads * e.channels}};
  }
};

}  // namespace bench

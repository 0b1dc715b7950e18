// SPDX-License-Identifier: Apache-2.0
// Parameters of sinkhorn.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// T[i][j] = exp(logits[i][j] / tau + u[i] + w[j]). Each half-step replaces u, so that the rows of T
// sum to 1, or w, so that its columns sum to rows / columns.
struct sinkhorn_steps {
  static constexpr index_t max_count = 2 * 65536;

  index_t count;
  bool rows_last;

  // True if half-step t, in 0 .. count - 1, normalizes rows.
  SLICESORT_HD constexpr bool normalizes_rows(index_t t) const {
    return ((count - 1 - t) % 2 == 0) == rows_last;
  }
};

// Arguments of the workspace size.
struct sinkhorn_shape {
  extents3 extents;
  index_t steps;

  // True if a tile of such matrices, one per lane, fits in the L1 cache. Only these multiply
  // factors instead of adding their logarithms, so results depend on it.
  constexpr bool is_small() const {
    constexpr index_t limit = 256;
    return extents.length <= limit && extents.channels <= limit &&
           extents.length * extents.channels <= limit;
  }
  constexpr index_t longer_side() const { return std::max(extents.length, extents.channels); }
};

// Factor of the logits. Finite for any tau > 0.
template <class A>
constexpr A inverse_tau(double tau) {
  constexpr double limit = sizeof(A) == 4 ? 0x1p127 : 0x1p1023;
  double const inverse = 1 / tau;
  return static_cast<A>(inverse < limit ? inverse : limit);
}

// Valid rows and columns of a sample.
struct matrix_size {
  index_t rows, columns;

  // Sum of a column if rows sum to 1; 1 if there are no elements.
  template <class A>
  SLICESORT_HD A ratio() const {
    return static_cast<A>(quotient());
  }
  template <class A>
  SLICESORT_HD A inverse_ratio() const {
    return static_cast<A>(matrix_size{columns, rows}.quotient());
  }
  // Arithmetic: that of math/exponential.hpp.
  template <class A, class Arithmetic>
  SLICESORT_HD A log_ratio(Arithmetic& ops) const {
    return rows == columns ? A(0) : static_cast<A>(log_normal_value(ops, quotient()));
  }

 private:
  // 1 if there are no elements.
  SLICESORT_HD double quotient() const {
    return rows == 0 || columns == 0 ? 1 : static_cast<double>(rows) / static_cast<double>(columns);
  }
};

template <class Params>
SLICESORT_HD matrix_size size_of_sample(Params const& params, index_t batch) {
  extents3 const e = params.logits.extents();
  return {valid_rows(params.row_lengths, batch, e.length),
          valid_rows(params.column_lengths, batch, e.channels)};
}

template <class T>
struct sinkhorn_forward {
  using element = T;
  static constexpr char const* name = "sinkhorn.forward";
  double tau{};
  sinkhorn_steps steps{};
  tensor3<T const> logits{};
  tensor3<T> y{};
  tensor1<index_t const> row_lengths{}, column_lengths{};

  sinkhorn_shape shape() const { return {logits.extents(), steps.count}; }
};

template <class T>
struct sinkhorn_backward {
  using element = T;
  static constexpr char const* name = "sinkhorn.backward";
  double tau{};
  sinkhorn_steps steps{};
  tensor3<T const> dy{};
  tensor3<T const> logits{};
  tensor3<T> dlogits{};
  grad_mode mode{};
  tensor1<index_t const> row_lengths{}, column_lengths{};

  sinkhorn_shape shape() const { return {logits.extents(), steps.count}; }
};

struct sinkhorn_op {
  using shape = sinkhorn_shape;
  template <class T>
  using forward = sinkhorn_forward<T>;
  template <class T>
  using backward = sinkhorn_backward<T>;
};

SLICESORT_DETAIL_END

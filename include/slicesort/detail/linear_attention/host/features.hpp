// SPDX-License-Identifier: Apache-2.0
// Features of a tile of rows, and gradients through them.
#pragma once

#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/detail/linear_attention/host/custom_feature.hpp>
#include <slicesort/detail/linear_attention/host/simd_table.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// The memory of a tile's features: with what backward needs, or without.
template <class A>
struct feature_memory {
  A *x, *u, *phi;  // see feature_call
  A* ones;         // as many as a tile has rows, or w
  row_numbers_of_features<A> row;
  A *slope, *dphi, *du, *dx;

  feature_memory(arena& a, linear_attention_shape const& s, bool backward) {
    constexpr int rows = tile_rows_of_linear;
    linear_widths const width(s);
    auto const matrix = [&](index_t columns) {
      // A row's last block may begin within it, and reaches beyond.
      return a.take<A>(amount(rows) * columns + product_columns);
    };
    auto const numbers = [&](bool needed) { return a.take<A>(needed ? rows : 0); };
    using kind = feature_kind;
    kind const k = s.feature.kind;
    x = matrix(width.channels);
    u = matrix(width.w);
    phi = matrix(width.features);
    ones = a.take<A>(std::max<index_t>(rows, width.w));
    row.cosine = numbers(k == kind::cosine_reweighted);
    row.sine = numbers(k == kind::cosine_reweighted);
    row.half_square = numbers(k == kind::random_exp);
    row.maximum = numbers(k == kind::random_exp);
    row.factor = numbers(is_random(k));
    row.ratio = numbers(k == kind::random_fourier);
    slope = du = dphi = dx = nullptr;
    if (!backward) return;
    slope = matrix(width.w);
    du = matrix(width.w);
    dphi = matrix(width.features);
    dx = matrix(width.channels);
  }
};

// The matrix of random features of a head, and its gradient of one sample and head.
template <class A>
struct w_memory {
  A *rows = nullptr, *columns = nullptr;  // [f][channel], [channel][f]
  A* gradient = nullptr;                  // [f][channel]

  w_memory() = default;
  w_memory(arena& a, linear_attention_shape const& s) {
    linear_widths const width(s);
    rows = a.take<A>(amount(padded_columns(s.feature.rows_of_w)) * width.channels);
    columns = a.take<A>(amount(s.feature.rows_of_w > 0 ? width.channels : 0) * width.w);
  }
};

// Forms features of one head's rows.
template <class T>
class tile_features {
 public:
  using A = accumulator_t<T>;
  using kernels = linear_attention_kernels<T>;

  tile_features(kernels const& use, linear_attention_shape const& s, custom_feature<A> const& own,
                w_memory<A> const& w, attention_head const& head)
      : use_(use), io_(use), of_(s.feature), width_(s), own_(own), w_(w), head_(head) {}

  // Loads the matrix of the head.
  void load_w(tensor3<T const> w) const {
    index_t const r = of_.rows_of_w;
    if (r == 0 || of_.channels == 0) return;
    strides3 const s = w.strides();
    T const* const from = w_of_head(w, head_.head);
    index_t const rows = padded_columns(r);
    std::fill(w_.rows, w_.rows + rows * width_.channels, A(0));
    io_.load(from, s.length, s.channels, r, of_.channels, w_.rows, width_.channels);
    use_.transposed(w_.rows, width_.channels, rows, width_.channels, w_.columns, width_.w);
  }

  // Loads rows [first, first + rows) and, of random features, what the features are made of.
  void load(feature_memory<A> const& m, tensor4<T const> from, index_t first, int rows) const {
    int const padded = static_cast<int>(padded_rows(rows));
    io_.load(head_, from, first, rows, m.x, width_.channels, padded);
    if (is_random(of_.kind)) {
      scale_rows(m, padded);
      multiply({{m.x, width_.channels, 1},
                {w_.columns, width_.w},
                {m.u, width_.w},
                {padded, static_cast<int>(width_.w), of_.channels}});
    } else {
      find_angles(m, first, rows);
    }
  }
  // What random_exp's features are relative to, if each row is by itself.
  void find_maxima(feature_memory<A> const& m, int rows) const {
    use_.row_maxima(m.u, width_.w, of_.rows_of_w, static_cast<int>(padded_rows(rows)),
                    m.row.maximum);
  }
  // Features of the rows that were loaded; with the slopes that `pull` needs, or without.
  void map(feature_memory<A> const& m, index_t first, int rows, bool slopes) const {
    int const padded = static_cast<int>(padded_rows(rows));
    if (of_.kind != feature_kind::own) return use_.map(call(m, padded, slopes));
    for (int i = 0; i < padded; ++i) {
      A* const phi = m.phi + i * width_.features;
      index_t const from = i < rows ? of_.count : 0;
      if (i < rows) own_.map(own_.self, row_at(first + i), m.x + i * width_.channels, phi);
      std::fill(phi + from, phi + width_.features, A(0));
    }
  }
  // Both, of features that are relative to no maximum; where a feature is one of a single number, a
  // few rows at a time, so that the next ones arrive while features are formed.
  void load_and_map(feature_memory<A> const& m, tensor4<T const> from, index_t first, int rows,
                    bool slopes) const {
    if (of_.kind == feature_kind::own || is_random(of_.kind)) {
      load(m, from, first, rows);
      return map(m, first, rows, slopes);
    }
    find_angles(m, first, rows);
    row_numbers_of_features<A> row = m.row;
    feature_call<A> some = call(m, product_rows, slopes);
    some.row = &row;
    for (int i = 0; i < rows; i += product_rows) {
      A* const x = m.x + (slopes ? i * width_.channels : 0);  // only slopes need them again
      io_.load(head_, from, first + i, std::min(rows - i, product_rows), x, width_.channels,
               product_rows);
      if (row.cosine != nullptr) row.cosine = m.row.cosine + i, row.sine = m.row.sine + i;
      some.x.data = x;
      some.phi.data = m.phi + i * width_.features;
      use_.map(some);
    }
  }

  // From m.dphi the gradient of the rows, which is stored, and that of w, which is added up.
  void pull(feature_memory<A> const& m, index_t first, int rows, tensor4<T> to,
            grad_mode mode) const {
    int const padded = static_cast<int>(padded_rows(rows));
    if (of_.kind == feature_kind::own) {
      for (int i = 0; i < rows; ++i)
        own_.pull(own_.self, row_at(first + i), m.x + i * width_.channels,
                  m.dphi + i * width_.features, m.dx + i * width_.channels);
    } else if (is_random(of_.kind)) {
      use_.pull({call(m, padded, true), m.dphi, {m.du, width_.w}});
      if (w_.gradient != nullptr) add_gradient_of_w(m, rows);
      if (to.data() != nullptr) pull_products(m, padded);
    } else {
      use_.pull({call(m, padded, true), m.dphi, {m.dx, width_.channels}});
    }
    if (to.data() != nullptr) io_.store(m.dx, width_.channels, head_, to, first, rows, mode);
  }

 private:
  void find_angles(feature_memory<A> const& m, index_t first, int rows) const {
    if (of_.kind != feature_kind::cosine_reweighted) return;
    index_t const padded = padded_rows(rows);
    use_.angles(first, head_.longer(), rows, m.row.cosine, m.row.sine);
    std::fill(m.row.cosine + rows, m.row.cosine + padded, A(0));
    std::fill(m.row.sine + rows, m.row.sine + padded, A(0));
  }
  feature_row row_at(index_t row) const {
    return {row, head_.longer(), static_cast<index_t>(of_.channels)};
  }
  feature_call<A> call(feature_memory<A> const& m, int rows, bool slopes) const {
    bool const random = is_random(of_.kind);
    feature_call<A> c;
    c.of = &of_;
    c.row = &m.row;
    c.rows = rows;
    c.x = {m.x, width_.channels};
    c.u = {random ? m.u : nullptr, width_.w};
    c.phi = {m.phi, width_.features};
    c.slope = slopes && random ? m.slope : nullptr;
    return c;
  }
  void multiply(product_params<A> const& p) const {
    if (p.size.rows > 0 && p.size.columns > 0) use_.multiply(p);
  }

  // Rows of x's width times their factors.
  void scale(A* rows, int padded, A const* factors) const {
    pitched_rows<A> const all{rows, width_.channels};
    use_.scale_rows({{rows, all.pitch}, {padded, all.pitch}, factors, all});
  }
  void dots(pitched_rows<A const> a, pitched_rows<A const> b, int padded, A* to) const {
    use_.row_dots({a, b, {padded, a.pitch}, to});
  }

  // x becomes z.
  void scale_rows(feature_memory<A> const& m, int padded) const {
    using kind = feature_kind;
    if (of_.kind == kind::random_relu) return;
    if (of_.kind == kind::random_exp) {
      std::fill(m.row.factor, m.row.factor + padded, of_.scale_of_x);
    } else {
      squares(m, padded, m.row.factor);
      single_arithmetic<A> ops;
      for (int i = 0; i < padded; ++i) {
        A const norm = row_norm(ops, m.row.factor[i], width_.channels,
                                contiguous_row<A>{m.x + i * width_.channels});
        m.row.factor[i] = fourier_scale(ops, norm, of_.eps);
        m.row.ratio[i] = norm > A(0) ? ops.divide(fourier_divisor(ops, norm, of_.eps), norm) : A(0);
      }
    }
    scale(m.x, padded, m.row.factor);
    if (of_.kind != kind::random_exp) return;
    squares(m, padded, m.row.half_square);
    for (int i = 0; i < padded; ++i) m.row.half_square[i] *= A(0.5);
  }
  void squares(feature_memory<A> const& m, int padded, A* to) const {
    dots({m.x, width_.channels}, {m.x, width_.channels}, padded, to);
  }

  void add_gradient_of_w(feature_memory<A> const& m, int rows) const {
    product_params<A> p{
        {m.du, 1, width_.w},
        {m.x, width_.channels},
        {w_.gradient, width_.channels},
        {static_cast<int>(padded_rows(of_.rows_of_w)), static_cast<int>(width_.channels), rows}};
    p.epilogue.accumulate = p.epilogue.separate_sum = true;
    multiply(p);
  }
  void pull_products(feature_memory<A> const& m, int padded) const {
    using kind = feature_kind;
    multiply({{m.du, width_.w, 1},
              {w_.rows, width_.channels},
              {m.dx, width_.channels},
              {padded, static_cast<int>(width_.channels), of_.rows_of_w}});
    if (of_.kind == kind::random_relu) return;
    A along[tile_rows_of_linear];
    if (of_.kind == kind::random_exp) {
      dots({m.du, width_.w}, {m.ones, 0}, padded, along);
    } else {
      clear_rest<A>({m.dx, width_.channels}, of_.channels, padded);
      dots({m.dx, width_.channels}, {m.x, width_.channels}, padded, along);
      for (int i = 0; i < padded; ++i) along[i] *= m.row.ratio[i];
    }
    for (int i = 0; i < padded; ++i) along[i] = -along[i];
    use_.add_rows_times(
        {{m.x, width_.channels}, {padded, width_.channels}, along, {m.dx, width_.channels}});
    scale(m.dx, padded, m.row.factor);
  }

  kernels const& use_;
  row_access<T> const io_;
  feature_constants<A> const of_;
  linear_widths const width_;
  custom_feature<A> const& own_;
  w_memory<A> const& w_;
  attention_head const& head_;
};

SLICESORT_DETAIL_END

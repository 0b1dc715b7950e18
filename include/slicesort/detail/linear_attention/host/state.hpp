// SPDX-License-Identifier: Apache-2.0
// The memory of a task of linear_attention on the host, and the steps that both directions share.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/row_io.hpp>
#include <slicesort/detail/linear_attention/host/features.hpp>
#include <slicesort/detail/linear_attention/host/head.hpp>
#include <slicesort/detail/linear_attention/host/kernels.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// Sums over rows: S and Z, or their gradients U and u.
template <class A>
struct linear_sums {
  A* matrix;      // [feature][value]
  A* transposed;  // [value][feature]
  A* row;         // [feature]

  linear_sums(detail::arena& a, detail::linear_attention_shape const& s, bool wanted) {
    linear_widths const width(s);
    detail::amount const all = detail::amount(wanted ? width.features : 0) * width.values;
    matrix = a.take<A>(all);
    transposed = a.take<A>(all);
    row = a.take<A>(wanted ? width.features : 0);
  }
  void clear(linear_widths const& width) const {
    std::fill(matrix, matrix + width.features * width.values, A(0));
    std::fill(transposed, transposed + width.features * width.values, A(0));
    std::fill(row, row + width.features, A(0));
  }
};

// What a thread needs for one head.
template <class A>
struct linear_slot {
  feature_memory<A> queries, keys;
  w_memory<A> w;
  linear_sums<A> sums, gradients;
  A *values, *results;         // [row][value]: of keys, or of queries; y, or dv
  A* of_queries;               // [row][value]: g
  A *d, *inverse, *c;          // of a tile's queries
  A* factors;                  // of a tile's rows
  A *weights, *products;       // where causal [query][key]: P, G
  A *lanes, *lanes_of_values;  // where causal phi(k) and v with a key in each lane
  A* running;                  // where causal [row][feature]: Z of every query
  A* weighted;                 // where causal [row][feature]: features times row factors
  A* weighted_values;          // likewise [row][value]
  A* maxima;                   // of random_exp: of all keys together; where causal of each
  A *inverses, *cs;            // where causal, backward: of all queries

  linear_slot(detail::arena& a, detail::linear_attention_shape const& s, bool backward)
      : queries(a, s, backward),
        keys(a, s, backward),
        w(a, s),
        sums(a, s, true),
        gradients(a, s, backward) {
    constexpr int rows = tile_rows_of_linear;
    linear_widths const width(s);
    using detail::amount;
    auto const matrix = [&](index_t columns, bool needed = true) {
      return a.take<A>(needed ? amount(rows) * columns : amount(0));
    };
    bool const causal = s.causal, twice = causal && backward;
    values = matrix(width.values);
    results = matrix(width.values);
    of_queries = matrix(width.values, backward);
    d = a.take<A>(rows), inverse = a.take<A>(rows), c = a.take<A>(rows);
    factors = a.take<A>(rows);
    weights = matrix(rows, causal);
    products = matrix(rows, twice);
    lanes = matrix(width.features, causal);
    lanes_of_values = matrix(width.values, twice);
    running = matrix(width.features, twice);
    weighted = matrix(width.features, causal && s.feature.has_maximum());
    weighted_values = matrix(width.values, twice && s.feature.has_maximum());
    maxima = a.take<A>(!s.feature.has_maximum() ? 0 : twice ? s.keys : 1);
    inverses = a.take<A>(twice ? s.queries : 0);
    cs = a.take<A>(twice ? s.queries : 0);
  }
};

// What all tasks of a call share.
template <class T>
struct linear_setting {
  linear_attention_kernels<T> const& use;
  detail::linear_attention_shape const& shape;
  detail::linear_attention_lengths const& lengths;
  detail::divisor_rule divisor;
  own_feature<detail::accumulator_t<T>> const& own;
};

// One head of a call, and what its task has at hand.
template <class T>
class linear_task {
 public:
  using A = detail::accumulator_t<T>;
  static constexpr int tile = tile_rows_of_linear;

  linear_task(linear_setting<T> const& of, linear_slot<A> const& slot, index_t pair)
      : use(of.use),
        io(of.use),
        shape(of.shape),
        width(of.shape),
        m(slot),
        divisor(of.divisor),
        head(of.lengths, of.shape, pair),
        features(of.use, of.shape, of.own, slot.w, head) {
    index_t const ones = std::max<index_t>(tile, width.w);
    std::fill(m.queries.ones, m.queries.ones + ones, A(1));
    std::fill(m.keys.ones, m.keys.ones + ones, A(1));
    m.sums.clear(width);
  }

  linear_attention_kernels<T> const& use;
  row_io<T> const io;
  detail::linear_attention_shape const& shape;
  linear_widths const width;
  linear_slot<A> const& m;
  detail::divisor_rule const divisor;
  linear_head const head;
  tile_features<T> const features;

  static int rows_of_tile(index_t first, index_t valid) {
    return static_cast<int>(std::clamp<index_t>(valid - first, 0, tile));
  }
  // Rows of v's width in m.values, filled up with zeros to `padded` rows.
  pitched_rows<A const> load_values(tensor4<T const> from, index_t first, int rows,
                                    int padded) const {
    io.load(head, from, first, rows, m.values, width.values, padded);
    return {m.values, width.values};
  }
  // Each row times its factor.
  void scale(pitched_rows<A const> from, int rows, A const* factors, A* to) const {
    use.scale_rows({from, {rows, from.pitch}, factors, {to, from.pitch}});
  }
  // Each row of features plus `factors` times another, which all may have in common.
  void add_features(pitched_rows<A const> other, int rows, A const* factors, A* to) const {
    use.add_rows_times({other, {rows, width.features}, factors, {to, width.features}});
  }
  // g of a tile's queries into m.of_queries.
  void load_gradient(tensor4<T const> dy, index_t first, int rows) const {
    int const padded = static_cast<int>(padded_rows(rows));
    io.load(head, dy, first, rows, m.of_queries, width.values, padded);
    scale({m.of_queries, width.values}, rows, m.inverse, m.of_queries);
  }

  void multiply(product_call<A> const& p) const {
    if (p.size.rows > 0 && p.size.columns > 0) use.multiply(p);
  }
  // c = a b, where a and c have the rows of a tile.
  void multiply_rows(pitched_rows<A const> a, index_t depth, pitched_rows<A const> b, A* c,
                     index_t columns, int rows) const {
    multiply({{a.data, a.pitch, 1},
              b,
              {c, columns},
              {static_cast<int>(padded_rows(rows)), static_cast<int>(columns), depth}});
  }
  // What the rows of a tile add to sums: matrix = matrix * kept + left^T right, and
  // row = row * kept + left^T weights.
  void add_tile(linear_sums<A> const& to, A const* left, pitched_rows<A const> right,
                A const* weights, int rows, A kept) const {
    product_call<A> p{
        {left, 1, width.features},
        right,
        {to.matrix, width.values},
        {static_cast<int>(padded_rows(shape.feature.count)), static_cast<int>(width.values), rows}};
    p.end.adds = p.end.apart = true;
    p.end.kept = kept;
    multiply(p);
    use.column_sums({{left, width.features}, {rows, width.features}, weights, to.row, kept});
  }
  void transpose(linear_sums<A> const& of) const {
    use.transposed(of.matrix, width.values, width.features, width.values, of.transposed,
                   width.features);
  }

  // <phi, Z> of each query, where all queries have the same Z, or each has its own.
  void dot_features(A const* phi, A const* z, index_t z_pitch, int rows, A* to) const {
    use.row_dots({{phi, width.features}, {z, z_pitch}, {rows, width.features}, to});
  }
  // The same with the gradient of the features, from S g: m.d.
  void dot_gradient(A const* phi, A* gradient, int rows) const {
    clear_rest<A>({gradient, width.features}, shape.feature.count, rows);
    dot_features(phi, gradient, width.features, rows, m.d);
  }
  // From d what a query's sums are multiplied by, and that times the slope of the divisor.
  void divide(int rows, A* slopes) const {
    single_arithmetic<A> const on;
    for (int i = 0; i < rows; ++i) {
      auto const by = detail::divide_by(on, divisor, m.d[i]);
      m.inverse[i] = by.inverse;
      slopes[i] = by.slope;
    }
  }
  void store_results(tensor4<T> to, index_t first, int rows, grad_mode mode) const {
    io.store(m.results, width.values, head, to, first, rows, mode);
  }
  // y of a tile's queries, from their sums.
  void store_divided(tensor4<T> y, index_t first, int rows) const {
    if (y.extents().channels == 0) return;
    if (y.strides().channels == 1)
      return use.store_scaled(m.results, width.values, rows, y.extents().channels, m.inverse,
                              head.at(y, first), y.strides().length);
    scale({m.results, width.values}, rows, m.inverse, m.results);
    store_results(y, first, rows, grad_mode::overwrite);
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

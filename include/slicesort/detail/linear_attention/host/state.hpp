// SPDX-License-Identifier: Apache-2.0
// The task of one head of linear_attention on the host: the steps that both directions share.
#pragma once

#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/linear_attention/host/custom_feature.hpp>
#include <slicesort/detail/linear_attention/host/features.hpp>
#include <slicesort/detail/linear_attention/host/memory.hpp>
#include <slicesort/detail/linear_attention/host/simd_table.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <optional>

SLICESORT_DETAIL_BEGIN

// What all tasks of a call share.
template <class T>
struct linear_setting {
  linear_attention_kernels<T> const& use;
  linear_attention_shape const& shape;
  attention_lengths const& lengths;
  divisor_config divisor;
  custom_feature<accumulator_t<T>> const& own;
};

// One head of a call, and what its task has at hand.
template <class T>
class linear_task {
 public:
  using A = accumulator_t<T>;
  static constexpr int tile = tile_rows_of_linear;

  linear_task(linear_setting<T> const& of, linear_slot<A> const& slot, index_t pair)
      : use(of.use),
        io(of.use),
        shape(of.shape),
        width(of.shape),
        m(slot),
        divisor(of.divisor),
        head(of.lengths, of.shape, pair),
        features(of.use, of.shape, of.own, m.w, head) {
    index_t const ones = std::max<index_t>(tile, width.w);
    std::fill(m.queries.ones, m.queries.ones + ones, A(1));
    std::fill(m.keys.ones, m.keys.ones + ones, A(1));
    m.sums.clear(width);
  }

  linear_attention_kernels<T> const& use;
  row_access<T> const io;
  linear_attention_shape const& shape;
  linear_widths const width;
  linear_slot<A> const m;
  divisor_config const divisor;
  attention_head const head;
  tile_features<T> const features;

  static int rows_of_tile(index_t first, index_t valid) {
    return static_cast<int>(std::clamp<index_t>(valid - first, 0, tile));
  }
  bool has_maximum() const { return shape.feature.has_maximum(); }
  // Features of a tile's queries.
  void map_queries(tensor4<T const> q, index_t first, int rows, bool slopes) const {
    if (!has_maximum()) return features.load_and_map(m.queries, q, first, rows, slopes);
    features.load(m.queries, q, first, rows);
    features.find_maxima(m.queries, rows);
    features.map(m.queries, first, rows, slopes);
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

  void multiply(product_params<A> const& p) const {
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
    product_params<A> p{
        {left, 1, width.features},
        right,
        {to.matrix, width.values},
        {static_cast<int>(padded_rows(shape.feature.count)), static_cast<int>(width.values), rows}};
    p.epilogue.accumulate = p.epilogue.separate_sum = true;
    p.epilogue.c_scale = kept;
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
    single_arithmetic<A> const ops;
    for (int i = 0; i < rows; ++i) {
      auto const by = divide_by(ops, divisor, m.d[i]);
      m.inverse[i] = by.inverse;
      slopes[i] = by.slope;
    }
  }
  // Gradients of the rows that are not valid.
  void clear_rest_of(linear_attention_gradients<T> const& to, grad_mode mode) const {
    io.clear(head, to.dq, head.queries, shape.queries, mode);
    io.clear(head, to.dk, head.keys, shape.keys, mode);
    io.clear(head, to.dv, head.keys, shape.keys, mode);
  }
  void store_results(tensor4<T> to, index_t first, int rows, grad_mode mode) const {
    io.store(m.results, width.values, head, to, first, rows, mode);
  }
  // y of a tile's queries, from their sums.
  void store_divided(tensor4<T> y, index_t first, int rows) const {
    if (y.extents().channels == 0) return;
    T* const to = head.at(y, first);
    auto const store = fits_streaming<T>(to, y) ? use.store_scaled_around : use.store_scaled;
    if (y.strides().channels == 1)
      return store(m.results, width.values, rows, y.extents().channels, m.inverse, to,
                   y.strides().length);
    scale({m.results, width.values}, rows, m.inverse, m.results);
    store_results(y, first, rows, grad_mode::overwrite);
  }
};

// Heads of a sample whose tiles are interleaved. A `Task` computes one head; all have as many rows,
// since lengths are those of a sample.
template <class Task>
class head_group {
 public:
  using task = Task;

  template <class... Arguments>
  void add(Arguments const&... of_task) {
    tasks_[count_++].emplace(of_task...);
  }
  Task const& first() const { return *tasks_[0]; }

  template <class F>
  void each(F const& f) {
    for (int h = 0; h < count_; ++h) f(*tasks_[h]);
  }
  // f(task, row) for the first row of every tile and every head; or from the last tile on.
  template <class F>
  void each_tile(index_t rows, F const& f) {
    for (index_t row = 0; row < rows; row += tile_rows_of_linear)
      each([&](Task& one) { f(one, row); });
  }
  template <class F>
  void each_tile_back(index_t rows, F const& f) {
    constexpr int tile = tile_rows_of_linear;
    for (index_t row = (rows + tile - 1) / tile * tile; (row -= tile) >= 0;)
      each([&](Task& one) { f(one, row); });
  }

 private:
  std::optional<Task> tasks_[most_heads_together];
  int count_ = 0;
};

SLICESORT_DETAIL_END

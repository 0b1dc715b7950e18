// SPDX-License-Identifier: Apache-2.0
// Kernels of soft_sort and soft_rank: one thread per column. Neighboring threads take neighboring
// columns, and the stacks of their pools are interleaved, so accesses by row are coalesced.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/soft_sort/params.hpp>
#include <slicesort/detail/soft_sort/pools.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Arithmetic of pools.hpp on a block.
template <class Block>
struct block_pool_math {
  Block& block;

  SLICESORT_HD_INLINE double multiply_add(double a, double b, double c) const {
    return block.multiply_add(a, b, c);
  }
  SLICESORT_HD_INLINE double product(double a, double b) const {
    return block.multiply_add(a, b, -0.0);
  }
  SLICESORT_HD_INLINE double divide(double a, double b) const { return block.divide(a, b); }
};

// Columns [first, first + count) of a launch, and their memory: element r of column i is at
// [r * count + i].
template <class T>
struct soft_columns {
  index_t first, count;
  std::uint32_t* starts;
  double *sums, *weights;
  T* results;

  SLICESORT_HD pool_stack stack(index_t i) const {
    return {starts + i, sums + i, weights + i, count};
  }
  SLICESORT_HD T& result(index_t i, index_t row) const { return results[row * count + i]; }
};

// Replaces sorted values by those of the regression, or by the ranks of the source rows.
template <class T, class Order, bool Ranks>
struct solve_columns_kernel {
  static constexpr int max_threads = 64;

  soft_sort_config<Order> config;
  double inverse_strength;
  tensor3<T> y;
  index_rows perm;   // read by soft_rank
  index_rows pools;  // null: not written
  tensor1<index_t const> lengths;
  soft_columns<T> columns;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const i = block.index() * block.size() + block.rank();
    if (i >= columns.count) return;
    column_index const column = column_index_of(columns.first + i, y.extents().channels);
    if (config.entropic)
      solve<true>(block, i, column);
    else
      solve<false>(block, i, column);
  }

 private:
  template <bool Entropic, class Block>
  SLICESORT_HD void solve(Block& block, index_t i, column_index column) const {
    index_t const length = y.extents().length, rows = valid_rows(lengths, column.batch, length);
    column_of<T> const values(y, column);
    bool const is_ascending = ascends(config.order, column.channel, y.extents().channels);
    double const sign = is_ascending != Ranks ? -1 : 1;
    // soft_rank reads the sorted rows from the last to the first.
    auto const value = [&](index_t row) {
      return sign * widened(static_cast<T const&>(values[Ranks ? rows - 1 - row : row]));
    };
    block_pool_math<Block> math{block};
    isotonic_regression<Ranks, Entropic> const regression(inverse_strength, rows, value);
    double const first = Entropic && Ranks && rows > 0 ? value(0) : 0;
    auto const exponential = [&](index_t row) {
      return exp_at_most_one(math, regression.exponent(value(row), first));
    };
    pool_stack const stack = columns.stack(i);
    bool const is_hard = !Ranks && config.strength == 0;
    index_t const count = is_hard ? 0 : regression.find_pools(math, value, exponential, stack);
    for (index_t k = 0; k < count; ++k) {
      index_t const end =
          k + 1 < count ? static_cast<index_t>(stack.starts[(k + 1) * stack.pitch]) : rows;
      row_pool const pool = stack.load(k, end, value);
      regression.for_each_result(math, pool, value, exponential, [&](index_t row, double result) {
        if constexpr (Ranks)
          columns.result(i, rows - 1 - row) = narrowed<T>(result);
        else
          values[row] = narrowed<T>(sign * result);
      });
      index_t const sorted = Ranks ? rows - pool.end : pool.start;
      store_pools(column, sorted, sorted + (pool.end - pool.start), sorted, 0);
    }
    store_pools(column, is_hard ? 0 : rows, length, is_hard ? 0 : rows, 1);
    if constexpr (Ranks) {
      index_column const source_rows(perm, column);
      for (index_t n = 0; n < rows; ++n)
        values[static_cast<index_t>(source_rows[n])] = columns.result(i, n);
      for (index_t n = rows; n < length; ++n) values[n] = T(0.0F);
    }
  }
  // Stores start, start + step, .. for rows [first, last).
  SLICESORT_HD void store_pools(column_index column, index_t first, index_t last, index_t start,
                                index_t step) const {
    if (!pools.is_present()) return;
    index_column const target(pools, column);
    for (index_t n = first; n < last; ++n, start += step)
      target.set(n, static_cast<std::uint32_t>(start));
  }
};

// Computes the gradient of each column.
template <class T, class Order, bool Ranks>
struct gradient_columns_kernel {
  static constexpr int max_threads = 64;

  soft_sort_config<Order> config;
  double inverse_strength;
  tensor3<T const> dy, x;
  index_rows perm, pools;
  tensor3<T> dx;
  grad_mode mode;
  tensor1<index_t const> lengths;
  soft_columns<T> columns;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const i = block.index() * block.size() + block.rank();
    if (i >= columns.count) return;
    column_index const column = column_index_of(columns.first + i, dy.extents().channels);
    index_t const length = dy.extents().length, rows = valid_rows(lengths, column.batch, length);
    if (config.entropic)
      compute_gradients<true>(block, i, column, rows);
    else
      compute_gradients<false>(block, i, column, rows);
    // dx may be dy, which has been read.
    index_column const source_rows(perm, column);
    column_of<T> const gradients(dx, column);
    for (index_t n = 0; n < rows; ++n)
      store_or_accumulate<Block>(mode, gradients[static_cast<index_t>(source_rows[n])],
                                 columns.result(i, n));
    column_of<T const> const output_gradients(dy, column);
    for (index_t n = rows; n < length; ++n)
      if (!Ranks)
        store_or_accumulate<Block>(mode, gradients[n], output_gradients[n]);
      else if (mode == grad_mode::overwrite)
        gradients[n] = T(0.0F);
  }

 private:
  template <bool Entropic, class Block>
  SLICESORT_HD void compute_gradients(Block& block, index_t i, column_index column,
                                      index_t rows) const {
    block_pool_math<Block> math{block};
    bool const is_ascending = ascends(config.order, column.channel, dy.extents().channels);
    pool_gradient<Ranks, Entropic> const gradients{inverse_strength,
                                                   is_ascending != Ranks ? -1.0 : 1.0};
    index_column const source_rows(perm, column), starts(pools, column);
    column_of<T const> const output_gradients(dy, column), values(x, column);
    auto const source = [&](index_t n) { return static_cast<index_t>(source_rows[n]); };
    auto const gradient = [&](index_t n) {
      return widened(output_gradients[Ranks ? source(n) : n]);
    };
    auto const value = [&](index_t n) { return widened(values[source(n)]); };
    for (index_t start = 0, end = 0; start < rows; start = end) {
      while (end < rows && static_cast<index_t>(starts[end]) == start) ++end;
      if (end - start > 1) {
        double* const exponentials = columns.stack(i).sums;
        if (Entropic)
          gradients.for_each_exponent(start, end, value, [&](index_t n, double exponent) {
            exponentials[n * columns.count] = exp_at_most_one(math, exponent);
          });
        gradients(math, start, end, exponentials, columns.count, gradient,
                  [&](index_t n, double result) { columns.result(i, n) = narrowed<T>(result); });
      } else {
        columns.result(i, start) = Ranks ? T(0.0F) : output_gradients[start];
        end = start + 1;
      }
    }
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Gradient of the weights, dweights(k - 1) = sum of dy * (P^k x), in double. Sums over the rows of
// each column, then over the columns, in a fixed order.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/permutation/device/chained_columns.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Returns sum + values[0] + values[pitch] + ... Batches the loads.
template <class Pitch>
SLICESORT_HD inline double add_in_order(double const* values, Pitch count, Pitch pitch,
                                        double sum) {
  constexpr int unrolled = 8;
  Pitch i = 0;
  for (; i + unrolled <= count; i += unrolled) {
    double next[unrolled];
    SLICESORT_UNROLL
    for (int k = 0; k < unrolled; ++k) next[k] = values[(i + k) * pitch];
    SLICESORT_UNROLL
    for (int k = 0; k < unrolled; ++k) sum += next[k];
  }
  for (; i < count; ++i) sum += values[i * pitch];
  return sum;
}

// Sums each column, for some components per pass: all threads multiply, one row each, then one
// thread per column and component adds the products.
template <class T, bool InShared>
struct weights_gradient_kernel {
  static constexpr int max_threads = 256;
  static constexpr int max_components_per_pass = 4;
  using A = accumulator_t<T>;

  chained_columns<T, InShared> x;
  tensor3<T const> dy;
  double* sums;  // [columns, components]
  index_t components;
  int components_per_pass;  // components_per_pass * width <= threads
  int threads;

  struct shared_buffers {
    typename chained_columns<T, InShared>::tile tile;
    double* products;            // [components_per_pass, row threads, width]
    std::uint32_t* column_rows;  // valid rows of each column
  };
  template <class SharedAllocator>
  SLICESORT_HD shared_buffers shared(SharedAllocator& allocator) const {
    auto const tile = x.shared(allocator);
    double* const products = allocator.template allocate<double>(
        static_cast<std::size_t>(components_per_pass) * static_cast<std::size_t>(threads));
    return {tile, products,
            allocator.template allocate<std::uint32_t>(static_cast<std::size_t>(x.width))};
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = x.thread_work_of(block);
    shared_buffers const buffers = shared(block);
    auto const column = x.load_column(block, buffers.tile, work);
    column_of<T const> const gradient(dy, work.column);
    // Row indices fit in 32 bits, because there are at most 2^31 rows.
    auto const length = static_cast<std::uint32_t>(dy.extents().length);
    auto const first_row = static_cast<std::uint32_t>(work.first);
    auto const row_step = static_cast<std::uint32_t>(work.step);
    auto const valid_row_count = static_cast<std::uint32_t>(work.valid);

    // The thread sums column `summed_column`, but multiplies rows of column `multiplied_column`.
    int const summed_column = block.rank() % x.width, component = block.rank() / x.width;
    int const multiplied_column =
        thread_mapping(block.rank(), block.size(), x.width, x.rows_adjacent).column;
    double* const product =
        buffers.products + static_cast<int>(first_row) * x.width + multiplied_column;
    if (first_row == 0) buffers.column_rows[multiplied_column] = valid_row_count;

    for (index_t first_component = 0; first_component < components;
         first_component += components_per_pass) {
      index_t const remaining = components - first_component;
      int const pass_components =
          remaining < components_per_pass ? static_cast<int>(remaining) : components_per_pass;
      double sum = 0;
      for (std::uint32_t n = first_row; n - first_row < length; n += row_step) {
        if (n < valid_row_count)
          store_products(column, gradient, n, first_component, pass_components, product);
        block.sync();
        std::uint32_t const step_row = n - first_row;
        if (component < pass_components && step_row < buffers.column_rows[summed_column]) {
          std::uint32_t const remaining_rows = buffers.column_rows[summed_column] - step_row;
          sum =
              add_in_order(buffers.products + component * threads + summed_column,
                           static_cast<int>(remaining_rows < row_step ? remaining_rows : row_step),
                           x.width, sum);
        }
        block.sync();
      }
      index_t const flat_column = block.index() * x.width + summed_column;
      if (component < pass_components && flat_column < dy.extents().batch * dy.extents().channels)
        sums[flat_column * components + first_component + component] = sum;
    }
  }

 private:
  // Stores the products of row n for the components of a pass, `threads` elements apart.
  SLICESORT_HD void store_products(chained_column<T, InShared> const& column,
                                   column_of<T const> gradient, std::uint32_t n,
                                   index_t first_component, int pass_components,
                                   double* product) const {
    auto const factor = static_cast<double>(static_cast<A>(gradient[n]));
    auto row = static_cast<typename chained_columns<T, InShared>::row>(n);
    for (index_t k = 1; k <= first_component + pass_components; ++k) {
      row = column.next(row);
      if (k <= first_component) continue;
      *product = factor * static_cast<double>(static_cast<A>(column.value(row)));
      product += threads;
    }
  }
};

// Sums the columns, one thread per component.
template <class A>
struct add_columns_kernel {
  static constexpr int max_threads = 32;

  double const* sums;  // [columns, components]
  index_t columns, components;
  tensor1<A> dweights;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const component = block.index() * block.size() + block.rank();
    if (component >= components) return;
    double sum = mode == grad_mode::overwrite ? 0 : static_cast<double>(dweights(component));
    sum = add_in_order(sums + component, columns, components, sum);
    dweights(component) = rounded<A>(sum);
  }
};

SLICESORT_DETAIL_END

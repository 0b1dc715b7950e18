// SPDX-License-Identifier: Apache-2.0
// The gradient of the weights, dweights(k - 1) = sum of dy * (P^k x), in double: over the rows of
// each column in order, then over the columns in order. Another order would give other bits.
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

// sum + v[0] + v[pitch] + .., with the loads ahead of the additions.
template <class Pitch>
SLICESORT_HD inline double add_in_order(double const* v, Pitch count, Pitch pitch, double sum) {
  constexpr int at_once = 8;
  Pitch i = 0;
  for (; i + at_once <= count; i += at_once) {
    double next[at_once];
    SLICESORT_UNROLL
    for (int k = 0; k < at_once; ++k) next[k] = v[(i + k) * pitch];
    SLICESORT_UNROLL
    for (int k = 0; k < at_once; ++k) sum += next[k];
  }
  for (; i < count; ++i) sum += v[i * pitch];
  return sum;
}

// The sums of every column. First all threads multiply, one row each, for some of the terms; then
// one thread for every column and term adds.
template <class T, bool InShared>
struct weights_gradient_kernel {
  static constexpr int max_threads = 256;
  static constexpr int max_terms_at_once = 4;
  using A = accumulator_t<T>;

  chained_columns<T, InShared> x;
  tensor3<T const> dy;
  double* sums;  // [columns, terms]
  index_t terms;
  int terms_at_once;  // times the width of the tile: at most `threads`
  int threads;

  struct memory {
    typename chained_columns<T, InShared>::tile tile;
    double* products;     // [terms_at_once, row threads, width]
    std::uint32_t* rows;  // of the tile's columns
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    auto const tile = x.shared(shared_memory);
    double* const products = shared_memory.template allocate<double>(
        static_cast<std::size_t>(terms_at_once) * static_cast<std::size_t>(threads));
    return {tile, products,
            shared_memory.template allocate<std::uint32_t>(static_cast<std::size_t>(x.width))};
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const here = x.thread_work_of(block);
    memory const m = shared(block);
    auto const column = x.open(block, m.tile, here);
    column_of<T const> const d(dy, here.column);
    // Rows are numbered in 32 bits: there are at most 2^31.
    auto const length = static_cast<std::uint32_t>(dy.extents().length);
    auto const begin = static_cast<std::uint32_t>(here.first);
    auto const step = static_cast<std::uint32_t>(here.step);
    auto const valid = static_cast<std::uint32_t>(here.valid);

    // The column that this thread adds up is not the one whose rows it multiplies.
    int const lane = block.rank() % x.width, term = block.rank() / x.width;
    int const column_here = tile_walk(block.rank(), block.size(), x.width, x.rows_adjacent).column;
    double* const product = m.products + static_cast<int>(begin) * x.width + column_here;
    if (begin == 0) m.rows[column_here] = valid;

    for (index_t first_term = 0; first_term < terms; first_term += terms_at_once) {
      index_t const left = terms - first_term;
      int const count = left < terms_at_once ? static_cast<int>(left) : terms_at_once;
      double sum = 0;
      for (std::uint32_t n = begin; n - begin < length; n += step) {
        if (n < valid) multiply(column, d, n, first_term, count, product);
        block.sync();
        std::uint32_t const first = n - begin;
        if (term < count && first < m.rows[lane]) {
          std::uint32_t const rest = m.rows[lane] - first;
          sum = add_in_order(m.products + term * threads + lane,
                             static_cast<int>(rest < step ? rest : step), x.width, sum);
        }
        block.sync();
      }
      index_t const number = block.index() * x.width + lane;
      if (term < count && number < dy.extents().batch * dy.extents().channels)
        sums[number * terms + first_term + term] = sum;
    }
  }

 private:
  // Writes the products of row n, one for every term, at a distance of `threads`.
  SLICESORT_HD void multiply(chained_column<T, InShared> const& column, column_of<T const> d,
                             std::uint32_t n, index_t first_term, int count,
                             double* product) const {
    auto const factor = static_cast<double>(static_cast<A>(d[n]));
    auto at = static_cast<typename chained_columns<T, InShared>::row>(n);
    for (index_t k = 1; k <= first_term + count; ++k) {
      at = column.next(at);
      if (k <= first_term) continue;
      *product = factor * static_cast<double>(static_cast<A>(column.value(at)));
      product += threads;
    }
  }
};

// One thread for every term adds up the columns, beginning with dweights where it accumulates.
template <class A>
struct add_columns_kernel {
  static constexpr int max_threads = 32;

  double const* sums;  // [columns, terms]
  index_t columns, terms;
  tensor1<A> dweights;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const term = block.index() * block.size() + block.rank();
    if (term >= terms) return;
    double sum = mode == grad_mode::overwrite ? 0 : static_cast<double>(dweights(term));
    sum = add_in_order(sums + term, columns, terms, sum);
    dweights(term) = rounded<A>(sum);
  }
};

SLICESORT_DETAIL_END

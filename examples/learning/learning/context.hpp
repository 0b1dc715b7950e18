// SPDX-License-Identifier: Apache-2.0
// The context of a training or test step: threads, memory, and inputs of several layers.
#pragma once

#include "learning/memory.hpp"
#include "learning/task.hpp"
#include "support/thread_pool.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

namespace learning {

namespace ss = slicesort;
using ss::extents3, ss::extents4, ss::stack_extents;
using ss::tensor1, ss::tensor3, ss::tensor4, ss::tensor_stack;

/// A matrix `[rows, columns]` whose rows are `stride` elements apart. `sample_rows` tells which
/// rows of a batch are padding.
template <class T>
struct matrix {
  T* data = nullptr;
  index_t rows = 0, columns = 0, stride = 0;
  index_t sample_rows = 0;  ///< rows per sample; 0: no row is padding

  matrix() = default;
  matrix(T* first, index_t row_count, index_t column_count, index_t row_stride)
      : data(first), rows(row_count), columns(column_count), stride(row_stride) {}
  matrix(T* first, index_t row_count, index_t column_count)
      : matrix(first, row_count, column_count, column_count) {}
  template <class U, class = std::enable_if_t<std::is_same_v<U const, T>>>
  matrix(matrix<U> other) : matrix(other.data, other.rows, other.columns, other.stride) {
    sample_rows = other.sample_rows;
  }

  T* row(index_t r) const { return data + r * stride; }
  matrix slice(index_t first, index_t count) const { return {row(first), count, columns, stride}; }
};

/// The rows of all samples as a matrix. Requires evenly spaced rows.
template <class T>
matrix<T> flat(tensor3<T> x) {
  extents3 const e = x.extents();
  matrix<T> result(x.data(), e.batch * e.length, e.channels, x.strides().length);
  result.sample_rows = e.length;
  return result;
}

/// Samples of a task. Does not own their memory.
template <class T>
struct batch {
  index_t size = 0;
  sample_shape shape{};
  std::int32_t const* tokens = nullptr;  ///< `[size, length]`, or
  T const* features = nullptr;           ///< `[size, length, features]`
  tensor1<index_t const> lengths{};      ///< `[size]`; empty: no padding
  std::int32_t const* labels = nullptr;  ///< `[size]` classes, or
  T const* targets = nullptr;            ///< `[size]` values

  matrix<T const> feature_rows() const { return {features, size * shape.length, shape.features}; }
  /// Samples `first .. first + count - 1`.
  batch slice(index_t first, index_t count) const {
    auto const skip = [](auto pointer, index_t elements) {
      return pointer == nullptr ? nullptr : pointer + elements;
    };
    batch result = *this;
    result.size = count;
    result.tokens = skip(tokens, first * shape.length);
    result.features = skip(features, first * shape.length * shape.features);
    if (lengths.size() > 0) result.lengths = {lengths.data() + first, count};
    result.labels = skip(labels, first), result.targets = skip(targets, first);
    return result;
  }
};

/// The context of a step.
template <class T>
struct context {
  thread_pool& threads;
  memory& stack;
  bool training = true;
  std::uint64_t seed = 0, pass = 0;  ///< of dropout; `pass` counts micro-batches of all steps
  tensor1<index_t const> lengths{};  ///< valid rows of every sample; empty: all
  bool computes_padding = false;     ///< true if pooling reads padding rows (else undefined)
  tensor3<T const> embedding{};      ///< the embedding, which layers may read (Paramixer's X0)
  tensor3<T> embedding_gradient{};   ///< readers of the embedding accumulate their gradient here

  ss::exec::host_on<thread_pool> exec() const { return ss::exec::host_on<thread_pool>(threads); }

  /// Allocates memory that backward reads, or scratch memory if no backward follows.
  template <class U = T>
  U* keep(index_t count) {
    return training ? stack.keep<U>(count) : stack.scratch<U>(count);
  }
  tensor3<T> keep(extents3 e) { return {keep(e.size()), e}; }
  template <class U = T>
  U* scratch(index_t count) {
    return stack.scratch<U>(count);
  }
  tensor3<T> scratch(extents3 e) { return {scratch(e.size()), e}; }
  /// Allocates a matrix with the rows and samples of x.
  matrix<T> keep_rows(matrix<T const> x, index_t columns) {
    return rows_like(x, keep(x.rows * columns), columns);
  }
  /// Allocates scratch memory for a matrix of the shape of x.
  matrix<T> scratch_like(matrix<T const> x) {
    return rows_like(x, scratch(x.rows * x.columns), x.columns);
  }
  /// Number of valid rows of sample b; `rows` without lengths.
  index_t valid_rows(index_t b, index_t rows) const {
    return lengths.size() == 0 ? rows : lengths(b);
  }
  /// Number of rows that layers compute.
  index_t computed_rows(index_t b, index_t rows) const {
    return computes_padding ? rows : valid_rows(b, rows);
  }

  /// Calls f, which accesses memory, unless the step is only being measured.
  template <class F>
  void compute(F const& f) {
    if (!stack.is_counting()) f();
  }

  /// Returns the rows per tile. They depend only on the number of rows, so that sums over tiles
  /// have the same bits for any number of threads. At most 32 tiles limit the memory of the sums.
  static index_t tile_rows(index_t rows) {
    constexpr index_t min_rows = 1024, max_tiles = 32;
    return std::max(min_rows, (rows + max_tiles - 1) / max_tiles);
  }
  static index_t tiles(index_t rows) { return (rows + tile_rows(rows) - 1) / tile_rows(rows); }

  /// Calls f(first, count, tile) for every tile of `rows` rows, in parallel.
  template <class F>
  void each_tile(index_t rows, F const& f) {
    compute([&] {
      index_t const tile_height = tile_rows(rows);
      threads.parallel_for(static_cast<unsigned>(tiles(rows)), [&](unsigned tile) {
        index_t const first = tile * tile_height;
        f(first, std::min(tile_height, rows - first), tile);
      });
    });
  }
  /// Calls f(first row, count) for all rows of x except padding, in parallel.
  template <class F>
  void parallel_for_rows(matrix<T const> x, F const& f) {
    each_tile(x.rows,
              [&](index_t first, index_t count, index_t) { valid_ranges(x, first, count, f); });
  }
  /// Calls f(row) for all rows of x except padding, in parallel.
  template <class F>
  void for_each_row(matrix<T const> x, F const& f) {
    parallel_for_rows(x, [&](index_t first, index_t count) {
      for (index_t r = first; r < first + count; ++r) f(r);
    });
  }
  /// Reduces over all rows except padding. f(first row, count, partial) accumulates into `partial`,
  /// `[size]`. The partial sums of the tiles are then added to `total` in tile order.
  template <class F>
  void reduce_rows(matrix<T const> x, index_t size, T* total, F const& f) {
    memory::scope const scope(stack);
    T* const partials = scratch(tiles(x.rows) * size);
    each_tile(x.rows, [&](index_t first, index_t count, index_t tile) {
      T* const partial = partials + tile * size;
      std::fill_n(partial, size, T(0));
      valid_ranges(x, first, count, [&](index_t row, index_t rows) { f(row, rows, partial); });
    });
    each_tile(size, [&](index_t first, index_t count, index_t) {
      for (index_t tile = 0; tile < tiles(x.rows); ++tile)
        for (index_t i = first; i < first + count; ++i) total[i] += partials[tile * size + i];
    });
  }

 private:
  static matrix<T> rows_like(matrix<T const> x, T* data, index_t columns) {
    matrix<T> result(data, x.rows, columns);
    result.sample_rows = x.sample_rows;
    return result;
  }
  // Calls f(first row, count) for each range of rows without padding.
  template <class F>
  void valid_ranges(matrix<T const> x, index_t first, index_t count, F const& f) const {
    if (x.sample_rows == 0 || lengths.size() == 0 || computes_padding) return f(first, count);
    index_t begin = first, end = first;
    for (index_t b = first / x.sample_rows; b * x.sample_rows < first + count; ++b) {
      index_t const sample_begin = std::max(first, b * x.sample_rows);
      if (sample_begin > end) {
        if (begin < end) f(begin, end - begin);
        begin = end = sample_begin;
      }
      end = std::max(end, std::min(first + count, b * x.sample_rows + lengths(b)));
    }
    if (begin < end) f(begin, end - begin);
  }
};

}  // namespace learning

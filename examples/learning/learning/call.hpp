// SPDX-License-Identifier: Apache-2.0
// What every layer is told of the step that it takes part in.
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

/// Rows `[rows, columns]`, `stride` elements apart. Those of a batch know how many belong to a
/// sample, and so which of them are padding.
template <class T>
struct matrix {
  T* data = nullptr;
  index_t rows = 0, columns = 0, stride = 0;
  index_t sample_rows = 0;  ///< 0: rows that are nobody's padding

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
  matrix part(index_t first, index_t count) const { return {row(first), count, columns, stride}; }
};

/// All rows of all samples. The tensor's rows must be evenly spaced.
template <class T>
matrix<T> flat(tensor3<T> x) {
  extents3 const e = x.extents();
  matrix<T> all(x.data(), e.batch * e.length, e.channels, x.strides().length);
  all.sample_rows = e.length;
  return all;
}

/// Some samples of a task, in memory of the trainer's.
template <class T>
struct batch {
  index_t size = 0;
  sample_shape shape{};
  std::int32_t const* tokens = nullptr;  ///< `[size, length]`, or
  T const* numbers = nullptr;            ///< `[size, length, features]`
  tensor1<index_t const> lengths{};      ///< `[size]`, or empty: whole samples
  std::int32_t const* labels = nullptr;  ///< `[size]` classes, or
  T const* targets = nullptr;            ///< `[size]` numbers

  matrix<T const> numbers_matrix() const { return {numbers, size * shape.length, shape.features}; }
};

/// A step of a model: who works, with what memory, and what layers deep inside must know.
template <class T>
struct call {
  thread_pool& threads;
  memory& stack;
  bool training = true;
  std::uint64_t seed = 0, step = 0;
  tensor1<index_t const> lengths{};  ///< valid rows of every sample; empty: all
  bool forms_padding = false;        ///< as a pooling reads it; else what lies there is undefined
  tensor3<T const> start{};          ///< the embedding, which every layer may read (Paramixer's X0)
  tensor3<T> start_gradient{};       ///< to which layers that read it add theirs

  ss::exec::host_on<thread_pool> on() const { return ss::exec::host_on<thread_pool>(threads); }

  /// Memory that backward will read; only scratch where no backward follows.
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
  /// Memory for rows of `columns` elements, as many as x has and of the same samples.
  matrix<T> keep_rows(matrix<T const> x, index_t columns) {
    return rows_like(x, keep(x.rows * columns), columns);
  }
  matrix<T> scratch_rows(matrix<T const> x, index_t columns) {
    return rows_like(x, scratch(x.rows * columns), columns);
  }

  /// Rows of sample b, of so many, that are not padding.
  index_t valid_rows(index_t b, index_t rows) const {
    return lengths.size() == 0 ? rows : lengths(b);
  }
  /// Those that layers form.
  index_t formed_rows(index_t b, index_t rows) const {
    return forms_padding ? rows : valid_rows(b, rows);
  }

  /// Does what reads or writes memory, of which there is none while it is being counted.
  template <class F>
  void work(F const& f) {
    if (!stack.counting()) f();
  }

  /// Rows of a tile: a function of their number alone, so that sums over tiles have the same bits
  /// for any number of threads. At most 32 tiles bound the memory of such sums.
  static index_t tile_rows(index_t rows) {
    constexpr index_t least = 1024, most_tiles = 32;
    return std::max(least, (rows + most_tiles - 1) / most_tiles);
  }
  static index_t tiles(index_t rows) { return (rows + tile_rows(rows) - 1) / tile_rows(rows); }

  /// Calls f(first, count, tile) for all tiles of so many, in parallel.
  template <class F>
  void each_tile(index_t rows, F const& f) {
    work([&] {
      index_t const height = tile_rows(rows);
      threads.parallel_for(static_cast<unsigned>(tiles(rows)), [&](unsigned tile) {
        index_t const first = tile * height;
        f(first, std::min(height, rows - first), tile);
      });
    });
  }
  /// Calls f(first row, rows) for all rows of x but the padding, in parallel by tiles.
  template <class F>
  void parallel_rows(matrix<T const> x, F const& f) {
    each_tile(x.rows,
              [&](index_t first, index_t count, index_t) { valid_parts(x, first, count, f); });
  }
  /// Adds up what f(first row, rows, part) adds to `part`, `[size]`, for every tile of the rows
  /// that are not padding, in their order, and adds the sum to `total`.
  template <class F>
  void reduce_rows(matrix<T const> x, index_t size, T* total, F const& f) {
    memory::scope const scope(stack);
    T* const parts = scratch(tiles(x.rows) * size);
    each_tile(x.rows, [&](index_t first, index_t count, index_t tile) {
      T* const part = parts + tile * size;
      std::fill_n(part, size, T(0));
      valid_parts(x, first, count, [&](index_t at, index_t rows) { f(at, rows, part); });
    });
    each_tile(size, [&](index_t first, index_t count, index_t) {
      for (index_t tile = 0; tile < tiles(x.rows); ++tile)
        for (index_t i = first; i < first + count; ++i) total[i] += parts[tile * size + i];
    });
  }

 private:
  static matrix<T> rows_like(matrix<T const> x, T* data, index_t columns) {
    matrix<T> all(data, x.rows, columns);
    all.sample_rows = x.sample_rows;
    return all;
  }
  // Calls f(first row, rows) for each stretch of rows that no padding interrupts.
  template <class F>
  void valid_parts(matrix<T const> x, index_t first, index_t count, F const& f) const {
    if (x.sample_rows == 0 || lengths.size() == 0 || forms_padding) return f(first, count);
    index_t from = first, to = first;
    for (index_t b = first / x.sample_rows; b * x.sample_rows < first + count; ++b) {
      index_t const row0 = std::max(first, b * x.sample_rows);
      if (row0 > to) {
        if (from < to) f(from, to - from);
        from = to = row0;
      }
      to = std::max(to, std::min(first + count, b * x.sample_rows + lengths(b)));
    }
    if (from < to) f(from, to - from);
  }
};

}  // namespace learning

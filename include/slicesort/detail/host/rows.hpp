// SPDX-License-Identifier: Apache-2.0
// Loads, stores and copies of rows between a tensor and a task's memory: rows of any width in the
// accumulator's type (row_access), and rows of a tile, 32 elements each (copy_row, store_rows).
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_TEXT <slicesort/detail/host/simd/rows.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

// The loops of one instruction set (simd/rows.inl). load moves any number of rows; store
// and add are called for one at a time.
template <class T>
struct row_kernels {
  using A = accumulator_t<T>;
  void (*load)(T const*, index_t pitch, index_t rows, index_t width, A*, index_t to_pitch);
  void (*store)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*add)(A const*, index_t rows, index_t width, T*, index_t pitch);
  // Stores any number of rows around the caches, for a task that then calls finish_streaming; null:
  // rows go through the caches.
  void (*store_around)(A const*, index_t from_pitch, index_t rows, index_t width, T*,
                       index_t pitch) = nullptr;
};

// Whether rows from `row` on are stored around the caches: their tensor is large, and each of them
// is whole cache lines.
template <class T>
bool fit_streaming(T const* row, tensor4<T> of) {
  constexpr index_t line = 64, size = sizeof(T);
  return worth_streaming<T>(of.extents()) && of.strides().channels == 1 &&
         reinterpret_cast<std::uintptr_t>(row) % line == 0 &&
         of.strides().length * size % line == 0 && of.extents().channels * size % line == 0;
}

// A `Head` is one head of one sample, with `at(tensor, row)`, the first element of a row.
template <class T>
class row_access {
 public:
  using A = accumulator_t<T>;

  explicit row_access(row_kernels<T> const& use) : use_(use) {}

  // Loads rows [first, first + count), filled up with zeros to `pitch` columns and `padded` rows.
  template <class Head>
  void load(Head const& h, tensor4<T const> from, index_t first, index_t count, A* to,
            index_t pitch, index_t padded) const {
    index_t const width = from.extents().channels;
    if (width > 0)  // an empty view may have no memory
      load(h.at(from, first), from.strides().length, from.strides().channels, count, width, to,
           pitch);
    for (index_t i = 0; i < count; ++i)
      std::fill(to + i * pitch + width, to + (i + 1) * pitch, A(0));
    std::fill(to + count * pitch, to + padded * pitch, A(0));
  }
  // Loads rows of a matrix of any strides.
  void load(T const* from, index_t row, index_t column, index_t rows, index_t width, A* to,
            index_t pitch) const {
    if (column == 1) return use_.load(from, row, rows, width, to, pitch);
    for (index_t i = 0; i < rows; ++i)
      for (index_t c = 0; c < width; ++c)
        to[i * pitch + c] = static_cast<A>(from[i * row + c * column]);
  }
  template <class Head>
  void store(A const* from, index_t pitch, Head const& h, tensor4<T> to, index_t first,
             index_t count, grad_mode mode) const {
    if (to.extents().channels == 0) return;
    if (use_.store_around != nullptr && mode == grad_mode::overwrite &&
        fit_streaming(h.at(to, first), to))
      return use_.store_around(from, pitch, count, to.extents().channels, h.at(to, first),
                               to.strides().length);
    store(from, pitch, count, to.extents().channels, h.at(to, first), to.strides().length,
          to.strides().channels, mode);
  }
  void store(A const* from, index_t pitch, index_t rows, index_t width, T* to, index_t row,
             index_t column, grad_mode mode) const {
    if (width == 0) return;
    auto const store_or_add = mode == grad_mode::accumulate ? use_.add : use_.store;
    for (index_t i = 0; i < rows; ++i, from += pitch, to += row)
      if (column == 1)
        store_or_add(from, 1, width, to, row);
      else
        with_store<T>(mode, [&](auto put) {
          for (index_t c = 0; c < width; ++c) put.sum(to[c * column], from[c]);
        });
  }
  // Writes zeros to rows [first, last), unless gradients are added up.
  template <class Head>
  void clear(Head const& h, tensor4<T> to, index_t first, index_t last, grad_mode mode) const {
    if (to.data() == nullptr || mode == grad_mode::accumulate) return;
    for (index_t i = first; i < last; ++i)
      for (index_t c = 0; c < to.extents().channels; ++c)
        h.at(to, i)[c * to.strides().channels] = T(0.0F);
  }

 private:
  row_kernels<T> const& use_;
};

// Copies a row of `Columns` elements, whole vectors of 16 bytes, to elements of the same size.
template <bool Stream, int Columns = tile_columns, class From, class To>
SLICESORT_INLINE void copy_row(From const* from, To* to) {
  static_assert(sizeof(From) == sizeof(To), "bits move as they are");
  using V = portable::vec<std::uint64_t, 2>;
  constexpr int per_vector = static_cast<int>(sizeof(V) / sizeof(To));
  for (int lane = 0; lane < Columns; lane += per_vector)
    portable::store_vector<Stream>(to + lane, portable::load_lanes<V>(from + lane));
}

// The most rows of one call of store_rows.
inline constexpr int store_batch_rows = 16;

// Stores `count` rows to rows i .. of the tensor, or adds them. With Stream, the caller must call
// finish_streaming when all is stored.
template <bool Stream, class T>
void store_rows(T const* from, index_t i, int count, tile_operand const& at, int width,
                grad_mode mode, T* to) {
  T sums[std::size_t{store_batch_rows} * tile_columns];
  if (mode == grad_mode::accumulate) {
    gather_rows(to, at, 0, width, i, count, sums, tile_columns);
    for (int k = 0; k < count; ++k)
      add_elements(sums + k * tile_columns, from + k * tile_columns, width);
    from = sums;
  }
  if (at.dense)
    for (int k = 0; k < count; ++k)
      copy_row<Stream>(from + k * tile_columns, to + at.start[0] + (i + k) * at.pitch);
  else
    scatter_rows(from, tile_columns, width, i, count, at, to);
}

SLICESORT_DETAIL_END

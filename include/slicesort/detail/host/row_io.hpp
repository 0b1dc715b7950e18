// SPDX-License-Identifier: Apache-2.0
// Rows of heads between the caller's views, of any strides, and a task's memory, in the
// accumulator's type.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// The loops of one instruction set (simd/row_transfer.hpp). load moves any number of rows; store
// and add are called for one at a time.
template <class T>
struct row_moves {
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
class row_io {
 public:
  using A = accumulator_t<T>;

  explicit row_io(row_moves<T> const& use) : use_(use) {}

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
  row_moves<T> const& use_;
};

SLICESORT_DETAIL_END

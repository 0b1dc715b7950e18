// SPDX-License-Identifier: Apache-2.0
// Loads, stores and copies rows between tensors and a task's memory: row_access for rows of any
// width in the accumulator's type; copy_row and store_rows for tile rows of 32 elements.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/host/simd/rows.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

// Row loops of one instruction set (simd/rows.inl). `store` and `add` are called for single rows.
template <class T>
struct row_kernels {
  using A = accumulator_t<T>;
  void (*load)(T const*, index_t pitch, index_t rows, index_t width, A*, index_t to_pitch);
  void (*store)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*add)(A const*, index_t rows, index_t width, T*, index_t pitch);
  // Streaming store of any number of rows. The task must call finish_streaming afterwards. Null if
  // rows are stored through the caches.
  void (*stream_rows)(A const*, index_t from_pitch, index_t rows, index_t width, T*,
                      index_t pitch) = nullptr;
};

// A `Head` is one head of one sample; `at(tensor, row)` points to the first element of a row.
template <class T>
class row_access {
 public:
  using A = accumulator_t<T>;

  explicit row_access(row_kernels<T> const& kernels) : kernels_(kernels) {}

  // Loads rows [first, first + count), padded with zeros to [padded_count, pitch].
  template <class Head>
  void load(Head const& head, tensor4<T const> from, index_t first, index_t count, A* to,
            index_t pitch, index_t padded_count) const {
    index_t const width = from.extents().channels;
    if (width > 0)  // an empty view may have no memory
      load(head.at(from, first), from.strides().length, from.strides().channels, count, width, to,
           pitch);
    for (index_t i = 0; i < count; ++i)
      std::fill(to + i * pitch + width, to + (i + 1) * pitch, A(0));
    std::fill(to + count * pitch, to + padded_count * pitch, A(0));
  }
  void load(T const* from, index_t row_stride, index_t column_stride, index_t rows, index_t width,
            A* to, index_t pitch) const {
    if (column_stride == 1) return kernels_.load(from, row_stride, rows, width, to, pitch);
    // A few columns at a time, because those that are a power of two apart evict each other.
    constexpr index_t columns = 8;
    for (index_t first = 0; first < width; first += columns)
      for (index_t i = 0; i < rows; ++i)
        for (index_t c = first; c < std::min(first + columns, width); ++c)
          to[i * pitch + c] = static_cast<A>(from[i * row_stride + c * column_stride]);
  }
  template <class Head>
  void store(A const* from, index_t pitch, Head const& head, tensor4<T> to, index_t first,
             index_t count, grad_mode mode) const {
    if (to.extents().channels == 0) return;
    if (kernels_.stream_rows != nullptr && mode == grad_mode::overwrite &&
        should_stream_rows(to, head.at(to, first), to.extents().channels))
      return kernels_.stream_rows(from, pitch, count, to.extents().channels, head.at(to, first),
                                  to.strides().length);
    store(from, pitch, count, to.extents().channels, head.at(to, first), to.strides().length,
          to.strides().channels, mode);
  }
  void store(A const* from, index_t pitch, index_t rows, index_t width, T* to, index_t row_stride,
             index_t column_stride, grad_mode mode) const {
    if (width == 0) return;
    auto const store_or_add = mode == grad_mode::accumulate ? kernels_.add : kernels_.store;
    for (index_t i = 0; i < rows; ++i, from += pitch, to += row_stride)
      if (column_stride == 1)
        store_or_add(from, 1, width, to, row_stride);
      else
        with_store<T>(mode, [&](auto element) {
          for (index_t c = 0; c < width; ++c) element.sum(to[c * column_stride], from[c]);
        });
  }
  // Zeroes rows [first, last), unless gradients accumulate.
  template <class Head>
  void clear(Head const& head, tensor4<T> to, index_t first, index_t last, grad_mode mode) const {
    if (to.data() == nullptr || mode == grad_mode::accumulate) return;
    for (index_t i = first; i < last; ++i)
      for (index_t c = 0; c < to.extents().channels; ++c)
        head.at(to, i)[c * to.strides().channels] = T(0.0F);
  }

 private:
  row_kernels<T> const& kernels_;
};

// Copies a row of `Columns` elements as whole vectors of 16 bytes.
template <bool Stream, int Columns = tile_columns, class From, class To>
SLICESORT_INLINE void copy_row(From const* from, To* to) {
  static_assert(sizeof(From) == sizeof(To), "bits move as they are");
  using V = portable::vec<std::uint64_t, 2>;
  constexpr int per_vector = static_cast<int>(sizeof(V) / sizeof(To));
  for (int lane = 0; lane < Columns; lane += per_vector)
    portable::store_vector<Stream>(to + lane, portable::load_lanes<V>(from + lane));
}

inline constexpr int store_batch_rows = 16;

// Stores or accumulates `count` rows to the tensor, starting at row `first`. With Stream, the
// caller must call finish_streaming afterwards.
template <bool Stream, class T>
void store_rows(T const* from, index_t first, int count, tile_operand const& operand, int width,
                grad_mode mode, T* to) {
  T sums[std::size_t{store_batch_rows} * tile_columns];
  if (mode == grad_mode::accumulate) {
    gather_rows(to, operand, 0, width, first, count, sums, tile_columns);
    for (int k = 0; k < count; ++k)
      add_elements(sums + k * tile_columns, from + k * tile_columns, width);
    from = sums;
  }
  if (operand.dense)
    for (int k = 0; k < count; ++k)
      copy_row<Stream>(from + k * tile_columns,
                       to + operand.start[0] + (first + k) * operand.pitch);
  else
    scatter_rows(from, tile_columns, width, first, count, operand, to);
}

SLICESORT_DETAIL_END

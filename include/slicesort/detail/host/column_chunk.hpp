// SPDX-License-Identifier: Apache-2.0
// Chunks of columns: neighboring columns of a [batch, length, channels] tensor that one task
// processes. Copies rows between strided views and contiguous thread-local columns.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/simd/transpose.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Channels [channel, channel + channels) of one sample.
struct column_chunk {
  index_t batch, channel, channels;
};

// Channels [channel, channel + channels) of samples [batch, batch + batches).
struct sample_chunk {
  index_t batch, batches, channel, channels;

  column_chunk operator[](index_t sample) const { return {batch + sample, channel, channels}; }
  index_t columns() const { return batches * channels; }
};

// Splits the columns of a tensor into chunks of at most `width`: part of a sample, or several whole
// samples if they are narrow. An empty tensor has no chunks.
class column_chunks {
 public:
  column_chunks(extents3 e, index_t width)
      : extents_(e),
        channels_(std::min(width, e.channels)),
        samples_(e.channels == 0 ? 0 : std::min(e.batch, std::max<index_t>(width / e.channels, 1))),
        chunks_per_row_(e.empty() ? 0 : (e.channels + width - 1) / width) {}

  index_t count() const {
    return extents_.empty() ? 0 : (extents_.batch + samples_ - 1) / samples_ * chunks_per_row_;
  }
  sample_chunk operator[](index_t task) const {
    index_t const batch = task / chunks_per_row_ * samples_,
                  channel = task % chunks_per_row_ * channels_;
    return {batch, std::min(samples_, extents_.batch - batch), channel,
            std::min(channels_, extents_.channels - channel)};
  }
  // Maximum number of channels and of columns per chunk.
  index_t channels() const { return channels_; }
  index_t columns() const { return samples_ * channels_; }

 private:
  extents3 extents_;
  index_t channels_, samples_;  // maximum per chunk
  index_t chunks_per_row_;
};

// Calls f(thread, chunk) for every chunk of a tensor. A chunk has at most `width` columns.
template <class F>
void for_each_column_chunk(host_exec const& exec, extents3 e, F const& f,
                           index_t width = tile_columns) {
  column_chunks const chunks(e, width);
  for_each_task(exec, chunks.count(), [&](unsigned thread, index_t task) {
    sample_chunk const chunk = chunks[task];
    for (index_t s = 0; s < chunk.batches; ++s) f(thread, chunk[s]);
  });
}

// Calls f(chunk) for the widest chunks that still occupy all threads. Intended for copies of rows
// with adjacent channels: if the pitch is a power of two, narrow chunks share few cache sets, and
// prefetched lines are evicted before use.
template <class F>
void for_each_wide_chunk(host_exec const& exec, extents3 e, F const& f) {
  auto const threads = static_cast<index_t>(exec.threads);
  index_t const splits = e.batch < threads ? threads : 1;
  index_t const tiles = (e.channels + tile_columns - 1) / tile_columns;
  for_each_column_chunk(
      exec, e, [&](unsigned, column_chunk chunk) { f(chunk); },
      std::max<index_t>((tiles + splits - 1) / splits, 1) * tile_columns);
}

// Pitch of thread-local columns: at least `rows`, and an odd number of cache lines, so columns do
// not share cache sets if the length is a power of two.
constexpr index_t column_pitch(index_t rows) { return 16 * ((rows + 15) / 16 | 1); }

// Calls f(column, row, element) for rows [first, last) of a chunk, in memory order.
template <class T, class F>
void for_each_element(tensor3<T> view, column_chunk chunk, index_t first, index_t last,
                      F const& f) {
  T* const base = view.data() + view.offset(chunk.batch, 0, chunk.channel);
  index_t const row_stride = view.strides().length, column_stride = view.strides().channels;
  if (row_stride < column_stride || chunk.channels == 1) {
    for (index_t c = 0; c < chunk.channels; ++c)
      if (row_stride == 1)
        for (index_t i = first; i < last; ++i) f(c, i, base[c * column_stride + i]);
      else
        for (index_t i = first; i < last; ++i) f(c, i, base[c * column_stride + i * row_stride]);
  } else if (column_stride == 1 && chunk.channels == tile_columns) {
    for (index_t i = first; i < last; ++i)
      for (index_t c = 0; c < tile_columns; ++c) f(c, i, base[i * row_stride + c]);
  } else {
    for (index_t i = first; i < last; ++i)
      for (index_t c = 0; c < chunk.channels; ++c)
        f(c, i, base[i * row_stride + c * column_stride]);
  }
}

// Calls f(view) with a typed view of the index tensor.
template <bool Const, class F>
void with_index_type(basic_index_tensor3<Const> v, F const& f) {
  auto const call = [&](auto index) {
    using Index = std::conditional_t<Const, decltype(index) const, decltype(index)>;
    f(tensor3<Index>(static_cast<Index*>(v.data()), v.extents(), v.strides()));
  };
  if (v.width() == index_width::bits16)
    call(std::uint16_t{});
  else
    call(std::uint32_t{});
}

// Stores gradients: overwrites elements, or adds to them in the accumulator type and rounds once.
template <class T, bool Add>
struct element_store {
  using A = accumulator_t<T>;

  // Overwrites without rounding, so moved elements keep every bit.
  void operator()(T& element, T const& value) const {
    if constexpr (Add)
      element = rounded<T>(static_cast<A>(element) + static_cast<A>(value));
    else
      element = value;
  }
  void sum(T& element, A value) const {
    if constexpr (Add)
      element = rounded<T>(static_cast<A>(element) + value);
    else
      element = rounded<T>(value);
  }
};
template <class T, class F>
void with_store(grad_mode mode, F const& f) {
  if (mode == grad_mode::overwrite)
    f(element_store<T, false>{});
  else
    f(element_store<T, true>{});
}

// Calls f(store), where store(to, from, count) stores adjacent elements. Overwrites by memcpy,
// because compilers do not vectorize such loops reliably.
template <class T, class F>
void with_row_store(grad_mode mode, F const& f) {
  if (mode == grad_mode::accumulate)
    f([](T* to, T const* from, index_t count) { add_elements(to, from, count); });
  else
    f([](T* to, T const* from, index_t count) { copy_elements<sizeof(T)>(to, from, count); });
}

// Squares of elements that are transposed in registers, where a chunk of 32 adjacent channels is
// copied to columns or back.
template <class Element, class Column>
struct chunk_squares {
  static constexpr int side = 16 / static_cast<int>(sizeof(Element));
  static constexpr bool converts = sizeof(Element) != sizeof(Column);

  // Returns the end of the rows [first, last) that squares cover.
  template <class T>
  static index_t end(tensor3<T> view, column_chunk chunk, index_t first, index_t last) {
    if (view.strides().channels != 1 || chunk.channels != tile_columns) return first;
    return last - (last - first) % side;
  }
  // Copies a square at `rows`, whose rows are `stride` elements apart, to `columns`.
  static void load(Element const* rows, index_t stride, Column* columns, index_t pitch) {
    if constexpr (converts) {
      Element square[static_cast<std::size_t>(side * side)];
      transpose(rows, stride, square, side);
      for (int c = 0; c < side; ++c)
        for (int i = 0; i < side; ++i)
          columns[c * pitch + i] = static_cast<Column>(square[c * side + i]);
    } else {
      transpose(rows, stride, columns, pitch);
    }
  }
  static void store(Column const* columns, index_t pitch, Element* rows, index_t stride) {
    if constexpr (converts) {
      Element square[static_cast<std::size_t>(side * side)];
      for (int c = 0; c < side; ++c)
        for (int i = 0; i < side; ++i)
          square[c * side + i] = static_cast<Element>(columns[c * pitch + i]);
      transpose(square, side, rows, stride);
    } else {
      transpose(columns, pitch, rows, stride);
    }
  }

 private:
  static void transpose(Element const* from, index_t from_pitch, Element* to, index_t to_pitch) {
    portable::transpose_square<portable::vec<uint_of_size<sizeof(Element)>, side>>(from, from_pitch,
                                                                                   to, to_pitch);
  }
};
// True if chunk_squares copies elements to columns: moves their bits, or converts integers.
template <class Element, class Column>
inline constexpr bool copies_squares =
    (sizeof(Element) == 2 || sizeof(Element) == 4 || sizeof(Element) == 8) &&
    (std::is_same_v<Element, Column> ||
     (std::is_unsigned_v<Element> && std::is_unsigned_v<Column>));

// Copies rows [first, last) of a chunk to thread-local columns.
template <class From, class To>
void load_columns(tensor3<From> from, column_chunk chunk, index_t first, index_t last, To* to,
                  index_t pitch) {
  if constexpr (copies_squares<std::remove_const_t<From>, To>) {
    using squares = chunk_squares<std::remove_const_t<From>, To>;
    index_t const end = squares::end(from, chunk, first, last);
    for (; first < end; first += squares::side)
      for (int c = 0; c < tile_columns; c += squares::side)
        squares::load(&from(chunk.batch, first, chunk.channel + c), from.strides().length,
                      to + c * pitch + first, pitch);
  }
  for_each_element(from, chunk, first, last, [=](index_t c, index_t i, From const& element) {
    to[c * pitch + i] = static_cast<To>(element);
  });
}

template <class From, class To>
void store_columns(From const* from, index_t pitch, tensor3<To> to, column_chunk chunk,
                   index_t first, index_t last) {
  if constexpr (copies_squares<To, From>) {
    using squares = chunk_squares<To, From>;
    index_t const end = squares::end(to, chunk, first, last);
    for (; first < end; first += squares::side)
      for (int c = 0; c < tile_columns; c += squares::side)
        squares::store(from + c * pitch + first, pitch, &to(chunk.batch, first, chunk.channel + c),
                       to.strides().length);
  }
  for_each_element(to, chunk, first, last, [=](index_t c, index_t i, To& element) {
    element = static_cast<To>(from[c * pitch + i]);
  });
}
template <class T>
void store_gradient(T const* from, index_t pitch, tensor3<T> to, column_chunk chunk, index_t first,
                    index_t last, grad_mode mode) {
  if (mode == grad_mode::overwrite) return store_columns(from, pitch, to, chunk, first, last);
  for_each_element(to, chunk, first, last, [=](index_t c, index_t i, T& element) {
    element_store<T, true>()(element, from[c * pitch + i]);
  });
}
template <class T>
void store_sums(accumulator_t<T> const* from, index_t pitch, tensor3<T> to, column_chunk chunk,
                index_t first, index_t last, grad_mode mode) {
  with_store<T>(mode, [&](auto store) {
    for_each_element(to, chunk, first, last, [=](index_t c, index_t i, T& element) {
      store.sum(element, from[c * pitch + i]);
    });
  });
}

template <class T>
void transfer_rows(tensor3<T const> from, tensor3<T> to, column_chunk chunk, index_t first,
                   index_t last, grad_mode mode) {
  if (mode == grad_mode::overwrite && from.data() == to.data()) return;  // in place
  T const* const source = from.data() + from.offset(chunk.batch, 0, chunk.channel);
  strides3 const s = from.strides();
  if (s.channels == 1 && to.strides().channels == 1)
    with_row_store<T>(mode, [&](auto store) {
      for (index_t i = first; i < last; ++i)
        store(to.data() + to.offset(chunk.batch, i, chunk.channel), source + i * s.length,
              chunk.channels);
    });
  else
    with_store<T>(mode, [&](auto store) {
      for_each_element(to, chunk, first, last, [=](index_t c, index_t i, T& element) {
        store(element, source[i * s.length + c * s.channels]);
      });
    });
}

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// shuffle on the host: computes the permutations of full columns once, then permutes the rows of
// every chunk of columns. A shorter sample's permutation is the full one without the rows past its
// length.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/shuffle/params.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Computes p, the rows in the order of their hashes. `packed` is scratch memory of the same length.
inline void argsort_hashes(std::uint64_t seed, index_t stream, index_t rows, std::uint64_t* packed,
                           std::uint32_t* p) {
  for (index_t i = 0; i < rows; ++i) {
    auto const row = static_cast<std::uint64_t>(i);
    std::uint64_t const hash = counter_hash32(seed, static_cast<std::uint64_t>(stream), row);
    packed[i] = hash << 32 | row;  // distinct, so every sort is stable
  }
  std::sort(packed, packed + rows);
  for (index_t i = 0; i < rows; ++i) p[i] = static_cast<std::uint32_t>(packed[i]);
}

template <class Form>
struct host_implementation<shuffle_op<Form>> {
  template <class T>
  static void plan(host_exec const& exec, extents3 const& extents, arena& memory) {
    (void)layout<T>(memory, exec, extents);
  }

  template <class T>
  static void forward(host_exec const& exec, transfer_forward<shuffle_op<Form>, T> const& params,
                      workspace w);
  template <class T>
  static void backward(host_exec const& exec, transfer_backward<shuffle_op<Form>, T> const& params,
                       workspace w);

 private:
  static index_t permutations(extents3 extents) {
    return extents.empty() ? 0 : Form::shared ? 1 : extents.channels;
  }

  struct hashed_rows {
    std::uint64_t* hashes;
    hashed_rows(arena& memory, index_t length)
        : hashes(memory.take<std::uint64_t>(static_cast<std::size_t>(length))) {}
  };
  // Chunk of columns of one sample: input and output of the permutation.
  template <class T>
  struct moved_columns {
    index_t pitch;
    T *from, *to;

    moved_columns(arena& memory, extents3 extents) : pitch(column_pitch(extents.length)) {
      auto const elements =
          static_cast<std::size_t>(column_chunks(extents, tile_columns).channels() * pitch);
      from = memory.take<T>(elements);
      to = memory.take<T>(elements);
    }
  };
  template <class T>
  struct layout {
    std::uint32_t* permutations;  // [1 or channels][length]
    per_thread<hashed_rows, index_t> hashing;
    per_thread<moved_columns<T>, extents3> moving;

    layout(arena& memory, host_exec const& exec, extents3 extents)
        : permutations(memory.take<std::uint32_t>(static_cast<std::size_t>(
              host_implementation::permutations(extents) * extents.length))),
          hashing(memory, exec.threads, host_implementation::permutations(extents), extents.length),
          moving(memory, exec.threads, column_chunks(extents, tile_columns).count(), extents) {}
  };

  template <bool Backward, class Params>
  static void run(host_exec const& exec, Params const& params, workspace w) {
    using T = typename Params::element;
    tensor3<T const> const from = params.source();
    tensor3<T> const to = params.target();
    tensor1<index_t const> const lengths = params.lengths;
    grad_mode const mode = params.mode;
    std::uint64_t const seed = params.config.seed;
    extents3 const extents = from.extents();
    arena memory(w);
    layout<T> const buffers(memory, exec, extents);
    for_each_task(exec, permutations(extents), [&](unsigned thread, index_t channel) {
      argsort_hashes(seed, channel, extents.length, buffers.hashing[thread].hashes,
                     buffers.permutations + channel * extents.length);
    });
    bool const whole_rows =
        Form::shared && from.strides().channels == 1 && to.strides().channels == 1;
    if (whole_rows && from.data() != to.data()) {
      for_each_wide_chunk(exec, extents, [&](column_chunk chunk) {
        index_t const rows = valid_rows(lengths, chunk.batch, extents.length);
        move_rows<Backward>(buffers.permutations, rows, from, to, chunk, mode,
                            static_cast<T*>(nullptr));
        transfer_rows(from, to, chunk, rows, extents.length, mode);
      });
      return;
    }
    for_each_column_chunk(exec, extents, [&](unsigned thread, column_chunk chunk) {
      moved_columns<T> const moved = buffers.moving[thread];
      index_t const rows = valid_rows(lengths, chunk.batch, extents.length);
      if (whole_rows)
        move_rows<Backward>(buffers.permutations, rows, from, to, chunk, mode, moved.from);
      else
        move_columns<Backward>(buffers.permutations, rows, from, to, chunk, mode, moved);
      transfer_rows(from, to, chunk, rows, extents.length, mode);
    });
  }

  // Calls f(n, source) for every valid row n of the shuffled column; skips rows past the length.
  template <class F>
  static void for_each_row(std::uint32_t const* order, index_t rows, F const& f) {
    for (index_t i = 0, n = 0; n < rows; ++i) {
      index_t const source = order[i];
      if (source < rows) f(n++, source);
    }
  }

  // Copies whole rows if adjacent columns share one permutation. In-place calls read a copy.
  template <bool Backward, class T>
  static void move_rows(std::uint32_t const* order, index_t rows, tensor3<T const> from,
                        tensor3<T> to, column_chunk chunk, grad_mode mode, T* copy) {
    T const* source = from.data() + from.offset(chunk.batch, 0, chunk.channel);
    T* const target = to.data() + to.offset(chunk.batch, 0, chunk.channel);
    index_t pitch = from.strides().length;
    if (source == target) {
      for (index_t i = 0; i < rows; ++i)
        std::copy_n(source + i * pitch, chunk.channels, copy + i * chunk.channels);
      source = copy;
      pitch = chunk.channels;
    }
    with_row_store<T>(mode, [&](auto store) {
      for_each_row(order, rows, [&](index_t n, index_t p) {
        store(target + (Backward ? p : n) * to.strides().length,
              source + (Backward ? n : p) * pitch, chunk.channels);
      });
    });
  }

  template <bool Backward, class T>
  static void move_columns(std::uint32_t const* orders, index_t rows, tensor3<T const> from,
                           tensor3<T> to, column_chunk chunk, grad_mode mode,
                           moved_columns<T> const& moved) {
    load_columns(from, chunk, 0, rows, moved.from, moved.pitch);
    for (index_t c = 0; c < chunk.channels; ++c) {
      T const* const source = moved.from + c * moved.pitch;
      T* const target = moved.to + c * moved.pitch;
      for_each_row(
          orders + (Form::shared ? 0 : chunk.channel + c) * from.extents().length, rows,
          [=](index_t n, index_t p) { target[Backward ? p : n] = source[Backward ? n : p]; });
    }
    store_gradient(moved.to, moved.pitch, to, chunk, 0, rows, mode);
  }
};

// Defined outside the class, so that a program can instantiate them in one place
// (`extern template`).
template <class Form>
template <class T>
void host_implementation<shuffle_op<Form>>::forward(
    host_exec const& exec, transfer_forward<shuffle_op<Form>, T> const& params, workspace w) {
  run<false>(exec, params, w);
}
template <class Form>
template <class T>
void host_implementation<shuffle_op<Form>>::backward(
    host_exec const& exec, transfer_backward<shuffle_op<Form>, T> const& params, workspace w) {
  run<true>(exec, params, w);
}

SLICESORT_DETAIL_END

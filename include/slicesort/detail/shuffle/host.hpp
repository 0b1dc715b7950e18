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

// Computes the permutation p: the rows in the order of their hashes in a sequence. `packed` is
// scratch memory of the same length.
inline void argsort_hashes(std::uint64_t seed, index_t sequence, index_t rows,
                           std::uint64_t* packed, std::uint32_t* p) {
  for (index_t i = 0; i < rows; ++i) {
    auto const row = static_cast<std::uint64_t>(i);
    std::uint64_t const hash = counter_hash32(seed, static_cast<std::uint64_t>(sequence), row);
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
  static index_t permutation_count(extents3 extents) {
    return extents.empty() ? 0 : Form::shared ? 1 : extents.channels;
  }

  struct hash_buffer {
    std::uint64_t* hashes;
    hash_buffer(arena& memory, index_t length)
        : hashes(memory.take<std::uint64_t>(static_cast<std::size_t>(length))) {}
  };
  // Chunk of columns of one sample: input and output of the permutation.
  template <class T>
  struct column_buffers {
    index_t pitch;
    T *input, *output;

    column_buffers(arena& memory, extents3 extents) : pitch(column_pitch(extents.length)) {
      auto const elements =
          static_cast<std::size_t>(column_chunks(extents, tile_columns).channels() * pitch);
      input = memory.take<T>(elements);
      output = memory.take<T>(elements);
    }
  };
  template <class T>
  struct layout {
    std::uint32_t* permutations;  // [1 or channels][length]
    per_thread<hash_buffer, index_t> hash_buffers;
    per_thread<column_buffers<T>, extents3> columns;

    layout(arena& memory, host_exec const& exec, extents3 extents)
        : permutations(memory.take<std::uint32_t>(static_cast<std::size_t>(
              host_implementation::permutation_count(extents) * extents.length))),
          hash_buffers(memory, exec.threads, host_implementation::permutation_count(extents),
                       extents.length),
          columns(memory, exec.threads, column_chunks(extents, tile_columns).count(), extents) {}
  };

  template <bool Backward, class Params>
  static void run(host_exec const& exec, Params const& params, workspace w) {
    using T = typename Params::element;
    tensor3<T const> const input = params.source();
    tensor3<T> const output = params.target();
    tensor1<index_t const> const lengths = params.lengths;
    grad_mode const mode = params.mode;
    std::uint64_t const seed = params.config.seed;
    extents3 const extents = input.extents();
    arena memory(w);
    layout<T> const buffers(memory, exec, extents);
    for_each_task(exec, permutation_count(extents), [&](unsigned thread, index_t channel) {
      argsort_hashes(seed, channel, extents.length, buffers.hash_buffers[thread].hashes,
                     buffers.permutations + channel * extents.length);
    });
    bool const whole_rows =
        Form::shared && input.strides().channels == 1 && output.strides().channels == 1;
    if (whole_rows && input.data() != output.data()) {
      for_each_wide_chunk(exec, extents, [&](column_chunk chunk) {
        index_t const rows = valid_rows(lengths, chunk.batch, extents.length);
        permute_rows<Backward>(buffers.permutations, rows, input, output, chunk, mode,
                               static_cast<T*>(nullptr));
        transfer_rows(input, output, chunk, rows, extents.length, mode);
      });
      return;
    }
    for_each_column_chunk(exec, extents, [&](unsigned thread, column_chunk chunk) {
      column_buffers<T> const columns = buffers.columns[thread];
      index_t const rows = valid_rows(lengths, chunk.batch, extents.length);
      if (whole_rows)
        permute_rows<Backward>(buffers.permutations, rows, input, output, chunk, mode,
                               columns.input);
      else
        permute_chunk<Backward>(buffers.permutations, rows, input, output, chunk, mode, columns);
      transfer_rows(input, output, chunk, rows, extents.length, mode);
    });
  }

  // Calls f(n, source) for every valid row n of the shuffled column and its source row.
  template <class F>
  static void for_each_row(std::uint32_t const* order, index_t rows, F const& f) {
    for (index_t i = 0, n = 0; n < rows; ++i) {
      index_t const source = order[i];
      if (source < rows) f(n++, source);
    }
  }

  // Copies whole rows, if adjacent columns share one permutation. In-place calls read a copy of the
  // rows.
  template <bool Backward, class T>
  static void permute_rows(std::uint32_t const* order, index_t rows, tensor3<T const> input,
                           tensor3<T> output, column_chunk chunk, grad_mode mode, T* row_copy) {
    T const* from = input.data() + input.offset(chunk.batch, 0, chunk.channel);
    T* const to = output.data() + output.offset(chunk.batch, 0, chunk.channel);
    index_t pitch = input.strides().length;
    if (from == to) {
      for (index_t i = 0; i < rows; ++i)
        std::copy_n(from + i * pitch, chunk.channels, row_copy + i * chunk.channels);
      from = row_copy;
      pitch = chunk.channels;
    }
    with_row_store<T>(mode, [&](auto store) {
      for_each_row(order, rows, [&](index_t n, index_t source) {
        store(to + (Backward ? source : n) * output.strides().length,
              from + (Backward ? n : source) * pitch, chunk.channels);
      });
    });
  }

  template <bool Backward, class T>
  static void permute_chunk(std::uint32_t const* orders, index_t rows, tensor3<T const> input,
                            tensor3<T> output, column_chunk chunk, grad_mode mode,
                            column_buffers<T> const& columns) {
    load_columns(input, chunk, 0, rows, columns.input, columns.pitch);
    for (index_t c = 0; c < chunk.channels; ++c) {
      T const* const from = columns.input + c * columns.pitch;
      T* const to = columns.output + c * columns.pitch;
      for_each_row(orders + (Form::shared ? 0 : chunk.channel + c) * input.extents().length, rows,
                   [=](index_t n, index_t source) {
                     to[Backward ? source : n] = from[Backward ? n : source];
                   });
    }
    store_gradient(columns.output, columns.pitch, output, chunk, 0, rows, mode);
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

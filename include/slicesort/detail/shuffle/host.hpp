// SPDX-License-Identifier: Apache-2.0
// shuffle on the host: forms the permutations of full columns once, then permutes the rows of every
// run. A shorter sample's permutation is the full one without the rows past its length.
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

// p = the rows in the order of their hashes; `packed` is scratch of the same length.
inline void argsort_hashes(std::uint64_t seed, index_t stream, index_t rows, std::uint64_t* packed,
                           std::uint32_t* p) {
  for (index_t i = 0; i < rows; ++i) {
    auto const row = static_cast<std::uint64_t>(i);
    std::uint64_t const hash = counter_hash32(seed, static_cast<std::uint64_t>(stream), row);
    packed[i] = hash << 32 | row;  // distinct, so that any sort is stable
  }
  std::sort(packed, packed + rows);
  for (index_t i = 0; i < rows; ++i) p[i] = static_cast<std::uint32_t>(packed[i]);
}

template <class Form>
struct host_implementation<shuffle_op<Form>> {
  template <class T>
  static void plan(host_exec const& exec, extents3 const& e, arena& a) {
    (void)layout<T>(a, exec, e);
  }

  template <class T>
  static void forward(host_exec const& exec, transfer_forward<shuffle_op<Form>, T> const& params,
                      workspace memory) {
    run<false>(exec, params, memory);
  }
  template <class T>
  static void backward(host_exec const& exec, transfer_backward<shuffle_op<Form>, T> const& params,
                       workspace memory) {
    run<true>(exec, params, memory);
  }

 private:
  static index_t permutations(extents3 e) { return e.empty() ? 0 : Form::shared ? 1 : e.channels; }

  struct hashed_rows {
    std::uint64_t* hashes;
    hashed_rows(arena& a, index_t length)
        : hashes(a.take<std::uint64_t>(static_cast<std::size_t>(length))) {}
  };
  // A run of columns of one sample, before and after.
  template <class T>
  struct moved_columns {
    index_t pitch;
    T *from, *to;

    moved_columns(arena& a, extents3 e) : pitch(column_pitch(e.length)) {
      auto const elements =
          static_cast<std::size_t>(column_chunks(e, tile_columns).channels() * pitch);
      from = a.take<T>(elements);
      to = a.take<T>(elements);
    }
  };
  template <class T>
  struct layout {
    std::uint32_t* permutations;  // one, or one for every channel
    per_thread<hashed_rows, index_t> hashing;
    per_thread<moved_columns<T>, extents3> moving;

    layout(arena& a, host_exec const& exec, extents3 e)
        : permutations(a.take<std::uint32_t>(
              static_cast<std::size_t>(host_implementation::permutations(e) * e.length))),
          hashing(a, exec.threads, host_implementation::permutations(e), e.length),
          moving(a, exec.threads, column_chunks(e, tile_columns).count(), e) {}
  };

  template <bool Back, class Params>
  static void run(host_exec const& exec, Params const& params, workspace memory) {
    using T = typename Params::element;
    tensor3<T const> const from = params.source();
    tensor3<T> const to = params.target();
    tensor1<index_t const> const lengths = params.lengths;
    grad_mode const mode = params.mode;
    std::uint64_t const seed = params.config.seed;
    extents3 const e = from.extents();
    arena a(memory);
    layout<T> const m(a, exec, e);
    for_each_task(exec, permutations(e), [&](unsigned slot, index_t channel) {
      argsort_hashes(seed, channel, e.length, m.hashing[slot].hashes,
                     m.permutations + channel * e.length);
    });
    bool const whole_rows =
        Form::shared && from.strides().channels == 1 && to.strides().channels == 1;
    if (whole_rows && from.data() != to.data()) {
      for_each_wide_chunk(exec, e, [&](column_chunk b) {
        index_t const rows = valid_rows(lengths, b.batch, e.length);
        move_rows<Back>(m.permutations, rows, from, to, b, mode, static_cast<T*>(nullptr));
        transfer_rows(from, to, b, rows, e.length, mode);
      });
      return;
    }
    for_each_column_chunk(exec, e, [&](unsigned slot, column_chunk b) {
      moved_columns<T> const l = m.moving[slot];
      index_t const rows = valid_rows(lengths, b.batch, e.length);
      if (whole_rows)
        move_rows<Back>(m.permutations, rows, from, to, b, mode, l.from);
      else
        move_columns<Back>(m.permutations, rows, from, to, b, mode, l);
      transfer_rows(from, to, b, rows, e.length, mode);
    });
  }

  // f(n, source) for every valid row n of the shuffled column: `order` without the rows past the
  // length.
  template <class F>
  static void for_each_row(std::uint32_t const* order, index_t rows, F const& f) {
    for (index_t i = 0, n = 0; n < rows; ++i) {
      index_t const source = order[i];
      if (source < rows) f(n++, source);
    }
  }

  // One permutation for all columns, which are adjacent: whole rows are copied, in place from a
  // copy.
  template <bool Back, class T>
  static void move_rows(std::uint32_t const* order, index_t rows, tensor3<T const> from,
                        tensor3<T> to, column_chunk b, grad_mode mode, T* copy) {
    T const* source = from.data() + from.offset(b.batch, 0, b.channel);
    T* const target = to.data() + to.offset(b.batch, 0, b.channel);
    index_t pitch = from.strides().length;
    if (source == target) {
      for (index_t i = 0; i < rows; ++i)
        std::copy_n(source + i * pitch, b.channels, copy + i * b.channels);
      source = copy;
      pitch = b.channels;
    }
    with_row_store<T>(mode, [&](auto store) {
      for_each_row(order, rows, [&](index_t n, index_t p) {
        store(target + (Back ? p : n) * to.strides().length, source + (Back ? n : p) * pitch,
              b.channels);
      });
    });
  }

  template <bool Back, class T>
  static void move_columns(std::uint32_t const* orders, index_t rows, tensor3<T const> from,
                           tensor3<T> to, column_chunk b, grad_mode mode,
                           moved_columns<T> const& l) {
    load_columns(from, b, 0, rows, l.from, l.pitch);
    for (index_t c = 0; c < b.channels; ++c) {
      T const* const in = l.from + c * l.pitch;
      T* const out = l.to + c * l.pitch;
      for_each_row(orders + (Form::shared ? 0 : b.channel + c) * from.extents().length, rows,
                   [=](index_t n, index_t p) { out[Back ? p : n] = in[Back ? n : p]; });
    }
    store_gradient(l.to, l.pitch, to, b, 0, rows, mode);
  }
};

SLICESORT_DETAIL_END

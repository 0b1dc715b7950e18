// SPDX-License-Identifier: Apache-2.0
// The kernels of sinkhorn_csp. A block takes one group of a tile of channels; a thread takes every
// `step`-th row, and every `step`-th column, of one channel's matrix.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/detail/sinkhorn_csp/params.hpp>
#include <slicesort/detail/sinkhorn_csp/sinkhorn.hpp>
#include <slicesort/detail/sinkhorn_csp/sinkhorn_gradient.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/shift.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

inline constexpr int max_mixing_threads = 256;

// The worker that sinkhorn_csp/sinkhorn.hpp asks for: one thread of a block.
template <class Block>
struct mixing_thread {
  static constexpr int lanes = 1;
  Block& block;
  index_t first, step;

  SLICESORT_HD_INLINE void sync() { block.sync(); }
  template <class A>
  SLICESORT_HD_INLINE A multiply_add(A a, A b, A c) {
    return block.multiply_add(a, b, c);
  }
  template <class A>
  SLICESORT_HD_INLINE A product(A a, A b) {
    return a * b;
  }
  template <class A>
  SLICESORT_HD_INLINE A divide(A a, A b) {
    return block.divide(a, b);
  }
};

// Allocates a block's memory in the workspace, with the interface of a SharedAllocator.
struct scratch_allocator {
  unsigned char* next;

  template <class N>
  SLICESORT_HD N* allocate(std::size_t count) {
    auto* const slice = reinterpret_cast<N*>(next);
    next += shared_slice(count * sizeof(N));
    return slice;
  }
};

// What a block of forward or backward works on, and where its arrays are.
template <class T>
struct grouped_tiles {
  using A = accumulator_t<T>;

  tensor3<T const> x;
  tensor1<index_t const> lengths;
  index_t const* shifts;  // of every channel
  double tau;
  index_t iterations, reference, group;
  index_t first_sample, first_block;  // of this launch
  int width;                          // channels of a tile, a power of two
  unsigned char* scratch;
  std::size_t scratch_bytes;  // of a block

  // Arrays that are read for every element of a matrix.
  template <class SharedAllocator>
  SLICESORT_HD void hot(SharedAllocator& shared_memory, sinkhorn_group<A>& g, bool backward) const {
    auto const rows = static_cast<std::size_t>(group);
    auto const all = rows * static_cast<std::size_t>(width);
    g.u = shared_memory.template allocate<A>(rows);
    g.values = shared_memory.template allocate<A>(all);
    g.w = shared_memory.template allocate<A>(all);
    g.f = shared_memory.template allocate<A>(all);
    g.h = shared_memory.template allocate<A>(all);
    if (!backward) return;
    g.a = shared_memory.template allocate<A>(all);
    g.b = shared_memory.template allocate<A>(all);
  }
  // Arrays that are read once for every row.
  template <class SharedAllocator>
  SLICESORT_HD void cold(SharedAllocator& shared_memory, sinkhorn_group<A>& g) const {
    auto const all = static_cast<std::size_t>(group) * static_cast<std::size_t>(width);
    g.du = shared_memory.template allocate<A>(all);
    g.dw = shared_memory.template allocate<A>(all);
    g.history = shared_memory.template allocate<A>(4 * static_cast<std::size_t>(iterations) * all);
  }

  // A thread's part. Threads past the last channel process zeros: they must still reach every
  // barrier.
  struct thread_work {
    bool inside;
    index_t sample, batch, channel, shift;
    index_t begin, rows, end, valid;  // rows of the group, those that take part, of the sample
    int column;
    index_t first, step;

    SLICESORT_HD index_t source(index_t i) const {
      index_t const row = begin + i;
      return row >= shift ? row - shift : row - shift + valid;
    }
  };
  template <class Block>
  SLICESORT_HD thread_work thread_work_of(Block const& block) const {
    extents3 const e = x.extents();
    index_t const tiles = (e.channels + width - 1) / width;
    index_t const groups = (e.length + group - 1) / group;
    index_t const number = first_block + block.index();
    index_t const tile = number % tiles, rest = number / tiles;
    thread_work s;
    s.sample = rest / groups;
    s.batch = first_sample + s.sample;
    s.begin = rest % groups * group;
    s.end = e.length - s.begin < group ? e.length : s.begin + group;
    s.valid = valid_rows(lengths, s.batch, e.length);
    s.rows = s.valid <= s.begin ? 0 : (s.valid < s.end ? s.valid : s.end) - s.begin;
    s.column = block.rank() % width;
    s.first = block.rank() / width;
    s.step = block.size() / width;
    s.channel = tile * width + s.column;
    s.inside = s.channel < e.channels;
    s.shift = s.inside ? wrapped(shifts[s.channel], s.valid) : 0;
    return s;
  }

  // Moves the group's arrays to this thread's column.
  SLICESORT_HD void enter(sinkhorn_group<A>& g, thread_work const& s) const {
    g.rows = s.rows;
    g.pitch = width;
    g.values += s.column, g.w += s.column, g.f += s.column, g.h += s.column;
  }
  SLICESORT_HD void enter_backward(sinkhorn_group<A>& g, thread_work const& s) const {
    enter(g, s);
    g.a += s.column, g.b += s.column, g.du += s.column, g.dw += s.column, g.history += s.column;
  }

  template <class Block>
  SLICESORT_HD void load(Block const& block, thread_work const& s,
                         sinkhorn_group<A> const& g) const {
    for (index_t i = block.rank(); i < s.rows; i += block.size()) {
      auto const of_reference = static_cast<A>(x(s.batch, s.begin + i, reference));
      g.u[i] = logit_factor<A>(static_cast<double>(of_reference) / tau);
    }
    for (index_t i = s.first; i < s.rows; i += s.step) {
      A const value = s.inside ? static_cast<A>(x(s.batch, s.source(i), s.channel)) : A{};
      g.values[i * width] = value;
      g.w[i * width] = logit_factor<A>(static_cast<double>(value));
    }
  }
};

// y = T w. InShared: whether the hot arrays lie in shared memory.
template <class T, bool InShared>
struct mix_groups_kernel {
  static constexpr int max_threads = max_mixing_threads;
  using A = accumulator_t<T>;

  grouped_tiles<T> tiles;
  tensor3<T> y;

  template <class SharedAllocator>
  SLICESORT_HD sinkhorn_group<A> shared(SharedAllocator& shared_memory) const {
    sinkhorn_group<A> g{};
    if constexpr (InShared) tiles.hot(shared_memory, g, false);
    return g;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const s = tiles.thread_work_of(block);
    auto g = shared(block);
    if constexpr (!InShared) {
      scratch_allocator shared_memory{tiles.scratch + static_cast<std::size_t>(block.index()) *
                                                          tiles.scratch_bytes};
      tiles.hot(shared_memory, g, false);
    }
    tiles.enter(g, s);
    tiles.load(block, s, g);
    mixing_thread<Block> worker{block, s.first, s.step};
    scale_group<false>(worker, g, tiles.iterations);
    if (!s.inside) return;
    for (index_t i = s.first; i < s.end - s.begin; i += s.step) {
      index_t const row = s.begin + i;
      if (i >= s.rows || s.channel == tiles.reference) {
        y(s.batch, row, s.channel) = tiles.x(s.batch, row, s.channel);
        continue;
      }
      lanes_of<A, 1> mixed;
      mix_row(worker, g, i, mixed);
      y(s.batch, row, s.channel) = rounded<T>(mixed[0]);
    }
  }
};

// The gradients of all channels but the reference, and the reference's gradient through each of
// them.
template <class T, bool InShared>
struct unmix_groups_kernel {
  static constexpr int max_threads = max_mixing_threads;
  using A = accumulator_t<T>;

  grouped_tiles<T> tiles;
  bool cold_in_shared;
  tensor3<T const> dy;
  tensor3<T> dx;
  tensor3<A> du;  // [samples of this launch, length, channels]
  grad_mode mode;

  template <class SharedAllocator>
  SLICESORT_HD sinkhorn_group<A> shared(SharedAllocator& shared_memory) const {
    sinkhorn_group<A> g{};
    if constexpr (InShared) tiles.hot(shared_memory, g, true);
    if (cold_in_shared) tiles.cold(shared_memory, g);
    return g;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const s = tiles.thread_work_of(block);
    auto g = shared(block);
    scratch_allocator shared_memory{tiles.scratch +
                                    static_cast<std::size_t>(block.index()) * tiles.scratch_bytes};
    if constexpr (!InShared) tiles.hot(shared_memory, g, true);
    if (!cold_in_shared) tiles.cold(shared_memory, g);
    tiles.enter_backward(g, s);
    tiles.load(block, s, g);
    for (index_t i = s.first; i < s.rows; i += s.step)
      g.a[i * g.pitch] = s.inside ? static_cast<A>(dy(s.batch, s.begin + i, s.channel)) : A{};
    mixing_thread<Block> worker{block, s.first, s.step};
    scale_group<true>(worker, g, tiles.iterations);
    differentiate_group(worker, g, tiles.iterations);
    if (!s.inside || s.channel == tiles.reference) return;
    for (index_t i = s.first; i < s.end - s.begin; i += s.step) {
      index_t const row = s.begin + i;
      if (i < s.rows) {
        store_or_accumulate_sum(mode, dx(s.batch, s.source(i), s.channel), g.dw[i * g.pitch]);
        du(s.sample, row, s.channel) = g.du[i * g.pitch];
      } else {
        store_or_accumulate<Block>(mode, dx(s.batch, row, s.channel), dy(s.batch, row, s.channel));
      }
    }
  }
};

// The gradient of the reference: its own, then the parts through the other channels in their order.
template <class T>
struct sum_reference_kernel {
  static constexpr int max_threads = max_mixing_threads;
  using A = accumulator_t<T>;

  tensor3<A const> du;
  tensor1<index_t const> lengths;
  index_t first_sample, reference;
  double tau;
  tensor3<T const> dy;
  tensor3<T> dx;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = du.extents();
    index_t const number = block.index() * block.size() + block.rank();
    if (number >= e.batch * e.length) return;
    index_t const sample = number / e.length, row = number % e.length;
    index_t const batch = first_sample + sample;
    T const own = dy(batch, row, reference);
    T& to = dx(batch, row, reference);
    if (row >= valid_rows(lengths, batch, e.length)) {
      store_or_accumulate<Block>(mode, to, own);
      return;
    }
    double sum = 0;
    for (index_t c = 0; c < e.channels; ++c)
      if (c != reference) sum += static_cast<double>(du(sample, row, c));
    store_or_accumulate_sum(mode, to,
                            static_cast<A>(static_cast<double>(static_cast<A>(own)) + sum / tau));
  }
};

SLICESORT_DETAIL_END

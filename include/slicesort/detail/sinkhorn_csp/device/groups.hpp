// SPDX-License-Identifier: Apache-2.0
// Kernels of sinkhorn_csp. A block processes one group of a tile of channels. A thread processes
// every `step`-th row and column of one channel's matrix.
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

// Worker of sinkhorn_csp/sinkhorn.hpp for one thread of a block.
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

// Allocates a block's memory in the workspace. Has the interface of a SharedAllocator.
struct scratch_allocator {
  unsigned char* next;

  template <class N>
  SLICESORT_HD N* allocate(std::size_t count) {
    auto* const slice = reinterpret_cast<N*>(next);
    next += shared_slice(count * sizeof(N));
    return slice;
  }
};

// Arguments and memory layout of a block, for forward and backward.
template <class T>
struct grouped_tiles {
  using A = accumulator_t<T>;

  tensor3<T const> x;
  tensor1<index_t const> lengths;
  index_t const* shifts;  // per channel
  double tau;
  index_t iterations, reference, group;
  index_t first_sample, first_block;  // first sample and block of this launch
  int width;                          // channels per tile, a power of two
  unsigned char* scratch;
  std::size_t scratch_bytes;  // per block

  // Allocates the arrays that are read for every element of a matrix.
  template <class SharedAllocator>
  SLICESORT_HD void hot(SharedAllocator& allocator, sinkhorn_group<A>& arrays,
                        bool backward) const {
    auto const rows = static_cast<std::size_t>(group);
    auto const elements = rows * static_cast<std::size_t>(width);
    arrays.u = allocator.template allocate<A>(rows);
    arrays.values = allocator.template allocate<A>(elements);
    arrays.w = allocator.template allocate<A>(elements);
    arrays.f = allocator.template allocate<A>(elements);
    arrays.h = allocator.template allocate<A>(elements);
    if (!backward) return;
    arrays.a = allocator.template allocate<A>(elements);
    arrays.b = allocator.template allocate<A>(elements);
  }
  // Allocates the arrays that are read once per row.
  template <class SharedAllocator>
  SLICESORT_HD void cold(SharedAllocator& allocator, sinkhorn_group<A>& arrays) const {
    auto const elements = static_cast<std::size_t>(group) * static_cast<std::size_t>(width);
    arrays.du = allocator.template allocate<A>(elements);
    arrays.dw = allocator.template allocate<A>(elements);
    arrays.history =
        allocator.template allocate<A>(4 * static_cast<std::size_t>(iterations) * elements);
  }

  // Work of a thread. Threads past the last channel process zeros, because they must reach every
  // barrier.
  struct thread_work {
    bool inside;
    index_t sample, batch, channel, shift;
    index_t begin, rows, end;  // first row, number of valid rows and end of the group
    index_t valid;             // valid rows of the sample
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
    index_t const index = first_block + block.index();
    index_t const tile = index % tiles, group_index = index / tiles;
    thread_work work;
    work.sample = group_index / groups;
    work.batch = first_sample + work.sample;
    work.begin = group_index % groups * group;
    work.end = e.length - work.begin < group ? e.length : work.begin + group;
    work.valid = valid_rows(lengths, work.batch, e.length);
    work.rows =
        work.valid <= work.begin ? 0 : (work.valid < work.end ? work.valid : work.end) - work.begin;
    work.column = block.rank() % width;
    work.first = block.rank() / width;
    work.step = block.size() / width;
    work.channel = tile * width + work.column;
    work.inside = work.channel < e.channels;
    work.shift = work.inside ? wrapped(shifts[work.channel], work.valid) : 0;
    return work;
  }

  // Advances the pointers of the group's arrays to this thread's column.
  SLICESORT_HD void select_column(sinkhorn_group<A>& arrays, thread_work const& work) const {
    arrays.rows = work.rows;
    arrays.pitch = width;
    arrays.values += work.column, arrays.w += work.column, arrays.f += work.column,
        arrays.h += work.column;
  }
  SLICESORT_HD void select_column_backward(sinkhorn_group<A>& arrays,
                                           thread_work const& work) const {
    select_column(arrays, work);
    arrays.a += work.column, arrays.b += work.column, arrays.du += work.column,
        arrays.dw += work.column, arrays.history += work.column;
  }

  template <class Block>
  SLICESORT_HD void load(Block const& block, thread_work const& work,
                         sinkhorn_group<A> const& arrays) const {
    for (index_t i = block.rank(); i < work.rows; i += block.size()) {
      auto const reference_value = static_cast<A>(x(work.batch, work.begin + i, reference));
      arrays.u[i] = logit_factor<A>(static_cast<double>(reference_value) / tau);
    }
    for (index_t i = work.first; i < work.rows; i += work.step) {
      A const value =
          work.inside ? static_cast<A>(x(work.batch, work.source(i), work.channel)) : A{};
      arrays.values[i * width] = value;
      arrays.w[i * width] = logit_factor<A>(static_cast<double>(value));
    }
  }
};

// Computes y = T w. With InShared, the hot arrays are in shared memory.
template <class T, bool InShared>
struct mix_groups_kernel {
  static constexpr int max_threads = max_mixing_threads;
  using A = accumulator_t<T>;

  grouped_tiles<T> tiles;
  tensor3<T> y;

  template <class SharedAllocator>
  SLICESORT_HD sinkhorn_group<A> shared(SharedAllocator& allocator) const {
    sinkhorn_group<A> arrays{};
    if constexpr (InShared) tiles.hot(allocator, arrays, false);
    return arrays;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = tiles.thread_work_of(block);
    auto arrays = shared(block);
    if constexpr (!InShared) {
      scratch_allocator allocator{tiles.scratch +
                                  static_cast<std::size_t>(block.index()) * tiles.scratch_bytes};
      tiles.hot(allocator, arrays, false);
    }
    tiles.select_column(arrays, work);
    tiles.load(block, work, arrays);
    mixing_thread<Block> worker{block, work.first, work.step};
    scale_group<false>(worker, arrays, tiles.iterations);
    if (!work.inside) return;
    for (index_t i = work.first; i < work.end - work.begin; i += work.step) {
      index_t const row = work.begin + i;
      if (i >= work.rows || work.channel == tiles.reference) {
        y(work.batch, row, work.channel) = tiles.x(work.batch, row, work.channel);
        continue;
      }
      lanes_of<A, 1> mixed;
      mix_row(worker, arrays, i, mixed);
      y(work.batch, row, work.channel) = rounded<T>(mixed[0]);
    }
  }
};

// Computes the gradients of all channels except the reference, and the gradient of the reference
// through each of these channels.
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
  SLICESORT_HD sinkhorn_group<A> shared(SharedAllocator& allocator) const {
    sinkhorn_group<A> arrays{};
    if constexpr (InShared) tiles.hot(allocator, arrays, true);
    if (cold_in_shared) tiles.cold(allocator, arrays);
    return arrays;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = tiles.thread_work_of(block);
    auto arrays = shared(block);
    scratch_allocator allocator{tiles.scratch +
                                static_cast<std::size_t>(block.index()) * tiles.scratch_bytes};
    if constexpr (!InShared) tiles.hot(allocator, arrays, true);
    if (!cold_in_shared) tiles.cold(allocator, arrays);
    tiles.select_column_backward(arrays, work);
    tiles.load(block, work, arrays);
    for (index_t i = work.first; i < work.rows; i += work.step)
      arrays.a[i * arrays.pitch] =
          work.inside ? static_cast<A>(dy(work.batch, work.begin + i, work.channel)) : A{};
    mixing_thread<Block> worker{block, work.first, work.step};
    scale_group<true>(worker, arrays, tiles.iterations);
    differentiate_group(worker, arrays, tiles.iterations);
    if (!work.inside || work.channel == tiles.reference) return;
    for (index_t i = work.first; i < work.end - work.begin; i += work.step) {
      index_t const row = work.begin + i;
      if (i < work.rows) {
        store_or_accumulate_sum(mode, dx(work.batch, work.source(i), work.channel),
                                arrays.dw[i * arrays.pitch]);
        du(work.sample, row, work.channel) = arrays.du[i * arrays.pitch];
      } else {
        store_or_accumulate<Block>(mode, dx(work.batch, row, work.channel),
                                   dy(work.batch, row, work.channel));
      }
    }
  }
};

// Computes the gradient of the reference: dy plus the sum of du over the other channels, in order.
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
    index_t const index = block.index() * block.size() + block.rank();
    if (index >= e.batch * e.length) return;
    index_t const sample = index / e.length, row = index % e.length;
    index_t const batch = first_sample + sample;
    T const dy_reference = dy(batch, row, reference);
    T& target = dx(batch, row, reference);
    if (row >= valid_rows(lengths, batch, e.length)) {
      store_or_accumulate<Block>(mode, target, dy_reference);
      return;
    }
    double sum = 0;
    for (index_t c = 0; c < e.channels; ++c)
      if (c != reference) sum += static_cast<double>(du(sample, row, c));
    store_or_accumulate_sum(
        mode, target,
        static_cast<A>(static_cast<double>(static_cast<A>(dy_reference)) + sum / tau));
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Kernels of sinkhorn_csp. A block processes one group of a tile of channels. The threads of a
// channel stride over the rows and columns of its transport matrix (see sinkhorn.hpp).
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

inline constexpr int max_sinkhorn_threads = 256;

// Implements the worker interface of sinkhorn.hpp for one thread of a block.
template <class Block>
struct sinkhorn_block_worker {
  static constexpr int lanes = 1;
  Block& block;
  index_t first, stride;

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
struct sinkhorn_args {
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
  SLICESORT_HD void allocate_hot(SharedAllocator& allocator, sinkhorn_group<A>& arrays,
                                 bool backward) const {
    auto const rows = static_cast<std::size_t>(group);
    auto const elements = rows * static_cast<std::size_t>(width);
    arrays.row_factors = allocator.template allocate<A>(rows);
    arrays.values = allocator.template allocate<A>(elements);
    arrays.column_factors = allocator.template allocate<A>(elements);
    arrays.row_potentials = allocator.template allocate<A>(elements);
    arrays.column_potentials = allocator.template allocate<A>(elements);
    if (!backward) return;
    arrays.row_potential_grads = allocator.template allocate<A>(elements);
    arrays.column_potential_grads = allocator.template allocate<A>(elements);
  }
  // Allocates the arrays that are read once per row.
  template <class SharedAllocator>
  SLICESORT_HD void allocate_cold(SharedAllocator& allocator, sinkhorn_group<A>& arrays) const {
    auto const elements = static_cast<std::size_t>(group) * static_cast<std::size_t>(width);
    arrays.row_factor_grads = allocator.template allocate<A>(elements);
    arrays.column_factor_grads = allocator.template allocate<A>(elements);
    arrays.history = allocator.template allocate<A>(
        sinkhorn_history_arrays * static_cast<std::size_t>(iterations) * elements);
  }

  // Work of a thread. Threads past the last channel process zeros, because they must reach every
  // barrier.
  struct thread_work {
    bool has_channel;
    index_t sample;  // counted from the first sample of the launch
    index_t batch, channel, shift;
    index_t first_row, end_row;  // the group's rows
    index_t rows;                // valid rows of the group
    index_t valid;               // valid rows of the sample
    int channel_in_tile;
    index_t first, stride;  // rows of the thread, counted from first_row

    // Returns the row of x that row i of the group holds after the shift.
    SLICESORT_HD index_t source(index_t i) const {
      index_t const row = first_row + i;
      return row >= shift ? row - shift : row - shift + valid;
    }
  };
  template <class Block>
  SLICESORT_HD thread_work assign_work(Block const& block) const {
    extents3 const e = x.extents();
    index_t const tiles_per_group = (e.channels + width - 1) / width;
    index_t const groups_per_sample = (e.length + group - 1) / group;
    index_t const index = first_block + block.index();
    index_t const tile = index % tiles_per_group, group_index = index / tiles_per_group;
    thread_work work;
    work.sample = group_index / groups_per_sample;
    work.batch = first_sample + work.sample;
    work.first_row = group_index % groups_per_sample * group;
    work.end_row = e.length - work.first_row < group ? e.length : work.first_row + group;
    work.valid = valid_rows(lengths, work.batch, e.length);
    work.rows = work.valid <= work.first_row
                    ? 0
                    : (work.valid < work.end_row ? work.valid : work.end_row) - work.first_row;
    work.channel_in_tile = block.rank() % width;
    work.first = block.rank() / width;
    work.stride = block.size() / width;
    work.channel = tile * width + work.channel_in_tile;
    work.has_channel = work.channel < e.channels;
    work.shift = work.has_channel ? wrap_row(shifts[work.channel], work.valid) : 0;
    return work;
  }

  // Advances the pointers of the group's arrays to this thread's channel.
  SLICESORT_HD void select_channel(sinkhorn_group<A>& arrays, thread_work const& work) const {
    arrays.rows = work.rows;
    arrays.pitch = width;
    arrays.values += work.channel_in_tile;
    arrays.column_factors += work.channel_in_tile;
    arrays.row_potentials += work.channel_in_tile;
    arrays.column_potentials += work.channel_in_tile;
  }
  SLICESORT_HD void select_channel_backward(sinkhorn_group<A>& arrays,
                                            thread_work const& work) const {
    select_channel(arrays, work);
    arrays.row_potential_grads += work.channel_in_tile;
    arrays.column_potential_grads += work.channel_in_tile;
    arrays.row_factor_grads += work.channel_in_tile;
    arrays.column_factor_grads += work.channel_in_tile;
    arrays.history += work.channel_in_tile;
  }

  template <class Block>
  SLICESORT_HD void load_group(Block const& block, thread_work const& work,
                               sinkhorn_group<A> const& arrays) const {
    for (index_t i = block.rank(); i < work.rows; i += block.size()) {
      auto const reference_value = static_cast<A>(x(work.batch, work.first_row + i, reference));
      arrays.row_factors[i] = logit_factor<A>(static_cast<double>(reference_value) / tau);
    }
    for (index_t i = work.first; i < work.rows; i += work.stride) {
      A const value =
          work.has_channel ? static_cast<A>(x(work.batch, work.source(i), work.channel)) : A{};
      arrays.values[i * width] = value;
      arrays.column_factors[i * width] = logit_factor<A>(static_cast<double>(value));
    }
  }
};

// Multiplies the rows of each group by the transport matrix of their channel. With InShared, the
// hot arrays are in shared memory.
template <class T, bool InShared>
struct mix_groups_kernel {
  static constexpr int max_threads = max_sinkhorn_threads;
  using A = accumulator_t<T>;

  sinkhorn_args<T> args;
  tensor3<T> y;

  template <class SharedAllocator>
  SLICESORT_HD sinkhorn_group<A> shared(SharedAllocator& allocator) const {
    sinkhorn_group<A> arrays{};
    if constexpr (InShared) args.allocate_hot(allocator, arrays, false);
    return arrays;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = args.assign_work(block);
    auto arrays = shared(block);
    if constexpr (!InShared) {
      scratch_allocator allocator{args.scratch +
                                  static_cast<std::size_t>(block.index()) * args.scratch_bytes};
      args.allocate_hot(allocator, arrays, false);
    }
    args.select_channel(arrays, work);
    args.load_group(block, work, arrays);
    sinkhorn_block_worker<Block> worker{block, work.first, work.stride};
    compute_potentials<false>(worker, arrays, args.iterations);
    if (!work.has_channel) return;
    for (index_t i = work.first; i < work.end_row - work.first_row; i += work.stride) {
      index_t const row = work.first_row + i;
      if (i >= work.rows || work.channel == args.reference) {
        y(work.batch, row, work.channel) = args.x(work.batch, row, work.channel);
        continue;
      }
      lane_array<A, 1> mixed;
      mix_row(worker, arrays, i, mixed);
      y(work.batch, row, work.channel) = rounded<T>(mixed[0]);
    }
  }
};

// Backward of mix_groups_kernel: computes the gradients of all channels except the reference, and
// the gradient of the reference through each of these channels.
template <class T, bool InShared>
struct mix_groups_backward_kernel {
  static constexpr int max_threads = max_sinkhorn_threads;
  using A = accumulator_t<T>;

  sinkhorn_args<T> args;
  bool cold_in_shared;
  tensor3<T const> dy;
  tensor3<T> dx;
  tensor3<A> row_factor_grads;  // [samples of this launch, length, channels]
  grad_mode mode;

  template <class SharedAllocator>
  SLICESORT_HD sinkhorn_group<A> shared(SharedAllocator& allocator) const {
    sinkhorn_group<A> arrays{};
    if constexpr (InShared) args.allocate_hot(allocator, arrays, true);
    if (cold_in_shared) args.allocate_cold(allocator, arrays);
    return arrays;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const work = args.assign_work(block);
    auto arrays = shared(block);
    scratch_allocator allocator{args.scratch +
                                static_cast<std::size_t>(block.index()) * args.scratch_bytes};
    if constexpr (!InShared) args.allocate_hot(allocator, arrays, true);
    if (!cold_in_shared) args.allocate_cold(allocator, arrays);
    args.select_channel_backward(arrays, work);
    args.load_group(block, work, arrays);
    for (index_t i = work.first; i < work.rows; i += work.stride)
      arrays.row_potential_grads[i * arrays.pitch] =
          work.has_channel ? static_cast<A>(dy(work.batch, work.first_row + i, work.channel)) : A{};
    sinkhorn_block_worker<Block> worker{block, work.first, work.stride};
    compute_potentials<true>(worker, arrays, args.iterations);
    differentiate_group(worker, arrays, args.iterations);
    if (!work.has_channel || work.channel == args.reference) return;
    for (index_t i = work.first; i < work.end_row - work.first_row; i += work.stride) {
      index_t const row = work.first_row + i;
      if (i < work.rows) {
        store_or_accumulate_sum(mode, dx(work.batch, work.source(i), work.channel),
                                arrays.column_factor_grads[i * arrays.pitch]);
        row_factor_grads(work.sample, row, work.channel) =
            arrays.row_factor_grads[i * arrays.pitch];
      } else {
        store_or_accumulate<Block>(mode, dx(work.batch, row, work.channel),
                                   dy(work.batch, row, work.channel));
      }
    }
  }
};

// Computes the gradient of the reference: dy plus the sum of `row_factor_grads` over the other
// channels, in order.
template <class T>
struct sum_reference_kernel {
  static constexpr int max_threads = max_sinkhorn_threads;
  using A = accumulator_t<T>;

  tensor3<A const> row_factor_grads;
  tensor1<index_t const> lengths;
  index_t first_sample, reference;
  double tau;
  tensor3<T const> dy;
  tensor3<T> dx;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = row_factor_grads.extents();
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
      if (c != reference) sum += static_cast<double>(row_factor_grads(sample, row, c));
    store_or_accumulate_sum(
        mode, target,
        static_cast<A>(static_cast<double>(static_cast<A>(dy_reference)) + sum / tau));
  }
};

SLICESORT_DETAIL_END

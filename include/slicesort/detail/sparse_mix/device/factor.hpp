// SPDX-License-Identifier: Apache-2.0
// Applies one factor of sparse_mix in global memory, forward or backward. Each thread computes four
// channels of one row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/sparse_mix/device/packed_weights.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Initial value of a sum of products.
enum class mix_start {
  zero,   // +0
  self,   // input of the row
  first,  // same row of another tensor
  total   // sum of the row's inputs over all factors so far
};

template <class T>
struct mix_rows_kernel {
  static constexpr int max_threads = 256;
  static constexpr int channels_per_thread = 4;
  using A = accumulator_t<T>;

  packed_weights<A> factors;
  index_t factor;
  tensor1<index_t const> lengths;
  tensor3<T const> input;
  tensor3<T> output;
  mix_start start;
  tensor3<T const> initial;     // initial sums, for mix_start::first
  A* input_sums;                // [samples, length, channels]: sums of inputs; may be null
  bool accumulates_input_sums;  // true if `input_sums` holds a sum already
  grad_mode mode;
  int width;  // threads along the channels: a power of two
  bool rows_adjacent;

  SLICESORT_HD index_t tiles_per_sample() const {
    return divide_up(input.extents().channels, channels_per_thread * width);
  }
  index_t blocks(int threads) const {
    return input.extents().batch * tiles_per_sample() *
           divide_up(input.extents().length, threads / width);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const extents = input.extents();
    thread_mapping const walk(block.rank(), block.size(), width, rows_adjacent);
    // Blocks that run concurrently work on the same channels, so they share cache lines.
    index_t const row_blocks = divide_up(extents.length, walk.step);
    index_t const row_block = block.index() % row_blocks, tile_index = block.index() / row_blocks;
    index_t const sample = tile_index / tiles_per_sample(),
                  row = row_block * walk.step + walk.first_row;
    index_t const channel =
        tile_index % tiles_per_sample() * (channels_per_thread * width) + walk.column;
    if (row >= extents.length) return;
    // Rows past a length are copied. A chain without factors copies all rows.
    index_t const n = factors.factors == 0 ? 0 : valid_rows(lengths, sample, extents.length);

    // Channels past the end read the last channel and store nothing.
    T const* source[channels_per_thread];
    SLICESORT_UNROLL
    for (int j = 0; j < channels_per_thread; ++j) {
      index_t const c = channel + j * width;
      source[j] =
          input.data() + input.offset(sample, 0, c < extents.channels ? c : extents.channels - 1);
    }
    if (row >= n) {
      SLICESORT_UNROLL
      for (int j = 0; j < channels_per_thread; ++j)
        if (channel + j * width < extents.channels)
          store_or_accumulate<Block>(mode, output(sample, row, channel + j * width),
                                     source[j][row * input.strides().length]);
      return;
    }

    A sum[channels_per_thread];
    initialize_sums(sum, source, sample, row, channel);
    std::uint32_t const* const distances = factors.distances_of(sample, factor);
    A const* const weights = factors.weights_of(sample, factor) + row;
    SLICESORT_UNROLL_4
    for (index_t k = 0; k < factors.links; ++k) {
      index_t const linked_row =
          wrapped_row(static_cast<std::uint32_t>(row), distances[k], static_cast<std::uint32_t>(n));
      A const weight = weights[k * factors.length];
      SLICESORT_UNROLL
      for (int j = 0; j < channels_per_thread; ++j)
        sum[j] = block.fused_multiply_add(
            weight, static_cast<A>(source[j][linked_row * input.strides().length]), sum[j]);
    }
    SLICESORT_UNROLL
    for (int j = 0; j < channels_per_thread; ++j)
      if (channel + j * width < extents.channels)
        store_or_accumulate_sum(mode, output(sample, row, channel + j * width), sum[j]);
  }

 private:
  SLICESORT_HD_INLINE void initialize_sums(A (&sum)[channels_per_thread],
                                           T const* const (&source)[channels_per_thread],
                                           index_t sample, index_t row, index_t channel) const {
    extents3 const extents = input.extents();
    SLICESORT_UNROLL
    for (int j = 0; j < channels_per_thread; ++j) {
      index_t const c = channel + j * width;
      A const row_value = static_cast<A>(source[j][row * input.strides().length]);
      sum[j] = start == mix_start::self ? row_value : A(0);
      if (c >= extents.channels) continue;
      if (start == mix_start::first) sum[j] = static_cast<A>(initial(sample, row, c));
      if (input_sums == nullptr && start != mix_start::total) continue;
      index_t const offset = (sample * extents.length + row) * extents.channels + c;
      A const total = (accumulates_input_sums ? input_sums[offset] : A(0)) + row_value;
      if (start == mix_start::total)
        sum[j] = total;
      else
        input_sums[offset] = total;
    }
  }
};

SLICESORT_DETAIL_END

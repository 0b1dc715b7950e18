// SPDX-License-Identifier: Apache-2.0
// One factor of sparse_mix in global memory, forward or backward. A thread has four channels of one
// row.
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

// What a sum of products begins with.
enum class mix_start {
  nothing,  // +0
  own,      // the row's own input
  first,    // the row of another tensor
  all       // the sum of the row's inputs over all factors so far
};

template <class T>
struct mix_rows_kernel {
  static constexpr int max_threads = 256;
  static constexpr int channels_of_thread = 4;
  using A = accumulator_t<T>;

  packed_weights<A> factors;
  index_t factor;
  tensor1<index_t const> lengths;
  tensor3<T const> in;
  tensor3<T> out;
  mix_start start;
  tensor3<T const> first;  // what sums begin with, for mix_start::first
  A* inputs;               // the sum of all inputs so far, [samples, length, channels], or null
  bool adding;             // `inputs` holds a sum already
  grad_mode mode;
  int width;  // threads side by side, each with four channels: a power of two
  bool rows_adjacent;

  SLICESORT_HD index_t tiles() const {
    return divide_up(in.extents().channels, channels_of_thread * width);
  }
  index_t blocks(int threads) const {
    return in.extents().batch * tiles() * divide_up(in.extents().length, threads / width);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = in.extents();
    tile_walk const here(block.rank(), block.size(), width, rows_adjacent);
    // Blocks that run at the same time work on the same channels, so they share what they read.
    index_t const parts = divide_up(e.length, here.step);
    index_t const part = block.index() % parts, rest = block.index() / parts;
    index_t const sample = rest / tiles(), row = part * here.step + here.first_row;
    index_t const channel = rest % tiles() * (channels_of_thread * width) + here.column;
    if (row >= e.length) return;
    // A chain without factors copies all rows, as every chain does those past a length.
    index_t const n = factors.factors == 0 ? 0 : valid_rows(lengths, sample, e.length);

    // A channel past the end is read as the last one and not written.
    T const* source[channels_of_thread];
    SLICESORT_UNROLL
    for (int j = 0; j < channels_of_thread; ++j) {
      index_t const c = channel + j * width;
      source[j] = in.data() + in.offset(sample, 0, c < e.channels ? c : e.channels - 1);
    }
    if (row >= n) {
      SLICESORT_UNROLL
      for (int j = 0; j < channels_of_thread; ++j)
        if (channel + j * width < e.channels)
          store_or_accumulate<Block>(mode, out(sample, row, channel + j * width),
                                     source[j][row * in.strides().length]);
      return;
    }

    A sum[channels_of_thread];
    begin(sum, source, sample, row, channel);
    std::uint32_t const* const jumps = factors.jumps_of(sample, factor);
    A const* const weights = factors.weights_of(sample, factor) + row;
    SLICESORT_UNROLL_4
    for (index_t k = 0; k < factors.links; ++k) {
      index_t const from =
          row_behind(static_cast<std::uint32_t>(row), jumps[k], static_cast<std::uint32_t>(n));
      A const weight = weights[k * factors.length];
      SLICESORT_UNROLL
      for (int j = 0; j < channels_of_thread; ++j)
        sum[j] = block.fused_multiply_add(
            weight, static_cast<A>(source[j][from * in.strides().length]), sum[j]);
    }
    SLICESORT_UNROLL
    for (int j = 0; j < channels_of_thread; ++j)
      if (channel + j * width < e.channels)
        store_or_accumulate_sum(mode, out(sample, row, channel + j * width), sum[j]);
  }

 private:
  SLICESORT_HD_INLINE void begin(A (&sum)[channels_of_thread],
                                 T const* const (&source)[channels_of_thread], index_t sample,
                                 index_t row, index_t channel) const {
    extents3 const e = in.extents();
    SLICESORT_UNROLL
    for (int j = 0; j < channels_of_thread; ++j) {
      index_t const c = channel + j * width;
      A const own = static_cast<A>(source[j][row * in.strides().length]);
      sum[j] = start == mix_start::own ? own : A(0);
      if (c >= e.channels) continue;
      if (start == mix_start::first) sum[j] = static_cast<A>(first(sample, row, c));
      if (inputs == nullptr && start != mix_start::all) continue;
      index_t const offset = (sample * e.length + row) * e.channels + c;
      A const all = (adding ? inputs[offset] : A(0)) + own;
      if (start == mix_start::all)
        sum[j] = all;
      else
        inputs[offset] = all;
    }
  }
};

SLICESORT_DETAIL_END

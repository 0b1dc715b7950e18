// SPDX-License-Identifier: Apache-2.0
// Gradient of one factor's weights: one sum over channels per row and link, in the order that
// sparse_mix/params.hpp defines. Each sum is computed by one thread. The block stages 32 channels
// at a time in shared memory.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/sparse_mix/device/packed_weights.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T>
struct link_gradient_kernel {
  static constexpr int max_threads = 128;
  static constexpr int rows_per_block = 32;
  static constexpr int links_per_stage = max_threads / rows_per_block;
  static constexpr int sums_per_thread = 4;  // sums of one row that share a load of dz
  using A = accumulator_t<T>;

  packed_weights<A> factors;  // packed for backward; reads only the distances
  index_t factor;
  tensor1<index_t const> lengths;
  tensor3<T const> input;  // input of the factor
  tensor3<T const> dz;     // gradient of the factor's output
  tensor3<T> dw;           // [samples, length, links]
  grad_mode mode;

  // Row of 32 channels in vectors of 16 bytes, padded to avoid bank conflicts.
  static constexpr int channels_per_vector = 16 / static_cast<int>(sizeof(A));
  static constexpr int pitch = channel_block + channels_per_vector;
  struct alignas(16) channel_vector {
    A value[static_cast<std::size_t>(channels_per_vector)];
  };
  template <class SharedAllocator>
  SLICESORT_HD channel_vector* shared(SharedAllocator& allocator) const {
    constexpr int rows = rows_per_block * (1 + links_per_stage);
    return allocator.template allocate<channel_vector>(
        static_cast<std::size_t>(rows * pitch / channels_per_vector));
  }

  index_t blocks() const {
    return dw.extents().batch * divide_up(dw.extents().length, rows_per_block);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    channel_vector* const staged_rows = shared(block);
    A* const staged_values = staged_rows->value;
    index_t const row_blocks = divide_up(dw.extents().length, rows_per_block);
    index_t const sample = block.index() / row_blocks;
    index_t const first_row = block.index() % row_blocks * rows_per_block;
    index_t const n = valid_rows(lengths, sample, dw.extents().length);
    std::uint32_t const* const distances = factors.distances_of(sample, factor);
    int const row_lane = block.rank() % rows_per_block, link_lane = block.rank() / rows_per_block;
    index_t const row = first_row + row_lane;

    constexpr int links_per_step = links_per_stage * sums_per_thread;
    for (index_t first_link = 0; first_link < factors.links; first_link += links_per_step) {
      A sum[static_cast<std::size_t>(sums_per_thread)];
      SLICESORT_UNROLL
      for (int i = 0; i < sums_per_thread; ++i) {
        index_t const link = first_link + i * links_per_stage + link_lane;
        bool const accumulates = mode == grad_mode::accumulate && link < factors.links && row < n;
        sum[i] = accumulates ? static_cast<A>(dw(sample, row, link)) : A(0);
      }
      for (index_t channel = 0; channel < input.extents().channels; channel += channel_block) {
        stage_rows(block, dz, 0, staged_values, sample, first_row, n, channel, -A(0));
        SLICESORT_UNROLL
        for (int i = 0; i < sums_per_thread; ++i) {
          index_t const link = first_link + i * links_per_stage;
          if (link >= factors.links) break;
          for (int stage_link = 0;
               stage_link < links_per_stage && link + stage_link < factors.links; ++stage_link) {
            std::uint32_t const distance = distances[link + stage_link];
            stage_rows(block, input, distance == 0 ? 0 : static_cast<std::uint32_t>(n) - distance,
                       staged_values + (stage_link + 1) * rows_per_block * pitch, sample, first_row,
                       n, channel, A(0));
          }
          block.sync();
          if (link + link_lane < factors.links && row < n)
            sum[i] +=
                dot(block, staged_rows + row_lane * (pitch / channels_per_vector),
                    staged_rows + (block.rank() + rows_per_block) * (pitch / channels_per_vector));
          block.sync();
        }
      }
      SLICESORT_UNROLL
      for (int i = 0; i < sums_per_thread; ++i) {
        index_t const link = first_link + i * links_per_stage + link_lane;
        if (link >= factors.links || row >= dw.extents().length) continue;
        if (row < n || mode == grad_mode::overwrite) dw(sample, row, link) = rounded<T>(sum[i]);
      }
    }
  }

 private:
  // Stages 32 channels of the rows at a distance from the block's rows. Channels past the end are
  // padded with -0 in one operand and +0 in the other. Their product changes no sum, not even -0.
  template <class Block>
  SLICESORT_HD_INLINE static void stage_rows(Block const& block, tensor3<T const> const& source,
                                             std::uint32_t distance, A* values, index_t sample,
                                             index_t first_row, index_t n, index_t first_channel,
                                             A padding) {
    constexpr int width = channel_block, step = max_threads / width;
    int const channel = block.rank() % width, first = block.rank() / width;
    index_t const c = first_channel + channel;
    bool const in_bounds = c < source.extents().channels;
    column_of<T const> const column(source, {sample, in_bounds ? c : 0});
    A* const staged = values + first * pitch + channel;
    auto const linked_row = [&](int i) -> index_t {
      return wrapped_row(static_cast<std::uint32_t>(first_row + i), distance,
                         static_cast<std::uint32_t>(n));
    };
    constexpr index_t last_row = rows_per_block - 1;
    if (first_row + last_row < n && linked_row(0) + last_row < n) {  // no link wraps
      auto walk = column.walk(linked_row(0), {first, step, rows_per_block});
      A value[static_cast<std::size_t>(rows_per_block / step)];
      SLICESORT_UNROLL
      for (int k = 0; k < rows_per_block / step; ++k) value[k] = static_cast<A>(walk.next());
      SLICESORT_UNROLL
      for (int k = 0; k < rows_per_block / step; ++k)
        staged[k * step * pitch] = in_bounds ? value[k] : padding;
      return;
    }
    SLICESORT_NO_UNROLL
    for (int i = first; i < rows_per_block && first_row + i < n; i += step)
      staged[(i - first) * pitch] = in_bounds ? static_cast<A>(column[linked_row(i)]) : padding;
  }

  // Sums the lanes pairwise. Recursive, because arrays in registers need constant indices.
  template <int Half>
  static SLICESORT_HD_INLINE void fold(A (&lanes)[channel_lanes]) {
    SLICESORT_UNROLL
    for (int l = 0; l < Half; ++l) lanes[l] += lanes[l + Half];
    if constexpr (Half > 1) fold<Half / 2>(lanes);
  }
  template <class Block>
  static SLICESORT_HD_INLINE A dot(Block& block, channel_vector const* a, channel_vector const* b) {
    A lanes[channel_lanes];
    SLICESORT_UNROLL
    for (int i = 0; i < channel_block / channels_per_vector; ++i) {
      channel_vector const a_vector = a[i], b_vector = b[i];
      SLICESORT_UNROLL
      for (int j = 0; j < channels_per_vector; ++j) {
        int const l = (i * channels_per_vector + j) % channel_lanes;
        A const previous = i * channels_per_vector < channel_lanes ? A(0) : lanes[l];
        lanes[l] = block.fused_multiply_add(a_vector.value[j], b_vector.value[j], previous);
      }
    }
    fold<channel_lanes / 2>(lanes);
    return lanes[0];
  }
};

SLICESORT_DETAIL_END

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
  static constexpr int block_rows = 32;
  static constexpr int block_links = max_threads / block_rows;  // links staged at once
  static constexpr int thread_sums = 4;  // sums of one row that share a load of dz
  using A = accumulator_t<T>;

  packed_weights<A> factors;  // packed for backward; reads only the jumps
  index_t factor;
  tensor1<index_t const> lengths;
  tensor3<T const> input;  // input of the factor
  tensor3<T const> dz;     // gradient of the factor's output
  tensor3<T> dw;           // [samples, length, links]
  grad_mode mode;

  // Row of 32 channels in pieces of 16 bytes, padded to avoid bank conflicts.
  static constexpr int piece = 16 / static_cast<int>(sizeof(A));
  static constexpr int pitch = channel_block + piece;
  struct alignas(16) channels {
    A value[static_cast<std::size_t>(piece)];
  };
  template <class SharedAllocator>
  SLICESORT_HD channels* shared(SharedAllocator& allocator) const {
    constexpr int rows = block_rows * (1 + block_links);
    return allocator.template allocate<channels>(static_cast<std::size_t>(rows * pitch / piece));
  }

  index_t blocks() const { return dw.extents().batch * divide_up(dw.extents().length, block_rows); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    channels* const memory = shared(block);
    A* const values = memory->value;
    index_t const row_blocks = divide_up(dw.extents().length, block_rows);
    index_t const sample = block.index() / row_blocks;
    index_t const first_row = block.index() % row_blocks * block_rows;
    index_t const n = valid_rows(lengths, sample, dw.extents().length);
    std::uint32_t const* const jumps = factors.jumps_of(sample, factor);
    int const lane = block.rank() % block_rows, link_lane = block.rank() / block_rows;
    index_t const row = first_row + lane;

    constexpr int step = block_links * thread_sums;
    for (index_t first_link = 0; first_link < factors.links; first_link += step) {
      A sum[static_cast<std::size_t>(thread_sums)];
      SLICESORT_UNROLL
      for (int i = 0; i < thread_sums; ++i) {
        index_t const link = first_link + i * block_links + link_lane;
        bool const accumulates = mode == grad_mode::accumulate && link < factors.links && row < n;
        sum[i] = accumulates ? static_cast<A>(dw(sample, row, link)) : A(0);
      }
      for (index_t c = 0; c < input.extents().channels; c += channel_block) {
        stage_rows(block, dz, 0, values, sample, first_row, n, c, -A(0));
        SLICESORT_UNROLL
        for (int i = 0; i < thread_sums; ++i) {
          index_t const link = first_link + i * block_links;
          if (link >= factors.links) break;
          for (int t = 0; t < block_links && link + t < factors.links; ++t) {
            std::uint32_t const distance = jumps[link + t];
            stage_rows(block, input, distance == 0 ? 0 : static_cast<std::uint32_t>(n) - distance,
                       values + (t + 1) * block_rows * pitch, sample, first_row, n, c, A(0));
          }
          block.sync();
          if (link + link_lane < factors.links && row < n)
            sum[i] += dot(block, memory + lane * (pitch / piece),
                          memory + (block.rank() + block_rows) * (pitch / piece));
          block.sync();
        }
      }
      SLICESORT_UNROLL
      for (int i = 0; i < thread_sums; ++i) {
        index_t const link = first_link + i * block_links + link_lane;
        if (link >= factors.links || row >= dw.extents().length) continue;
        if (row < n || mode == grad_mode::overwrite) dw(sample, row, link) = rounded<T>(sum[i]);
      }
    }
  }

 private:
  // Stages 32 channels of the rows at distance `jump` from the block's rows. Channels past the end
  // are padded with -0 in one operand and +0 in the other. Their product changes no sum, not even
  // -0.
  template <class Block>
  SLICESORT_HD_INLINE static void stage_rows(Block const& block, tensor3<T const> const& from,
                                             std::uint32_t jump, A* values, index_t sample,
                                             index_t first_row, index_t n, index_t first_channel,
                                             A padding) {
    constexpr int width = channel_block, step = max_threads / width;
    int const channel = block.rank() % width, first = block.rank() / width;
    index_t const c = first_channel + channel;
    bool const inside = c < from.extents().channels;
    column_of<T const> const column(from, {sample, inside ? c : 0});
    A* const to = values + first * pitch + channel;
    auto const linked_row = [&](int i) -> index_t {
      return wrapped_row(static_cast<std::uint32_t>(first_row + i), jump,
                         static_cast<std::uint32_t>(n));
    };
    constexpr index_t last = block_rows - 1;
    if (first_row + last < n && linked_row(0) + last < n) {  // no link wraps
      auto source = column.walk(linked_row(0), {first, step, block_rows});
      A value[static_cast<std::size_t>(block_rows / step)];
      SLICESORT_UNROLL
      for (int k = 0; k < block_rows / step; ++k) value[k] = static_cast<A>(source.next());
      SLICESORT_UNROLL
      for (int k = 0; k < block_rows / step; ++k)
        to[k * step * pitch] = inside ? value[k] : padding;
      return;
    }
    SLICESORT_NO_UNROLL
    for (int i = first; i < block_rows && first_row + i < n; i += step)
      to[(i - first) * pitch] = inside ? static_cast<A>(column[linked_row(i)]) : padding;
  }

  // Sums the lanes pairwise. Recursive, because arrays in registers need constant indices.
  template <int Half>
  static SLICESORT_HD_INLINE void fold(A (&lanes)[channel_lanes]) {
    SLICESORT_UNROLL
    for (int l = 0; l < Half; ++l) lanes[l] += lanes[l + Half];
    if constexpr (Half > 1) fold<Half / 2>(lanes);
  }
  template <class Block>
  static SLICESORT_HD_INLINE A dot(Block& block, channels const* a, channels const* b) {
    A lanes[channel_lanes];
    SLICESORT_UNROLL
    for (int i = 0; i < channel_block / piece; ++i) {
      channels const a_piece = a[i], b_piece = b[i];
      SLICESORT_UNROLL
      for (int j = 0; j < piece; ++j) {
        int const l = (i * piece + j) % channel_lanes;
        A const previous = i * piece < channel_lanes ? A(0) : lanes[l];
        lanes[l] = block.fused_multiply_add(a_piece.value[j], b_piece.value[j], previous);
      }
    }
    fold<channel_lanes / 2>(lanes);
    return lanes[0];
  }
};

SLICESORT_DETAIL_END

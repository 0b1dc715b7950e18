// SPDX-License-Identifier: Apache-2.0
// Results that kernels leave in the workspace: their sums over groups of heads, and their stores.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/linear_attention/device/row_sums.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Sums the gradients of the features, or of the values, over the heads of a group in order.
template <class A>
struct group_sums_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;

  index_t group, width;
  A const* addends;  // [pair of q][row][width]
  A* sums;           // [pair][row][width]

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    tile_position const position = position_of(block.index());
    index_t const first_row = position.pair * group * side.rows + position.first_row();
    for_each_element(block, position.rows, width, [&](int row, index_t c) {
      A const* const addend = addends + (first_row + row) * width + c;
      A sum = addend[0];
      SLICESORT_NO_UNROLL
      for (index_t head = 1; head < group; ++head)
        sum = block.fused_multiply_add(addend[head * side.rows * width], A(1), sum);
      sums[(position.row_offset + row) * width + c] = sum;
    });
  }
};

// Stores rows of the workspace to a tensor, and zeros to its padding rows.
template <class T>
struct scatter_rows_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  index_t const* offsets;  // null if the call has no states
  A const* rows;           // [pair][row][channels]
  index_t channels;
  tensor4<T> out;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    tile_position const position = position_of(block.index());
    index_t const offset = offsets == nullptr ? 0 : offsets[position.sample];
    for_each_element(block, linear_tile, channels, [&](int i, index_t c) {
      index_t const row = position.first_row() + i - offset;
      if (row < 0 || row >= out.extents().length) return;
      bool const is_valid = i < position.rows;
      if (!is_valid && mode == grad_mode::accumulate) return;
      A const x = is_valid ? rows[(position.row_offset + i) * channels + c] : A(0);
      store_or_accumulate_sum(mode, out(position.sample, position.head, row, c), x);
    });
  }
};

SLICESORT_DETAIL_END

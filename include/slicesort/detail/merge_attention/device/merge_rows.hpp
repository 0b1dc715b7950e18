// SPDX-License-Identifier: Apache-2.0
// Kernel of merge_attention. Each block merges some rows of a head: each thread computes the
// weights of one row, then all threads share the channels of all rows.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/merge_attention/weights.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Adjacent channels that a thread loads as one vector.
template <class T, int Width>
struct alignas(sizeof(T) * Width) merge_vector {
  T elements[std::size_t{Width}];
};

// Requires that vectors of `Width` channels are contiguous and aligned, or that Width is 1.
template <class T, int Width>
struct merge_attention_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;
  using channel_vector = merge_vector<T, Width>;

  attention_part<T> parts[attention_parts<T>::max_parts];
  int part_count;
  tensor4<T> y;      // may alias y of part 0
  tensor4<A> state;  // empty if not saved; may alias the state of part 0
  int threads_per_row, rows_per_block;

  SLICESORT_HD index_t blocks_per_head() const {
    return divide_up(y.extents().length, static_cast<index_t>(rows_per_block));
  }
  index_t blocks() const { return y.extents().batch * y.extents().heads * blocks_per_head(); }

  template <class SharedAllocator>
  SLICESORT_HD A* shared(SharedAllocator& memory) const {
    return memory.template allocate<A>(static_cast<std::size_t>(rows_per_block * part_count));
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents4 const e = y.extents();
    A* const weights = shared(block);  // [row][part]
    index_t const head_index = block.index() / blocks_per_head();
    index_t const sample = head_index / e.heads, head = head_index % e.heads;
    index_t const first_row = block.index() % blocks_per_head() * rows_per_block;
    int const rows = e.length - first_row < rows_per_block ? static_cast<int>(e.length - first_row)
                                                           : rows_per_block;

    for (int row = block.rank(); row < rows; row += block.size()) {
      auto const merged = merge_weights(
          block, part_count,
          [&](int p) {
            return load_statistics(parts[p].state, {sample, head}, first_row + row);
          },
          weights + row * part_count);
      if (state.data() == nullptr) continue;
      save_statistics<A>(state, {sample, head}, first_row + row,
                         {rounded<A>(merged.max), rounded<A>(merged.sum)});
    }
    block.sync();

    int const rows_at_once = block.size() / threads_per_row;
    for (int row = block.rank() / threads_per_row; row < rows; row += rows_at_once)
      for (index_t c = block.rank() % threads_per_row * Width; c < e.channels;
           c += threads_per_row * Width)
        merge(block, weights + row * part_count, sample, head, first_row + row, c);
  }

 private:
  template <class Block>
  SLICESORT_HD_INLINE void merge(Block& block, A const* weights, index_t sample, index_t head,
                                 index_t row, index_t c) const {
    // Starts at -0, the neutral element of addition: adding 0 would turn -0 into +0.
    A sums[std::size_t{Width}];
    SLICESORT_UNROLL
    for (A& sum : sums) sum = A(-0.0F);
    bool has_weight = false;
    SLICESORT_UNROLL_4
    for (int p = 0; p < part_count; ++p) {
      channel_vector const values =
          *reinterpret_cast<channel_vector const*>(&parts[p].y(sample, head, row, c));
      A const weight = weights[p];
      if (is_zero(weight)) continue;
      has_weight = true;
      SLICESORT_UNROLL
      for (int i = 0; i < Width; ++i)
        sums[i] = block.fused_multiply_add(static_cast<A>(values.elements[i]), weight, sums[i]);
    }
    channel_vector merged;
    SLICESORT_UNROLL
    for (int i = 0; i < Width; ++i) merged.elements[i] = rounded<T>(has_weight ? sums[i] : A(0));
    *reinterpret_cast<channel_vector*>(&y(sample, head, row, c)) = merged;
  }
};

SLICESORT_DETAIL_END

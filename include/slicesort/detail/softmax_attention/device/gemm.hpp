// SPDX-License-Identifier: Apache-2.0
// Matrix products of materialized attention for several heads of a sample.
#pragma once

#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// One matrix per head.
template <class T>
struct head_matrices {
  T* data;
  index_t row_stride, column_stride, head_stride;

  SLICESORT_HD T& operator()(index_t head, index_t row, index_t column) const {
    return data[head * head_stride + row * row_stride + column * column_stride];
  }
  SLICESORT_HD head_matrices transposed() const {
    return {data, column_stride, row_stride, head_stride};
  }
  template <class U = T, std::enable_if_t<!std::is_const_v<U>, int> = 0>
  SLICESORT_HD operator head_matrices<U const>() const {
    return {data, row_stride, column_stride, head_stride};
  }
};

// Kind of a matrix axis, which determines whether lengths limit it.
enum class axis_kind { channels, queries, keys };
struct matrix_side {
  axis_kind kind;
  index_t size;
};

// c = alpha * a * b, or c += alpha * a * b. Elements past a sample's length are treated as 0 and
// not read. Grouped heads share a matrix b, or are summed: head h of c is the sum over heads
// `heads_per_sum` * h to `heads_per_sum` * (h + 1) - 1 of a and b, in order.
template <class T, class Out>
struct multiply_heads_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;
  using vector16 = tile_vector16<T>;
  static constexpr int rows_per_block = 64, columns_per_block = 64;
  static constexpr int k_step = sizeof(T) == 8 ? 32 : 64;
  static constexpr int vectors_per_row = k_step / elements_per_vector16<T>;

  A alpha;
  head_matrices<T const> a, b;
  head_matrices<Out> c;
  matrix_side rows, columns, depth;
  index_t heads;  // of c
  index_t heads_per_b = 1, heads_per_sum = 1;
  grad_mode mode;
  attention_lengths lengths;
  index_t sample;

  template <class SharedAllocator>
  SLICESORT_HD vector16* shared(SharedAllocator& allocator) const {
    constexpr int vectors_per_block = (rows_per_block + columns_per_block) * vectors_per_row;
    return allocator.template allocate<vector16>(static_cast<std::size_t>(vectors_per_block));
  }
  SLICESORT_HD index_t row_tiles() const { return divide_up(rows.size, rows_per_block); }
  SLICESORT_HD index_t column_tiles() const { return divide_up(columns.size, columns_per_block); }
  index_t blocks() const { return heads * row_tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    vector16* const a_tile = shared(block);
    vector16* const b_tile = a_tile + rows_per_block * vectors_per_row;
    index_t const column = block.index() % column_tiles() * columns_per_block;
    index_t const tile_index = block.index() / column_tiles();
    index_t const row = tile_index % row_tiles() * rows_per_block, head = tile_index / row_tiles();
    index_t const valid_depth = valid_extent(depth);
    register_tile<A, 1, columns_per_block / 8> sums;
    sums.clear();
    SLICESORT_NO_UNROLL
    // Counted in 32 bits (check_kv_heads), which saves registers.
    for (unsigned term = 0; term < static_cast<unsigned>(heads_per_sum); ++term) {
      index_t const a_head = head * heads_per_sum + term;
      head_rows<T> const a_rows = rows_of_head(a, a_head, valid_extent(rows), valid_depth),
                         b_rows = rows_of_head(b.transposed(), a_head / heads_per_b,
                                               valid_extent(columns), valid_depth);
      SLICESORT_NO_UNROLL
      for (index_t k = 0; k < valid_depth; k += k_step) {
        block.sync();
        load_tile_async<k_step>(block, a_tile, a_rows, row, rows_per_block, k);
        load_tile_async<k_step>(block, b_tile, b_rows, column, columns_per_block, k);
        block.await_copies();
        block.sync();
        block.template mma_abt<k_step>(
            sums, a_tile + block.rank() / 32 * (16 * vectors_per_row), b_tile,
            valid_depth - k < k_step ? static_cast<int>(valid_depth - k) : k_step);
      }
    }
    SLICESORT_UNROLL
    for (int j = 0; j < sums.count; ++j) sums[j] *= alpha;
    tensor4<Out> const output(c.data, {1, heads, rows.size, columns.size},
                              {0, c.head_stride, c.row_stride, c.column_stride});
    store_tile<columns_per_block>(block, reinterpret_cast<A*>(a_tile), sums, 0,
                                  head_results<Out>(output, {0, head}, valid_extent(rows), mode),
                                  row, 1, column);
  }

  // Turns a sum over heads whose matrices are adjacent along the depth into one product. For
  // samples without lengths.
  void join_adjacent_heads() {
    if (heads_per_sum == 1 || a.head_stride != depth.size * a.column_stride ||
        b.head_stride != depth.size * b.row_stride)
      return;
    depth.size *= heads_per_sum;
    a.head_stride *= heads_per_sum, b.head_stride *= heads_per_sum;
    heads_per_sum = 1;
  }

 private:
  SLICESORT_HD index_t valid_extent(matrix_side const& side) const {
    if (side.kind == axis_kind::channels) return side.size;
    return valid_rows(side.kind == axis_kind::queries ? lengths.queries : lengths.keys, sample,
                      side.size);
  }
  static SLICESORT_HD head_rows<T> rows_of_head(head_matrices<T const> const& matrices,
                                                index_t head, index_t valid, index_t channels) {
    return {
        tensor4<T const>(matrices.data, {1, head + 1, valid, channels},
                         {0, matrices.head_stride, matrices.row_stride, matrices.column_stride}),
        {0, head},
        valid};
  }
};

template <class T>
gemm_operand operand_of(head_matrices<T> const& matrices) {
  return {matrices.data, kind_of_element<std::remove_const_t<T>>(), matrices.row_stride,
          matrices.column_stride, matrices.head_stride};
}

// Multiplies with the caller's BLAS, or with the kernel above if the BLAS rejects the call. For
// heads without groups.
template <class Grid, class T, class Out>
void multiply_batch(Grid const& grid, gemm_callback const& gemm,
                    multiply_heads_kernel<T, Out> const& kernel) {
  gemm_call call{};
  call.rows = kernel.rows.size;
  call.columns = kernel.columns.size;
  call.depth = kernel.depth.size;
  call.matrices = kernel.heads;
  call.alpha = static_cast<double>(kernel.alpha);
  call.beta = kernel.mode == grad_mode::accumulate ? 1.0 : 0.0;
  call.a = operand_of(kernel.a);
  call.b = operand_of(kernel.b);
  call.c = operand_of(kernel.c);
  if (!grid.multiply(gemm, call)) launch(grid, kernel);
}

// Multiplies with the caller's BLAS if samples have no lengths. Query heads that share b are a call
// with a stride of 0. A sum is one product of a larger depth if the heads of a group are adjacent,
// else a call for each head; 16-bit types use the kernel above instead, which rounds a sum once.
template <class Grid, class T, class Out>
void multiply_heads(Grid const& grid, gemm_callback const& gemm,
                    multiply_heads_kernel<T, Out> kernel) {
  if (kernel.blocks() == 0) return;
  bool const has_lengths =
      kernel.lengths.queries.data() != nullptr || kernel.lengths.keys.data() != nullptr;
  if (gemm.evaluate == nullptr || has_lengths || kernel.depth.size == 0)
    return launch(grid, kernel);
  kernel.join_adjacent_heads();
  index_t const shared = kernel.heads_per_b, terms = kernel.heads_per_sum;
  if (terms > 1 && !std::is_same_v<Out, accumulator_t<T>>) return launch(grid, kernel);
  index_t const calls = shared > 1 ? kernel.heads / shared : terms;
  for (index_t i = 0; i < calls; ++i) {
    auto part = kernel;
    part.heads_per_b = part.heads_per_sum = 1;
    if (shared > 1) {
      part.heads = shared;
      part.a.data += i * shared * part.a.head_stride;
      part.b.data += i * part.b.head_stride, part.b.head_stride = 0;
      part.c.data += i * shared * part.c.head_stride;
    } else {
      part.a.data += i * part.a.head_stride, part.a.head_stride *= terms;
      part.b.data += i * part.b.head_stride, part.b.head_stride *= terms;
      if (i > 0) part.mode = grad_mode::accumulate;
    }
    multiply_batch(grid, gemm, part);
  }
}

SLICESORT_DETAIL_END

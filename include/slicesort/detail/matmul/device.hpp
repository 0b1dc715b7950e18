// SPDX-License-Identifier: Apache-2.0
// Device backend of matmul: a kernel with a block for each tile of c.
#pragma once

#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/matmul/product.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class T>
struct matmul_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;
  using vector16 = tile_vector16<T>;
  static constexpr int rows_per_block = 64, columns_per_block = 64;
  static constexpr int k_step = sizeof(T) == 8 ? 32 : 64;
  static constexpr int vectors_per_row = k_step / elements_per_vector16<T>;

  A scale;
  tensor4<T const> a, b_transposed;  // [batch, heads, rows, depth], [batch, heads, columns, depth]
  tensor4<T> c;
  index_t samples_per_sum, heads_per_sum;
  grad_mode mode;

  explicit matmul_kernel(matmul_forward<T> const& params)
      : scale(static_cast<A>(params.scale)),
        a(params.a),
        b_transposed(params.b.data(),
                     {params.b.extents().batch, params.b.extents().heads,
                      params.b.extents().channels, params.b.extents().length},
                     {params.b.strides().batch, params.b.strides().heads,
                      params.b.strides().channels, params.b.strides().length}),
        c(params.c),
        samples_per_sum(params.samples_per_sum()),
        heads_per_sum(params.heads_per_sum()),
        mode(params.mode) {}

  template <class SharedAllocator>
  SLICESORT_HD vector16* shared(SharedAllocator& allocator) const {
    constexpr int vectors_per_block = (rows_per_block + columns_per_block) * vectors_per_row;
    return allocator.template allocate<vector16>(static_cast<std::size_t>(vectors_per_block));
  }
  SLICESORT_HD index_t row_tiles() const { return divide_up(c.extents().length, rows_per_block); }
  SLICESORT_HD index_t column_tiles() const {
    return divide_up(c.extents().channels, columns_per_block);
  }
  index_t blocks() const {
    return c.extents().batch * c.extents().heads * row_tiles() * column_tiles();
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    vector16* const a_tile = shared(block);
    vector16* const b_tile = a_tile + rows_per_block * vectors_per_row;
    index_t const column = block.index() % column_tiles() * columns_per_block;
    index_t const tile = block.index() / column_tiles();
    index_t const row = tile % row_tiles() * rows_per_block, matrix = tile / row_tiles();
    head_index const first{matrix / c.extents().heads, matrix % c.extents().heads};
    index_t const depth = a.extents().channels;
    register_tile<A, 1, columns_per_block / 8> sums;
    sums.clear();
    SLICESORT_NO_UNROLL
    for (index_t term = 0; term < samples_per_sum * heads_per_sum; ++term) {
      head_index const head{first.sample + term / heads_per_sum, first.head + term % heads_per_sum};
      head_rows<T> const a_rows(a, head, a.extents().length),
          b_rows(b_transposed, head, b_transposed.extents().length);
      SLICESORT_NO_UNROLL
      for (index_t k = 0; k < depth; k += k_step) {
        block.sync();
        load_tile_async<k_step>(block, a_tile, a_rows, row, rows_per_block, k);
        load_tile_async<k_step>(block, b_tile, b_rows, column, columns_per_block, k);
        block.await_copies();
        block.sync();
        block.template mma_abt<k_step>(sums, a_tile + block.rank() / 32 * (16 * vectors_per_row),
                                       b_tile,
                                       depth - k < k_step ? static_cast<int>(depth - k) : k_step);
      }
    }
    SLICESORT_UNROLL
    for (int i = 0; i < sums.count; ++i) sums[i] *= scale;
    store_tile<columns_per_block>(block, reinterpret_cast<A*>(a_tile), sums, 0,
                                  head_results<T>(c, first, c.extents().length, mode), row, 1,
                                  column);
  }
};

template <>
struct device_implementation<matmul_op> : needs_no_workspace {
  template <class Grid, class T>
  static void forward(Grid const& grid, matmul_forward<T> const& params, workspace) {
    multiply_by_gemm(
        params,
        [&](gemm_callback const& gemm, gemm_call const& call) { return grid.multiply(gemm, call); },
        [&](matmul_forward<T> const& product) { launch(grid, matmul_kernel<T>(product)); });
  }
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Host backend of matmul. A task computes one tile of c.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/matrix_product.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/matmul/product.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <>
struct host_implementation<matmul_op> {
  template <class T>
  static void plan(host_exec const& exec, matmul_shape const& shape, arena& memory) {
    (void)memory_of<T>(exec, shape, memory);
  }

  template <class T>
  static void forward(host_exec const& exec, matmul_forward<T> const& params, workspace memory) {
    multiply_by_gemm(
        params,
        [](gemm_callback const& gemm, gemm_call const& call) {
          return gemm.multiply(nullptr, call);
        },
        [&](matmul_forward<T> const& product) { multiply(exec, product, memory); });
  }

 private:
  template <class T>
  static per_thread<matrix_product<T>, index_t> memory_of(host_exec const& exec,
                                                          matmul_shape const& shape,
                                                          arena& memory) {
    using product = matrix_product<T>;
    // A sum of no products is a tile of zeros.
    amount const matrices = amount(std::max<index_t>(shape.a.batch, 1)) *
                            std::max<index_t>(shape.a.heads, 1),
                 tiles = matrices * product::row_blocks(shape.a.length) *
                         product::column_panels(shape.b.channels);
    return {memory, exec.threads, tiles, product::tile_depth};
  }

  template <class T>
  static void multiply(host_exec const& exec, matmul_forward<T> const& params, workspace memory) {
    using product = matrix_product<T>;
    extents4 const c = params.c.extents();
    arena allocator(memory);
    auto const threads = memory_of<T>(exec, params.shape(), allocator);
    gemm_kernels<T> const kernels(exec.instructions);
    index_t const row_blocks = product::row_blocks(c.length),
                  panels = product::column_panels(c.channels);
    for_each_task(exec, c.batch * c.heads * row_blocks * panels, [&](unsigned thread, index_t t) {
      index_t const matrix = t / (row_blocks * panels), sample = matrix / c.heads,
                    head = matrix % c.heads;
      auto const tile = product::tile_at(t / panels % row_blocks, t % panels, c.length, c.channels);
      threads[thread].multiply_tile(
          kernels, tile, params.depth(), params.samples_per_sum() * params.heads_per_sum(),
          static_cast<accumulator_t<T>>(params.scale),
          [&](index_t term) {
            return operands(params, sample + term / params.heads_per_sum(),
                            head + term % params.heads_per_sum());
          },
          matrix_result<T>::from_elements(&params.c(sample, head, 0, 0), params.c.strides().length,
                                          params.c.strides().channels, params.mode));
    });
  }

  template <class T>
  static typename matrix_product<T>::operands operands(matmul_forward<T> const& params,
                                                       index_t sample, index_t head) {
    auto const operand = [&](tensor4<T const> x) {
      strides4 const s = x.strides();
      return matrix_operand<T>::from_elements(x.data() + sample * s.batch + head * s.heads,
                                              s.length, s.channels);
    };
    return {operand(params.a), operand(params.b)};
  }
};

SLICESORT_DETAIL_END

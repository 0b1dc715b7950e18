// SPDX-License-Identifier: Apache-2.0
/// Matrix products on the host by the library's own loops, for models around its operators where
/// there is no BLAS. Optional, and not part of the umbrella.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/host/matrix_product.hpp>
#include <slicesort/detail/host/row_io.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/host/simd/row_transfer.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// The kernels of a product, on one instruction set.
template <class T>
struct gemm_kernels : row_moves<T> {
  using A = accumulator_t<T>;

  void (*multiply)(product_call<A> const&);

  explicit gemm_kernels(isa wanted) {
    with_isa(fused_isa(wanted), [&](auto target) { choose_gemm_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_TEXT <slicesort/detail/host/gemm_kernels.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// Multiplies matrices of float, double, float16 and bfloat16, of any strides and a, b and c of one
/// type, on the calling thread.
///
/// - **Arithmetic** every element is a sum in the order of the depth, by fused multiply-adds in the
///   accumulator's type (double for double, else float), times alpha, rounded once. With beta 1 the
///   product is added to c. So bits depend on no instruction set and no block size.
/// - **Workspace** `workspace_bytes`; nothing is allocated.
/// - **Cost** with AVX-512 and float about that of OpenBLAS's best kernels up to 128 channels, and
///   1.1 to 1.4 times as much at 512 (docs/learning).
struct host_gemm {
  static constexpr bool host_memory = true;
  isa instructions = isa::best;

  /// Bytes that `multiply` needs. The call's data are not read.
  static std::size_t workspace_bytes(gemm_call const& call) {
    return by_type(call.c.kind, [&](auto element) {
      using T = decltype(element);
      detail::arena counting;
      detail::matrix_product<T>(counting, call.depth);
      return counting.bytes();
    });
  }
  /// Returns false, and writes nothing, if the types differ, beta is neither 0 nor 1, or the
  /// workspace is too small.
  bool multiply(gemm_call const& call, workspace memory) const {
    bool const one_type = call.a.kind == call.c.kind && call.b.kind == call.c.kind;
    if (!one_type || (call.beta != 0 && call.beta != 1) || memory.bytes < workspace_bytes(call))
      return false;
    by_type(call.c.kind, [&](auto element) {
      run<decltype(element)>(call, memory);
      return std::size_t{0};
    });
    return true;
  }

 private:
  template <class F>
  static std::size_t by_type(element_kind kind, F const& f) {
    switch (kind) {
      case element_kind::f32:
        return f(float{});
      case element_kind::f64:
        return f(double{});
      case element_kind::f16:
        return f(float16{});
      case element_kind::bf16:
        break;
    }
    return f(bfloat16{});
  }
  template <class T>
  void run(gemm_call const& call, workspace w) const {
    using A = detail::accumulator_t<T>;
    detail::gemm_kernels<T> const use(instructions);
    detail::arena memory(w);
    detail::matrix_product<T> const product(memory, call.depth);
    detail::row_io<T> const io(use);
    auto const matrix = [](gemm_operand const& m, index_t number) {
      return detail::matrix_operand<T>::of(static_cast<T const*>(m.data) + number * m.matrix_stride,
                                           m.row_stride, m.column_stride);
    };
    for (index_t i = 0; i < call.matrices; ++i)
      product.form(use, call.rows, call.columns, call.depth, matrix(call.a, i), matrix(call.b, i),
                   static_cast<A>(call.alpha),
                   [&](A const* tile, index_t pitch, index_t row, index_t rows, index_t column,
                       index_t columns) {
                     T* const to = static_cast<T*>(const_cast<void*>(call.c.data)) +
                                   i * call.c.matrix_stride + row * call.c.row_stride +
                                   column * call.c.column_stride;
                     io.store(tile, pitch, rows, columns, to, call.c.row_stride,
                              call.c.column_stride,
                              call.beta == 1 ? grad_mode::accumulate : grad_mode::overwrite);
                   });
  }
};

SLICESORT_OPERATORS_END

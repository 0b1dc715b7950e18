// SPDX-License-Identifier: Apache-2.0
/// Matrix products on the host without a BLAS, for layers around the operators. Optional; not part
/// of the umbrella header.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/host/matrix_product.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

SLICESORT_OPERATORS_BEGIN

/// Multiplies matrices of float, double, float16 or bfloat16 on the calling thread. Strides are
/// arbitrary; a, b and c have the same type.
///
/// - **Arithmetic** each element accumulates fused multiply-adds over k in ascending order in the
///   accumulator's type (double for double, else float), is scaled by alpha and rounded once. With
///   beta 1 the product is added to c. Results do not depend on the instruction set or block sizes.
/// - **Workspace** `workspace_bytes`; nothing is allocated.
/// - **Cost** with AVX-512 and float, 1.1 to 1.45 times as fast as the AVX-512 kernels of OpenBLAS
///   at 64 and 128 channels, and 0.8 to 1.1 times at 512 (docs/learning).
struct host_gemm {
  static constexpr bool host_memory = true;
  isa instructions = isa::best;

  /// Bytes that `multiply` needs. Does not dereference the operands.
  static std::size_t workspace_bytes(gemm_call const& call) {
    return with_type(call.c.kind, [&](auto element) {
      using T = decltype(element);
      detail::arena measuring;
      detail::matrix_product<T>(measuring, call.depth);
      return measuring.bytes();
    });
  }
  /// Returns false without writing if the types differ, beta is neither 0 nor 1, or the workspace
  /// is too small.
  bool multiply(gemm_call const& call, workspace memory) const {
    bool const same_type = call.a.kind == call.c.kind && call.b.kind == call.c.kind;
    if (!same_type || (call.beta != 0 && call.beta != 1)) return false;
    std::size_t const bytes = workspace_bytes(call);
    if (memory.grow != nullptr && memory.bytes < bytes) memory = memory.grow(memory.owner, bytes);
    if (memory.bytes < bytes) return false;
    with_type(call.c.kind, [&](auto element) {
      run<decltype(element)>(call, memory);
      return std::size_t{0};
    });
    detail::clear_upper_halves();
    return true;
  }

 private:
  template <class F>
  static std::size_t with_type(element_kind kind, F const& f) {
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
  void run(gemm_call const& call, workspace memory) const {
    using A = detail::accumulator_t<T>;
    detail::gemm_kernels<T> const kernels(instructions);
    detail::arena allocator(memory);
    detail::matrix_product<T> const product(allocator, call.depth);
    auto const matrix = [](gemm_operand const& m, index_t matrix_index) {
      return detail::matrix_operand<T>::from_elements(
          static_cast<T const*>(m.data) + matrix_index * m.matrix_stride, m.row_stride,
          m.column_stride);
    };
    grad_mode const mode = call.beta == 1 ? grad_mode::accumulate : grad_mode::overwrite;
    for (index_t i = 0; i < call.matrices; ++i)
      product.multiply(
          kernels, call.rows, call.columns, call.depth, matrix(call.a, i), matrix(call.b, i),
          static_cast<A>(call.alpha),
          detail::matrix_result<T>::from_elements(
              static_cast<T*>(const_cast<void*>(call.c.data)) + i * call.c.matrix_stride,
              call.c.row_stride, call.c.column_stride, mode));
  }
};

SLICESORT_OPERATORS_END

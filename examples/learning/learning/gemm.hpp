// SPDX-License-Identifier: Apache-2.0
// Matrix products of all layers, computed by a BLAS if configured, otherwise by the library.
#pragma once

#include "learning/context.hpp"

#include <slicesort/policies/gemm.hpp>

#ifdef LEARNING_USE_BLAS
#  include <slicesort/policies/blas.hpp>
#else
#  include <slicesort/policies/host_gemm.hpp>
#endif

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <vector>

// OpenBLAS's thread-count setter; null with another BLAS. Its threads would oversubscribe the pool,
// and their number changes the rounding.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int);

namespace learning {

/// Rows per partial product when a weight gradient is accumulated.
inline constexpr index_t row_chunk = 2048;

#ifdef LEARNING_USE_BLAS
inline constexpr char const* gemm_name = "BLAS";
inline bool multiply(ss::gemm_call const& call) { return ss::cblas{}.multiply(nullptr, call); }
#else
inline constexpr char const* gemm_name = "own";
// Keeps one workspace per thread, sized for the largest product so far and for at least
// `row_chunk` rows. The number of valid rows varies between steps.
inline bool multiply(ss::gemm_call const& call) {
  static thread_local std::vector<std::byte> scratch;
  ss::gemm_call largest = call;
  largest.depth = std::max(call.depth, row_chunk);
  scratch.resize(std::max(scratch.size(), ss::host_gemm::workspace_bytes(largest)));
  return ss::host_gemm{}.multiply(call, scratch);
}
#endif

/// Makes OpenBLAS single-threaded. Call once, before the first product.
inline void use_single_threaded_blas() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

enum class transposed { none, a, b };

/// Computes `c = op(a) op(b)`, or `c += op(a) op(b)` if `accumulate`, on the calling thread.
template <class T>
void multiply(matrix<T const> a, matrix<T const> b, matrix<T> c,
              transposed transpose = transposed::none, bool accumulate = false) {
  constexpr auto kind = std::is_same_v<T, float> ? ss::element_kind::f32 : ss::element_kind::f64;
  bool const a_transposed = transpose == transposed::a, b_transposed = transpose == transposed::b;
  ss::gemm_call call{};
  call.rows = c.rows, call.columns = c.columns, call.depth = a_transposed ? a.rows : a.columns;
  call.matrices = 1;
  call.alpha = 1, call.beta = accumulate ? 1 : 0;
  auto const operand = [](auto m, bool is_transposed) {
    return is_transposed ? ss::gemm_operand{m.data, kind, 1, m.stride, 0}
                         : ss::gemm_operand{m.data, kind, m.stride, 1, 0};
  };
  call.a = operand(a, a_transposed), call.b = operand(b, b_transposed), call.c = operand(c, false);
  if (c.rows > 0 && c.columns > 0 && !multiply(call))
    throw std::logic_error("learning::multiply: no product of such matrices");
}

}  // namespace learning

// SPDX-License-Identifier: Apache-2.0
// Matrix products of all layers: by a BLAS if configured, otherwise by the library.
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

// Defined by OpenBLAS, whose threads would compete with the pool's, and whose number changes bits.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int);

namespace learning {

/// Depth of the partial products that a weight gradient is accumulated from.
inline constexpr index_t rows_at_once = 2048;

#ifdef LEARNING_USE_BLAS
inline constexpr char const* gemm_name = "BLAS";
inline bool multiply(ss::gemm_call const& call) { return ss::cblas{}.multiply(nullptr, call); }
#else
inline constexpr char const* gemm_name = "own";
// Each thread keeps a workspace for its largest product, but at least for one of `rows_at_once`
// rows, since the number of valid rows of a tile changes between steps.
inline bool multiply(ss::gemm_call const& call) {
  static thread_local std::vector<std::byte> scratch;
  ss::gemm_call greatest = call;
  greatest.depth = std::max(call.depth, rows_at_once);
  scratch.resize(std::max(scratch.size(), ss::host_gemm::workspace_bytes(greatest)));
  return ss::host_gemm{}.multiply(call, scratch);
}
#endif

/// Makes OpenBLAS single-threaded. Call once, before the first product.
inline void use_single_threaded_blas() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

enum class transposed { none, a, b };

/// Computes `c = op(a) op(b)`, or `c += op(a) op(b)` if `adds`, on the calling thread.
template <class T>
void multiply(matrix<T const> a, matrix<T const> b, matrix<T> c,
              transposed which = transposed::none, bool adds = false) {
  constexpr auto kind = std::is_same_v<T, float> ? ss::element_kind::f32 : ss::element_kind::f64;
  bool const ta = which == transposed::a, tb = which == transposed::b;
  ss::gemm_call call{};
  call.rows = c.rows, call.columns = c.columns, call.depth = ta ? a.rows : a.columns;
  call.matrices = 1;
  call.alpha = 1, call.beta = adds ? 1 : 0;
  auto const operand = [](auto m, bool turned) {
    return turned ? ss::gemm_operand{m.data, kind, 1, m.stride, 0}
                  : ss::gemm_operand{m.data, kind, m.stride, 1, 0};
  };
  call.a = operand(a, ta), call.b = operand(b, tb), call.c = operand(c, false);
  if (c.rows > 0 && c.columns > 0 && !multiply(call))
    throw std::logic_error("learning::multiply: no product of such matrices");
}

}  // namespace learning

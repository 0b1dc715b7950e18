// SPDX-License-Identifier: Apache-2.0
// The matrix-product callback of a problem.
#pragma once

#include <slicesort/gemm.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

// Multiplies matrices for a caller's BLAS. Null selects the library's own loops.
struct gemm_rule {
  void const* self = nullptr;
  bool (*evaluate)(void const* self, CUstream_st* stream, gemm_call const& call) = nullptr;

  bool multiply(CUstream_st* stream, gemm_call const& call) const {
    return evaluate != nullptr && evaluate(self, stream, call);
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

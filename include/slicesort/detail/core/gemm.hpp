// SPDX-License-Identifier: Apache-2.0
// The matrix-product callback of a problem.
#pragma once

#include <slicesort/policies/gemm.hpp>

SLICESORT_DETAIL_BEGIN

// Multiplies matrices for a caller's BLAS. Null selects the library's own loops.
struct gemm_rule {
  void const* self = nullptr;
  bool (*evaluate)(void const* self, CUstream_st* stream, gemm_call const& call) = nullptr;

  bool multiply(CUstream_st* stream, gemm_call const& call) const {
    return evaluate != nullptr && evaluate(self, stream, call);
  }
};

SLICESORT_DETAIL_END

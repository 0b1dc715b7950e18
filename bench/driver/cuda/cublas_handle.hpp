// SPDX-License-Identifier: Apache-2.0
// The one cuBLAS handle of the bench.
#pragma once

#include "device.hpp"

#include <cublas_v2.h>

#include <cstddef>
#include <stdexcept>

namespace bench {

// A cuBLAS handle with a workspace of its own, so that its calls can be captured in a graph.
inline cublasHandle_t cublas_handle() {
  static device_buffer<unsigned char> const workspace(std::size_t{32} << 20);
  static cublasHandle_t const one = [] {
    cublasHandle_t made = nullptr;
    if (cublasCreate(&made) != CUBLAS_STATUS_SUCCESS ||
        cublasSetStream(made, stream()) != CUBLAS_STATUS_SUCCESS ||
        cublasSetWorkspace(made, workspace.data(), workspace.bytes()) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS cannot be started");
    return made;
  }();
  return one;
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
/// Thrust's execution policies as this library's. Optional; needs a CUDA compiler and Thrust, which
/// comes with the CUDA toolkit. No other header of the library includes it. Thrust's vectors need
/// no header: `view(vector, extents)` takes them, and they convert to `workspace`.
#pragma once

#include <slicesort/exec.hpp>

#include <thrust/system/cuda/execution_policy.h>

SLICESORT_TYPES_BEGIN

/// The stream of a Thrust policy: `on(thrust::cuda::par.on(stream))`. Unlike Thrust's algorithms, a
/// call with it never waits.
template <class Policy>
SLICESORT_ABI_TAG exec::cuda on(thrust::cuda_cub::execution_policy<Policy> const& policy) {
  return {
      thrust::cuda_cub::stream(const_cast<thrust::cuda_cub::execution_policy<Policy>&>(policy))};
}

SLICESORT_TYPES_END

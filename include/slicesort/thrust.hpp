// SPDX-License-Identifier: Apache-2.0
/// Converts Thrust's execution policies. Optional: no other header includes it. Requires a CUDA
/// compiler and Thrust, which is part of the CUDA toolkit. Thrust's vectors work without this
/// header: `view(vector, extents)` accepts them, and they convert to `workspace`.
#pragma once

#include <slicesort/exec.hpp>

#include <thrust/system/cuda/execution_policy.h>

SLICESORT_TYPES_BEGIN

/// Converts a Thrust policy to a policy for its stream: `cuda_exec(thrust::cuda::par.on(stream))`.
/// Unlike Thrust's algorithms, a call with it never waits.
///
/// - **Errors** none.
template <class Policy>
SLICESORT_ABI_TAG exec::cuda cuda_exec(thrust::cuda_cub::execution_policy<Policy> const& policy) {
  return {
      thrust::cuda_cub::stream(const_cast<thrust::cuda_cub::execution_policy<Policy>&>(policy))};
}
template <class Policy>
exec::cuda on [[deprecated("slicesort: renamed to cuda_exec")]] (
    thrust::cuda_cub::execution_policy<Policy> const& policy) {
  return cuda_exec(policy);
}

SLICESORT_TYPES_END

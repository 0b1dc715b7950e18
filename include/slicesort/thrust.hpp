// SPDX-License-Identifier: Apache-2.0
/// Thrust's containers and execution policies as this library's views and policies. Optional; needs
/// a CUDA compiler and Thrust, which comes with the CUDA toolkit. Nothing else here includes it.
#pragma once

#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/device_vector.h>
#include <thrust/system/cuda/execution_policy.h>

#include <cstddef>

namespace slicesort {
inline namespace v0 {

/// The vector's elements as a contiguous tensor; it must hold `shape.size()` of them.
template <class T, class Allocator>
tensor3<T> view(thrust::device_vector<T, Allocator>& vector, extents3 shape) {
  return {thrust::raw_pointer_cast(vector.data()), shape};
}
template <class T, class Allocator>
tensor3<T const> view(thrust::device_vector<T, Allocator> const& vector, extents3 shape) {
  return {thrust::raw_pointer_cast(vector.data()), shape};
}

/// The whole vector along one axis: lengths, or weights.
template <class T, class Allocator>
tensor1<T> view(thrust::device_vector<T, Allocator>& vector) {
  return {thrust::raw_pointer_cast(vector.data()), static_cast<index_t>(vector.size())};
}
template <class T, class Allocator>
tensor1<T const> view(thrust::device_vector<T, Allocator> const& vector) {
  return {thrust::raw_pointer_cast(vector.data()), static_cast<index_t>(vector.size())};
}

/// The vector's memory as scratch for one call.
template <class T, class Allocator>
workspace lend(thrust::device_vector<T, Allocator>& vector) {
  return {thrust::raw_pointer_cast(vector.data()), vector.size() * sizeof(T)};
}

/// The stream of a Thrust policy: `on(thrust::cuda::par.on(stream))`. Unlike Thrust's algorithms, a
/// call with it never waits.
template <class Policy>
exec::cuda on(thrust::cuda_cub::execution_policy<Policy> const& policy) {
  return {
      thrust::cuda_cub::stream(const_cast<thrust::cuda_cub::execution_policy<Policy>&>(policy))};
}

}  // namespace v0
}  // namespace slicesort

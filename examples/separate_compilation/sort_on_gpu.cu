// SPDX-License-Identifier: Apache-2.0
// Sorts on the GPU. The only file that needs a CUDA compiler.
#include "sort_on_gpu.hpp"

#include "../support/device_array.hpp"

#include <slicesort/slicesort.hpp>

namespace ss = slicesort;

// [snippet]
void sort_on_gpu(ss::exec::cuda exec, ss::tensor3<float const> x, ss::tensor3<float> y,
                 ss::index_tensor3 perm) {
  ss::slicing_sort<> const op;
  ss::basic_scratch memory(stream_bytes(exec.stream));  // device memory, in the stream's order
  op.forward(exec, x, y, perm, memory);
}
// [/snippet]

std::vector<float> sorted_on_gpu(std::vector<float> const& values, ss::extents3 shape) {
  ss::exec::cuda const exec{};
  device_array<float> const x(values.size()), y(values.size());
  device_array<std::uint32_t> const perm(values.size());
  x.upload(values, exec.stream);
  sort_on_gpu(exec, ss::view(x, shape), ss::view(y, shape), ss::view(perm, shape));
  return y.download(exec.stream);
}

bool has_gpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

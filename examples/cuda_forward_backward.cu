// SPDX-License-Identifier: Apache-2.0
// forward_backward.cpp on a GPU: another execution policy, and device memory. Views accept Thrust
// vectors and raw device pointers.
#include <slicesort/slicesort.hpp>

#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

template <class T>
void print(char const* name, thrust::device_vector<T> const& values, ss::extents3 shape) {
  std::vector<T> host(values.size());
  thrust::copy(values.begin(), values.end(), host.begin());  // waits for the device
  std::printf("%s\n", name);
  ss::tensor3<T> const v = ss::view(host, shape);
  for (ss::index_t b = 0; b < shape.batch; ++b)
    for (ss::index_t n = 0; n < shape.length; ++n)
      std::printf("%s %3d %3d\n", n == 0 ? " -" : "  ", static_cast<int>(v(b, n, 0)),
                  static_cast<int>(v(b, n, 1)));
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: skipped");
    return 77;
  }
  // Two samples of four rows and two channels; channels are the fastest axis.
  ss::extents3 const shape{2, 4, 2};
  std::vector<float> const x_host = {3, 10, 1, 40, 2, 30, 0, 20, 7, 5, 7, 6, 9, 8, 7, 7};
  std::vector<float> const dy_host = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  thrust::device_vector<float> const x(x_host.begin(), x_host.end());
  thrust::device_vector<float> const dy(dy_host.begin(), dy_host.end());
  cudaStream_t const stream = nullptr;

  // [snippet]
  thrust::device_vector<float> y(x.size()), dx(x.size(), 100.0f);
  thrust::device_vector<std::uint16_t> perm(x.size());

  ss::slicing_sort<> const op;
  ss::exec::cuda const exec{stream};
  ss::basic_scratch<thrust::device_vector<unsigned char>> memory;
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::view(perm, shape), memory);
  op.backward(exec, ss::view(dy, shape), ss::view(perm, shape), ss::view(dx, shape), memory,
              ss::grad_mode::accumulate);  // dx += gradient
  // [/snippet]

  print("y: every column sorted", y, shape);
  print("perm: the row each came from; equal values keep their order", perm, shape);
  print("dx: dy sent back, added to 100", dx, shape);
}

// output:
// y: every column sorted
//  -   0  10
//      1  20
//      2  30
//      3  40
//  -   7   5
//      7   6
//      7   7
//      9   8
// perm: the row each came from; equal values keep their order
//  -   3   0
//      1   3
//      2   2
//      0   1
//  -   0   0
//      1   1
//      3   3
//      2   2
// dx: dy sent back, added to 100
//  - 107 102
//    103 108
//    105 106
//    101 104
//  - 101 102
//    103 104
//    107 108
//    105 106

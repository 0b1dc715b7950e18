// SPDX-License-Identifier: Apache-2.0
// Yardstick of check_budget.py: includes nothing of the library, and takes as long to compile as a
// few of its kernels. A change here changes every figure that is compared with a limit.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

template <int Rows, bool Up, class T>
__global__ void sort_rows(T const* from, T* to) {
  T v[Rows];
#pragma unroll
  for (int i = 0; i < Rows; ++i) v[i] = from[i * blockDim.x + threadIdx.x];
#pragma unroll
  for (int p = 1; p < Rows; p *= 2)
#pragma unroll
    for (int k = p; k > 0; k /= 2)
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        int const j = i ^ k;
        bool const up = ((i & (2 * p)) == 0) == Up;
        if (j > i) {
          T const a = v[i], b = v[j];
          v[i] = (a < b) == up ? a : b;
          v[j] = (a < b) == up ? b : a;
        }
      }
#pragma unroll
  for (int i = 0; i < Rows; ++i) to[i * blockDim.x + threadIdx.x] = v[i];
}

template <class T>
void sort_all(T const* from, T* to) {
  sort_rows<32, true><<<1, 32>>>(from, to);
  sort_rows<64, true><<<1, 32>>>(from, to);
  sort_rows<64, false><<<1, 32>>>(from, to);
}
template void sort_all(float const*, float*);
template void sort_all(double const*, double*);

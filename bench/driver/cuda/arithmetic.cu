// SPDX-License-Identifier: Apache-2.0
// The rate of multiply-adds of this GPU on values in registers: for 16-bit types that of its matrix
// units through mma.sync, else that of ordinary instructions.
#include "device.hpp"
#include "driver/backend.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace bench {
namespace {

constexpr int steps = 4096, threads = 256;

// Eight independent chains of multiply-adds per thread.
template <class T>
__global__ void multiply_add(T* out, T by) {
  T sum[8];
  for (T& s : sum) s = static_cast<T>(threadIdx.x);
  for (int i = 0; i < steps; ++i)
#pragma unroll
    for (T& s : sum) s = s * by + by;
  T all = 0;
  for (T const s : sum) all += s;
  if (all == static_cast<T>(-1)) *out = all;  // never; or there would be nothing to do
}

// Four independent chains of products of 16 x 16 and 16 x 8 halves per warp.
__global__ void multiply_matrices(float* out, std::uint32_t bits) {
  float sum[4][4] = {};
  for (int i = 0; i < steps; ++i)
#pragma unroll
    for (auto& s : sum)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
          "{%4, %4}, {%0, %1, %2, %3};"
          : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
          : "r"(bits));
  float all = 0;
  for (auto const& s : sum) all += s[0] + s[1] + s[2] + s[3];
  if (all == -1.0f) *out = all;
}

int processors() {
  int device = 0, count = 0;
  enforce(cudaGetDevice(&device), "cudaGetDevice");
  enforce(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
          "cudaDevAttrMultiProcessorCount");
  return count;
}

// The best rate among some launches of `flops` each.
template <class F>
double best_rate(double flops, F const& launch) {
  cudaEvent_t start = nullptr, stop = nullptr;
  enforce(cudaEventCreate(&start), "cudaEventCreate");
  enforce(cudaEventCreate(&stop), "cudaEventCreate");
  double best = 0.0;
  for (int repeat = 0; repeat < 10; ++repeat) {
    enforce(cudaEventRecord(start, stream()), "cudaEventRecord");
    launch();
    enforce(cudaGetLastError(), "a kernel of arithmetic_peak");
    enforce(cudaEventRecord(stop, stream()), "cudaEventRecord");
    enforce(cudaEventSynchronize(stop), "cudaEventSynchronize");
    float milliseconds = 0.0f;
    enforce(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    best = std::max(best, flops / (static_cast<double>(milliseconds) * 1e-3));
  }
  enforce(cudaEventDestroy(start), "cudaEventDestroy");
  enforce(cudaEventDestroy(stop), "cudaEventDestroy");
  return best;
}

template <class T>
double peak_of_scalars() {
  int const blocks = 16 * processors();
  device_buffer<T> const out(1);
  return best_rate(2.0 * 8 * steps * threads * blocks, [&] {
    multiply_add<<<blocks, threads, 0, stream()>>>(out.data(), static_cast<T>(0.5));
  });
}

double peak_of_matrices() {
  int const blocks = 16 * processors();
  device_buffer<float> const out(1);
  return best_rate(2.0 * 16 * 16 * 8 * 4 * steps * (threads / 32) * blocks, [&] {
    multiply_matrices<<<blocks, threads, 0, stream()>>>(out.data(), 0x38003800u);  // halves of 1/2
  });
}

}  // namespace

double arithmetic_peak(std::string const& dtype, unsigned) {
  static std::map<std::string, double> known;
  auto const [at, fresh] = known.try_emplace(dtype, 0.0);
  if (fresh)
    at->second = dtype == "f64"   ? peak_of_scalars<double>()
                 : dtype == "f32" ? peak_of_scalars<float>()
                                  : peak_of_matrices();
  return at->second;
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
// Kernels of the driver: peak arithmetic, flush of the L2 cache, comparison of samples.
#include "driver/backend.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace bench {
namespace {

constexpr int steps_per_thread = 4096, threads_per_block = 256;

// Eight independent chains of multiply-adds per thread.
template <class T>
__global__ void multiply_add(T* out, T scale) {
  T sum[8];
  for (T& s : sum) s = static_cast<T>(threadIdx.x);
  for (int i = 0; i < steps_per_thread; ++i)
#pragma unroll
    for (T& s : sum) s = s * scale + scale;
  T total = 0;
  for (T const s : sum) total += s;
  if (total == static_cast<T>(-1)) *out = total;  // never true, but the compiler keeps the sums
}

// Four independent chains of m16n8k16 products per warp.
__global__ void multiply_matrices(float* out, std::uint32_t bits) {
  float sum[4][4] = {};
  for (int i = 0; i < steps_per_thread; ++i)
#pragma unroll
    for (auto& s : sum)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
          "{%4, %4}, {%0, %1, %2, %3};"
          : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
          : "r"(bits));
  float total = 0;
  for (auto const& s : sum) total += s[0] + s[1] + s[2] + s[3];
  if (total == -1.0f) *out = total;
}

int multiprocessor_count() {
  int device = 0, count = 0;
  enforce(cudaGetDevice(&device), "cudaGetDevice");
  enforce(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
          "cudaDevAttrMultiProcessorCount");
  return count;
}

// Measures the best rate of several launches of `flops` each.
template <class F>
double measure_best_rate(double flops, F const& launch) {
  event const start, stop;
  double best = 0.0;
  for (int repeat = 0; repeat < 10; ++repeat) {
    start.record();
    launch();
    enforce(cudaGetLastError(), "a kernel of arithmetic_peak");
    stop.record();
    best = std::max(best, flops / stop.seconds_since(start));
  }
  return best;
}

template <class T>
double measure_scalar_peak() {
  int const blocks = 16 * multiprocessor_count();
  device_buffer<T> const out(1);
  return measure_best_rate(2.0 * 8 * steps_per_thread * threads_per_block * blocks, [&] {
    multiply_add<<<blocks, threads_per_block, 0, stream()>>>(out.data(), static_cast<T>(0.5));
  });
}

double measure_tensor_core_peak() {
  int const blocks = 16 * multiprocessor_count();
  device_buffer<float> const out(1);
  return measure_best_rate(
      2.0 * 16 * 16 * 8 * 4 * steps_per_thread * (threads_per_block / 32) * blocks, [&] {
        multiply_matrices<<<blocks, threads_per_block, 0, stream()>>>(
            out.data(), 0x38003800u);  // halves of 1/2
      });
}

__global__ void read_all(uint4 const* data, std::size_t count, std::uint32_t* out) {
  std::uint32_t zero_bits = 0;
  std::size_t const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    uint4 const vector = data[i];
    zero_bits |= ~(vector.x & vector.y & vector.z & vector.w);
  }
  if (zero_bits != 0) *out = zero_bits;  // never true: device_buffer sets every bit
}

std::size_t l2_bytes() {
  int device = 0, bytes = 0;
  enforce(cudaGetDevice(&device), "cudaGetDevice");
  enforce(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "cudaDevAttrL2CacheSize");
  return static_cast<std::size_t>(bytes);
}

// Sets `differ` if one of the first `count` 16-bit words differs from the same word of the next
// sample.
__global__ void compare_neighbours(std::uint16_t const* data, std::size_t words_per_sample,
                                   std::size_t count, int* differ) {
  std::size_t const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    if (data[i] != data[i + words_per_sample]) *differ = 1;
}

}  // namespace

// 16-bit types have the peak of mma.sync on tensor cores.
double arithmetic_peak(std::string const& dtype, unsigned) {
  static std::map<std::string, double> cache;
  auto const [entry, inserted] = cache.try_emplace(dtype, 0.0);
  if (inserted)
    entry->second = dtype == "f64"   ? measure_scalar_peak<double>()
                    : dtype == "f32" ? measure_scalar_peak<float>()
                                     : measure_tensor_core_peak();
  return entry->second;
}

void flush_l2() {
  static device_buffer<std::uint32_t> const memory(
      std::max(std::size_t{256} << 20, 4 * l2_bytes()) / sizeof(std::uint32_t)),
      out(1);
  read_all<<<2048, 256, 0, stream()>>>(reinterpret_cast<uint4 const*>(memory.data()),
                                       memory.bytes() / sizeof(uint4), out.data());
  enforce(cudaGetLastError(), "read_all");
}

void repeat_sample(void* data, void const* sample, std::size_t bytes, std::size_t samples) {
  auto* const destination = static_cast<unsigned char*>(data);
  enforce(cudaMemcpyAsync(data, sample, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpy");
  for (std::size_t copied = 1; copied < samples;) {
    std::size_t const more = std::min(copied, samples - copied);
    enforce(cudaMemcpyAsync(destination + copied * bytes, data, more * bytes,
                            cudaMemcpyDeviceToDevice, stream()),
            "cudaMemcpy");
    copied += more;
  }
  cuda_backend::wait();
}

bool fetch_sample(void* sample, void const* data, std::size_t bytes, std::size_t samples) {
  device_buffer<int> const differ(1);
  int differ_on_host = 0;
  enforce(cudaMemsetAsync(differ.data(), 0, sizeof(int), stream()), "cudaMemset");
  std::size_t const words_per_sample = bytes / 2, count = words_per_sample * (samples - 1);
  if (count != 0) {
    compare_neighbours<<<1024, 256, 0, stream()>>>(static_cast<std::uint16_t const*>(data),
                                                   words_per_sample, count, differ.data());
    enforce(cudaGetLastError(), "compare_neighbours");
  }
  enforce(cudaMemcpyAsync(&differ_on_host, differ.data(), sizeof(int), cudaMemcpyDeviceToHost,
                          stream()),
          "cudaMemcpy");
  enforce(cudaMemcpyAsync(sample, data, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpy");
  cuda_backend::wait();
  return differ_on_host == 0;
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
#include "tensors.hpp"

#include <algorithm>

namespace bench {
namespace {

// Sets `differ` if any of `count` 16-bit words differs from the same word of the next sample.
__global__ void compare_neighbours(std::uint16_t const* data, std::size_t words, std::size_t count,
                                   int* differ) {
  std::size_t const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    if (data[i] != data[i + words]) *differ = 1;
}

void wait() { enforce(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

}  // namespace

void repeat_sample(void* data, void const* sample, std::size_t bytes, std::size_t samples) {
  auto* const bytes_of = static_cast<unsigned char*>(data);
  enforce(cudaMemcpyAsync(data, sample, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpy");
  for (std::size_t done = 1; done < samples;) {
    std::size_t const more = std::min(done, samples - done);
    enforce(cudaMemcpyAsync(bytes_of + done * bytes, data, more * bytes, cudaMemcpyDeviceToDevice,
                            stream()),
            "cudaMemcpy");
    done += more;
  }
  wait();
}

bool fetch_sample(void* sample, void const* data, std::size_t bytes, std::size_t samples) {
  device_buffer<int> const differ(1);
  int different = 0;
  enforce(cudaMemsetAsync(differ.data(), 0, sizeof(int), stream()), "cudaMemset");
  std::size_t const words = bytes / 2, count = words * (samples - 1);
  if (count != 0) {
    compare_neighbours<<<1024, 256, 0, stream()>>>(static_cast<std::uint16_t const*>(data), words,
                                                   count, differ.data());
    enforce(cudaGetLastError(), "compare_neighbours");
  }
  enforce(cudaMemcpyAsync(&different, differ.data(), sizeof(int), cudaMemcpyDeviceToHost, stream()),
          "cudaMemcpy");
  enforce(cudaMemcpyAsync(sample, data, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpy");
  wait();
  return different == 0;
}

}  // namespace bench

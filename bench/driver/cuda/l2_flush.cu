// SPDX-License-Identifier: Apache-2.0
#include "l2_flush.hpp"

#include <algorithm>
#include <cstddef>

namespace bench {
namespace {

__global__ void read_all(uint4 const* data, std::size_t count, std::uint32_t* found) {
  std::uint32_t any = 0;
  std::size_t const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    uint4 const four = data[i];
    any |= ~(four.x & four.y & four.z & four.w);
  }
  if (any != 0) *found = any;  // never: device_buffer sets every bit
}

std::size_t l2_bytes() {
  int device = 0, bytes = 0;
  enforce(cudaGetDevice(&device), "cudaGetDevice");
  enforce(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "cudaDevAttrL2CacheSize");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

l2_flush::l2_flush()
    : memory_(std::max(std::size_t{256} << 20, 4 * l2_bytes()) / sizeof(std::uint32_t)),
      found_(1) {}

void l2_flush::operator()() const {
  read_all<<<2048, 256, 0, stream()>>>(reinterpret_cast<uint4 const*>(memory_.data()),
                                       memory_.bytes() / sizeof(uint4), found_.data());
  enforce(cudaGetLastError(), "read_all");
}

}  // namespace bench

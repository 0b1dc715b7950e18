// SPDX-License-Identifier: Apache-2.0
#include "large.hpp"

#include "cuda/backend/device.hpp"

#include <slicesort/detail/math/counter_hash.hpp>

#include <cuda_runtime.h>

namespace support {

namespace {

using slicesort::index_t;

// Computes the source's elements from their positions, so no copy of the source is needed.
__device__ std::uint16_t source(index_t b, index_t n, index_t c) {
  auto const h = slicesort::detail::counter_hash32(
      static_cast<std::uint64_t>(b), static_cast<std::uint64_t>(c), static_cast<std::uint64_t>(n));
  std::uint16_t const bits = static_cast<std::uint16_t>((0x3c00 + (h >> 8) % 1500));
  return (h & 1) != 0 ? bits | 0x8000 : bits;
}
__device__ unsigned key(std::uint16_t bits) {
  return (bits & 0x8000) != 0 ? static_cast<std::uint16_t>(~bits) : bits | 0x8000u;
}
__device__ index_t row_at(void const* perm, bool narrow, index_t i) {
  return narrow ? static_cast<std::uint16_t const*>(perm)[i]
                : static_cast<std::uint32_t const*>(perm)[i];
}

// Adjacent threads process adjacent channels.
template <class F>
__device__ void for_each_column(extents3 e, F const& f) {
  index_t const step = static_cast<index_t>(gridDim.x) * blockDim.x;
  for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < e.batch * e.channels; i += step)
    f(i / e.channels, i % e.channels);
}

__global__ void fill(std::uint16_t* data, extents3 e, strides3 s) {
  for_each_column(e, [&](index_t b, index_t c) {
    for (index_t n = 0; n < e.length; ++n)
      data[b * s.batch + n * s.length + c * s.channels] = source(b, n, c);
  });
}

// `perm` is contiguous, `values` has strides.
__global__ void check(std::uint16_t const* values, void const* perm, bool narrow, extents3 e,
                      strides3 s, sort_faults* faults) {
  for_each_column(e, [&](index_t b, index_t c) {
    sort_faults column_faults{};
    unsigned last_key = 0;
    index_t last_row = -1;
    unsigned long long sum = 0;
    for (index_t n = 0; n < e.length; ++n) {
      std::uint16_t const value = values[b * s.batch + n * s.length + c * s.channels];
      index_t const row = row_at(perm, narrow, (b * e.length + n) * e.channels + c);
      column_faults.moved += row >= e.length || value != source(b, row, c);
      unsigned const k = key(value);
      column_faults.order += n > 0 && k < last_key;
      column_faults.stability += n > 0 && k == last_key && row <= last_row;
      last_key = k, last_row = row;
      // The sum of hashes is 0 for a permutation of 0 .. length - 1.
      sum += slicesort::detail::counter_hash64(77, static_cast<std::uint64_t>(row)) -
             slicesort::detail::counter_hash64(77, static_cast<std::uint64_t>(n));
    }
    column_faults.permutation = sum != 0;
    if (column_faults.moved != 0) atomicAdd(&faults->moved, column_faults.moved);
    if (column_faults.order != 0) atomicAdd(&faults->order, column_faults.order);
    if (column_faults.stability != 0) atomicAdd(&faults->stability, column_faults.stability);
    if (column_faults.permutation != 0) atomicAdd(&faults->permutation, column_faults.permutation);
  });
}

__global__ void check_back(std::uint16_t const* moved, void const* perm, bool narrow, extents3 e,
                           strides3 s, sort_faults* faults) {
  for_each_column(e, [&](index_t b, index_t c) {
    unsigned long long wrong = 0;
    for (index_t n = 0; n < e.length; ++n) {
      index_t const row = row_at(perm, narrow, (b * e.length + n) * e.channels + c);
      wrong += row >= e.length ||
               moved[b * s.batch + row * s.length + c * s.channels] != source(b, n, c);
    }
    if (wrong != 0) atomicAdd(&faults->moved, wrong);
  });
}

constexpr unsigned blocks = 2048, threads = 128;

template <class Launch>
sort_faults count_faults(Launch const& launch) {
  device_bytes const faults(sizeof(sort_faults), 0);
  launch(static_cast<sort_faults*>(faults.data()));
  SLICESORT_TEST_CUDA_CALL(cudaGetLastError());
  auto const bytes = faults.download();
  sort_faults result;
  std::memcpy(&result, bytes.data(), sizeof result);
  return result;
}

}  // namespace

void fill_bf16(void* data, extents3 e, strides3 s) {
  fill<<<blocks, threads>>>(static_cast<std::uint16_t*>(data), e, s);
  SLICESORT_TEST_CUDA_CALL(cudaGetLastError());
  SLICESORT_TEST_CUDA_CALL(cudaDeviceSynchronize());
}
sort_faults check_bf16_sort(void const* values, void const* perm, bool narrow, extents3 e,
                            strides3 s) {
  return count_faults([&](sort_faults* faults) {
    check<<<blocks, threads>>>(static_cast<std::uint16_t const*>(values), perm, narrow, e, s,
                               faults);
  });
}
unsigned long long check_bf16_backward(void const* moved, void const* perm, bool narrow, extents3 e,
                                       strides3 s) {
  return count_faults([&](sort_faults* faults) {
           check_back<<<blocks, threads>>>(static_cast<std::uint16_t const*>(moved), perm, narrow,
                                           e, s, faults);
         })
      .moved;
}

}  // namespace support

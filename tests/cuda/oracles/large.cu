// SPDX-License-Identifier: Apache-2.0
// Kernels that fill and check tensors too large to copy to the host.
#include "large.hpp"

#include "cuda/backend/device.hpp"

#include <slicesort/detail/math/counter_hash.hpp>

#include <cuda_runtime.h>

namespace support {

namespace {

using slicesort::index_t;

// Computes the source's elements from their positions, so no copy of the source is needed.
__device__ std::uint16_t source(index_t b, index_t n, index_t c) {
  auto const hash = slicesort::detail::counter_hash32(
      static_cast<std::uint64_t>(b), static_cast<std::uint64_t>(c), static_cast<std::uint64_t>(n));
  std::uint16_t const bits = static_cast<std::uint16_t>((0x3c00 + (hash >> 8) % 1500));
  return (hash & 1) != 0 ? bits | 0x8000 : bits;
}
__device__ unsigned key(std::uint16_t bits) {
  return (bits & 0x8000) != 0 ? static_cast<std::uint16_t>(~bits) : bits | 0x8000u;
}
__device__ index_t row_at(void const* perm, bool is_16_bit, index_t i) {
  return is_16_bit ? static_cast<std::uint16_t const*>(perm)[i]
                   : static_cast<std::uint32_t const*>(perm)[i];
}

// Adjacent threads process adjacent channels.
template <class F>
__device__ void for_each_column(extents3 e, F const& f) {
  index_t const stride = static_cast<index_t>(gridDim.x) * blockDim.x;
  for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < e.batch * e.channels; i += stride)
    f(i / e.channels, i % e.channels);
}

__global__ void fill(std::uint16_t* data, extents3 e, strides3 s) {
  for_each_column(e, [&](index_t b, index_t c) {
    for (index_t n = 0; n < e.length; ++n)
      data[b * s.batch + n * s.length + c * s.channels] = source(b, n, c);
  });
}

// `perm` is contiguous, `values` has strides.
__global__ void check_sort(std::uint16_t const* values, void const* perm, bool is_16_bit,
                           extents3 e, strides3 s, sort_faults* faults) {
  for_each_column(e, [&](index_t b, index_t c) {
    sort_faults column_faults{};
    unsigned last_key = 0;
    index_t last_row = -1;
    unsigned long long sum = 0;
    for (index_t n = 0; n < e.length; ++n) {
      std::uint16_t const value = values[b * s.batch + n * s.length + c * s.channels];
      index_t const row = row_at(perm, is_16_bit, (b * e.length + n) * e.channels + c);
      column_faults.wrong_values += row >= e.length || value != source(b, row, c);
      unsigned const value_key = key(value);
      column_faults.wrong_order += n > 0 && value_key < last_key;
      column_faults.unstable_ties += n > 0 && value_key == last_key && row <= last_row;
      last_key = value_key, last_row = row;
      // The sum of hashes is 0 for a permutation of 0 .. length - 1.
      sum += slicesort::detail::counter_hash64(77, static_cast<std::uint64_t>(row)) -
             slicesort::detail::counter_hash64(77, static_cast<std::uint64_t>(n));
    }
    column_faults.invalid_columns = sum != 0;
    if (column_faults.wrong_values != 0)
      atomicAdd(&faults->wrong_values, column_faults.wrong_values);
    if (column_faults.wrong_order != 0) atomicAdd(&faults->wrong_order, column_faults.wrong_order);
    if (column_faults.unstable_ties != 0)
      atomicAdd(&faults->unstable_ties, column_faults.unstable_ties);
    if (column_faults.invalid_columns != 0)
      atomicAdd(&faults->invalid_columns, column_faults.invalid_columns);
  });
}

__global__ void check_backward(std::uint16_t const* restored, void const* perm, bool is_16_bit,
                               extents3 e, strides3 s, sort_faults* faults) {
  for_each_column(e, [&](index_t b, index_t c) {
    unsigned long long mismatches = 0;
    for (index_t n = 0; n < e.length; ++n) {
      index_t const row = row_at(perm, is_16_bit, (b * e.length + n) * e.channels + c);
      mismatches += row >= e.length ||
                    restored[b * s.batch + row * s.length + c * s.channels] != source(b, n, c);
    }
    if (mismatches != 0) atomicAdd(&faults->wrong_values, mismatches);
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
sort_faults check_bf16_sort(void const* values, void const* perm, bool is_16_bit, extents3 e,
                            strides3 s) {
  return count_faults([&](sort_faults* faults) {
    check_sort<<<blocks, threads>>>(static_cast<std::uint16_t const*>(values), perm, is_16_bit, e,
                                    s, faults);
  });
}
unsigned long long check_bf16_backward(void const* restored, void const* perm, bool is_16_bit,
                                       extents3 e, strides3 s) {
  return count_faults([&](sort_faults* faults) {
           check_backward<<<blocks, threads>>>(static_cast<std::uint16_t const*>(restored), perm,
                                               is_16_bit, e, s, faults);
         })
      .wrong_values;
}

}  // namespace support

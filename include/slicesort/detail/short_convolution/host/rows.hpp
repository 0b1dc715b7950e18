// SPDX-License-Identifier: Apache-2.0
// Vector loops of short_convolution over rows, for every instruction set.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// `stream` bypasses the caches. `add` adds in the accumulator's type and rounds once.
enum class row_output { store, stream, add };

template <class T>
struct convolution_kernels {
  using A = accumulator_t<T>;
  // Number of rows past those of a tile that `rows` points to, for prefetching.
  static constexpr index_t prefetched_rows = 8;
  // Computes output[n][c] = sum over k < taps of weights[k][c] * rows[n + k][c], for n < count and
  // c < width. `weights` has rows of `width` elements.
  using convolve_function = void (*)(T const* const* rows, A const* weights, index_t taps,
                                     index_t count, index_t width, T* output, index_t pitch);
  // Computes sums[k][c] += sum over n < count of dy[n][c] * rows[n + k][c], for k < taps.
  using correlate_function = void (*)(T const* const* dy, T const* const* rows, index_t taps,
                                      index_t count, index_t width, double* sums);
  convolve_function store, stream, add;
  correlate_function correlate;
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/short_convolution/host/rows.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class T>
convolution_kernels<T> convolution_kernels_of(isa requested) {
  convolution_kernels<T> table{};
  with_isa(fused_isa(requested), [&](auto target) { choose_convolution_kernels(target, table); });
  return table;
}

SLICESORT_DETAIL_END

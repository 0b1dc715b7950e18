// SPDX-License-Identifier: Apache-2.0
// SIMD kernels of linear_attention.
#pragma once

#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Kernels of one instruction set, chosen once per call. tile.hpp describes their arguments.
template <class T>
struct linear_attention_kernels : row_kernels<T> {
  using A = accumulator_t<T>;

  void (*multiply)(product_params<A> const&);
  void (*map)(feature_call<A> const&);
  void (*map_backward)(feature_gradient_call<A> const&);
  void (*row_maxima)(A const* from, index_t pitch, index_t width, int rows, A* maxima);
  void (*row_dots)(row_dots_call<A> const&);
  void (*add_column_sums)(add_column_sums_call<A> const&);
  void (*scale_rows)(scale_rows_call<A> const&);
  // Store each row times its factor, rounded. The `_around` version bypasses the caches.
  void (*store_scaled)(A const* from, index_t pitch, int rows, index_t width, A const* factors,
                       T* to, index_t to_pitch);
  void (*store_scaled_around)(A const* from, index_t pitch, int rows, index_t width,
                              A const* factors, T* to, index_t to_pitch);
  void (*add_rows_times)(add_rows_times_call<A> const&);
  void (*running_sums)(running_sums_call<A> const&);
  void (*causal_weights)(causal_weights_call<A> const&);
  bool (*has_special)(pitched_rows<A const> matrix,
                      tile_extent size);      // true if there is an infinity or NaN
  void (*exponentials)(A* x, index_t count);  // x <= 0
  void (*angles)(index_t first, index_t length, int rows, A* cosine, A* sine);
  void (*transposed)(A const* from, index_t pitch, index_t rows, index_t columns, A* to,
                     index_t to_pitch);

  explicit linear_attention_kernels(isa requested) {
    with_isa(fused_isa(requested), [&](auto target) { choose_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_TEXT <slicesort/detail/linear_attention/host/simd_table.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END

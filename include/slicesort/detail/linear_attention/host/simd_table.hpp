// SPDX-License-Identifier: Apache-2.0
// SIMD kernels of linear_attention.
#pragma once

#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/lane_values.hpp>
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

// Kernels of one instruction set, chosen once per call. tile.hpp defines their parameters.
template <class T>
struct linear_attention_kernels : row_kernels<T> {
  using A = accumulator_t<T>;

  void (*multiply)(product_params<A> const&);
  void (*map)(feature_params<A> const&);
  void (*map_backward)(feature_gradient_params<A> const&);
  void (*compute_row_maxima)(A const* from, index_t pitch, index_t width, int rows, A* maxima);
  void (*compute_row_dots)(row_dots_params<A> const&);
  void (*add_column_sums)(add_column_sums_params<A> const&);
  void (*scale_rows)(scale_rows_params<A> const&);
  // Round and store each row times its factor. store_scaled_around bypasses the caches.
  void (*store_scaled)(A const* from, index_t pitch, int rows, index_t width, A const* factors,
                       T* to, index_t to_pitch);
  void (*store_scaled_around)(A const* from, index_t pitch, int rows, index_t width,
                              A const* factors, T* to, index_t to_pitch);
  void (*add_scaled_rows)(add_scaled_rows_params<A> const&);
  void (*compute_running_sums)(running_sums_params<A> const&);
  void (*mask_weights)(mask_weights_params<A> const&);
  bool (*has_non_finite)(pitched_rows<A const> matrix,
                         tile_extent size);   // true if there is an infinity or NaN
  void (*exponentiate)(A* x, index_t count);  // x = exp(x), for x <= 0
  void (*compute_angles)(index_t first, index_t length, int rows, A* cosine, A* sine);
  void (*transpose)(A const* from, index_t pitch, index_t rows, index_t columns, A* to,
                    index_t to_pitch);

  explicit linear_attention_kernels(isa requested) {
    with_isa(fused_isa(requested), [&](auto target) { choose_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/linear_attention/host/simd_table.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END

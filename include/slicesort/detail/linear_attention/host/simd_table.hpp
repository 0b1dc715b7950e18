// SPDX-License-Identifier: Apache-2.0
// The kernels of linear_attention, on every instruction set.
#pragma once

#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/host/simd/target.hpp>
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

// The kernels of one set, chosen once for a call; the calls are described in tile.hpp.
template <class T>
struct linear_attention_kernels : row_kernels<T> {
  using A = accumulator_t<T>;

  void (*multiply)(product_params<A> const&);
  void (*map)(feature_call<A> const&);
  void (*pull)(pull_call<A> const&);
  void (*row_maxima)(A const* from, index_t pitch, index_t width, int rows, A* to);
  void (*row_dots)(row_dots_call<A> const&);
  void (*column_sums)(column_sums_call<A> const&);
  void (*scale_rows)(scale_rows_call<A> const&);
  // Each row times its factor, rounded; through the caches, or around them as store_around.
  void (*store_scaled)(A const* from, index_t pitch, int rows, index_t width, A const* factors,
                       T* to, index_t to_pitch);
  void (*store_scaled_around)(A const* from, index_t pitch, int rows, index_t width,
                              A const* factors, T* to, index_t to_pitch);
  void (*add_rows_times)(add_rows_times_call<A> const&);
  void (*running_sums)(running_sums_call<A> const&);
  void (*causal_weights)(causal_weights_call<A> const&);
  bool (*any_special)(pitched_rows<A const> of, tile_extent size);  // infinities or NaN
  void (*exponentials)(A* x, index_t count);                        // of numbers that are at most 0
  void (*angles)(index_t first, index_t length, int rows, A* cosine, A* sine);
  void (*transposed)(A const* from, index_t pitch, index_t rows, index_t columns, A* to,
                     index_t to_pitch);

  explicit linear_attention_kernels(isa wanted) {
    with_isa(fused_isa(wanted), [&](auto target) { choose_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_TEXT <slicesort/detail/linear_attention/host/simd_table.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END

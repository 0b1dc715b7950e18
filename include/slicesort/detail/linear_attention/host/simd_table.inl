// SPDX-License-Identifier: Apache-2.0
// The kernels of linear_attention for one instruction set.

#define SLICESORT_FEATURE_INLINE SLICESORT_INLINE
#define SLICESORT_FEATURE_CONSTANT constexpr
// clang-format off
#include <slicesort/detail/linear_attention/feature_math.inl>
#undef SLICESORT_FEATURE_INLINE
#undef SLICESORT_FEATURE_CONSTANT
#include <slicesort/detail/linear_attention/host/lane_numbers.inl>
#include <slicesort/detail/linear_attention/host/feature_rows.inl>
#include <slicesort/detail/linear_attention/host/tile_rows.inl>
// clang-format on

template <class T>
void choose_kernels(target, linear_attention_kernels<T>& use) {
  using A = detail::accumulator_t<T>;
  using features = feature_rows<A>;
  using rows = tile_rows<A>;
  using transfer = simd_rows<T, 0>;
  use.multiply = micro_kernel<A>::multiply;
  use.map = features::map;
  use.pull = features::pull;
  use.row_maxima = features::row_maxima;
  use.row_dots = rows::row_dots;
  use.column_sums = rows::column_sums;
  use.scale_rows = rows::scale_rows;
  use.store_scaled = rows::template store_scaled<false, T>;
  use.store_scaled_around = rows::template store_scaled<true, T>;
  use.add_rows_times = rows::add_rows_times;
  use.running_sums = rows::running_sums;
  use.causal_weights = rows::causal_weights;
  use.any_special = rows::any_special;
  use.exponentials = rows::exponentials;
  use.angles = rows::angles;
  use.transposed = rows::transposed;
  use.load = transfer::load;
  use.store = transfer::template store<false>;
  use.add = transfer::add;
  use.store_around = transfer::store_around;
}

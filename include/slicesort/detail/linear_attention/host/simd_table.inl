// SPDX-License-Identifier: Apache-2.0
// Kernel table of linear_attention for one instruction set.

#define SLICESORT_MATH_INLINE SLICESORT_INLINE
#define SLICESORT_MATH_CONSTANT constexpr
// clang-format off
#include <slicesort/detail/linear_attention/feature_math.inl>
#undef SLICESORT_MATH_INLINE
#undef SLICESORT_MATH_CONSTANT
#include <slicesort/detail/linear_attention/host/feature_rows.inl>
#include <slicesort/detail/linear_attention/host/tile_rows.inl>
// clang-format on

template <class T>
void choose_kernels(target, linear_attention_kernels<T>& table) {
  using A = detail::accumulator_t<T>;
  using features = feature_rows<A>;
  using rows = tile_rows<A>;
  using row_copies = simd_rows<T, 0>;
  table.multiply = micro_kernel<A>::multiply;
  table.map = features::map;
  table.map_backward = features::map_backward;
  table.compute_row_maxima = features::compute_row_maxima;
  table.compute_row_dots = rows::compute_row_dots;
  table.add_column_sums = rows::add_column_sums;
  table.scale_rows = rows::scale_rows;
  table.store_scaled = rows::template store_scaled<false, T>;
  table.store_scaled_around = rows::template store_scaled<true, T>;
  table.add_scaled_rows = rows::add_scaled_rows;
  table.compute_running_sums = rows::compute_running_sums;
  table.mask_weights = rows::mask_weights;
  table.has_non_finite = rows::has_non_finite;
  table.exponentiate = rows::exponentiate;
  table.compute_angles = rows::compute_angles;
  table.transpose = rows::transpose;
  table.load = row_copies::load;
  table.store = row_copies::template store<false>;
  table.add = row_copies::add;
  table.stream_rows = row_copies::stream_rows;
}

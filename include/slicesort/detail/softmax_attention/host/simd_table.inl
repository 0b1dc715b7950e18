// SPDX-License-Identifier: Apache-2.0
// Kernel table of one instruction set.

// clang-format off
#include <slicesort/detail/softmax_attention/host/dropout.inl>
#include <slicesort/detail/softmax_attention/host/native_products.inl>
#include <slicesort/detail/softmax_attention/host/softmax.inl>
#include <slicesort/detail/softmax_attention/host/tile_transpose.inl>
// clang-format on

template <class T>
void choose_kernels(target, attention_kernels<T>& kernels) {
  using A = detail::accumulator_t<T>;
  using product = micro_kernel<A>;
  using rows = attention_rows<A>;
  using transfer = simd_rows<T, 0>;
  kernels.multiply = product::multiply;
  kernels.mask_scores = rows::mask_scores;
  kernels.online_softmax = rows::online_softmax;
  kernels.score_grad = rows::score_grad;
  kernels.compute_keep_mask = keep_mask::compute;
  kernels.drop = rows::drop;
  kernels.add_rows = rows::add_rows;
  kernels.row_dots = rows::row_dots;
  kernels.rows_to_lanes = tile_transpose<A>::rows_to_lanes;
  kernels.lanes_to_rows = tile_transpose<A>::lanes_to_rows;
  kernels.softmax_row = rows::softmax_row;
  kernels.scale_row = rows::scale_row;
  kernels.score_grad_row = rows::score_grad_row;
  kernels.load = transfer::load;
  kernels.store = transfer::template store<false>;
  kernels.add = transfer::add;
}

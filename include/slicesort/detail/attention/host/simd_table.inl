// SPDX-License-Identifier: Apache-2.0
// Fills the kernel table for one instruction set.

// clang-format off
#include <slicesort/detail/attention/host/score_functions.inl>
#include <slicesort/detail/attention/host/dropout.inl>
#include <slicesort/detail/attention/host/native_products.inl>
#include <slicesort/detail/attention/host/softmax.inl>
#include <slicesort/detail/attention/host/tile_transpose.inl>
// clang-format on

template <class T>
void choose_kernels(target, attention_kernels<T>& kernels) {
  using A = detail::accumulator_t<T>;
  using product = micro_kernel<A>;
  using rows = attention_rows<A>;
  using transfer = simd_rows<T, 0>;
  kernels.multiply = product::multiply;
  kernels.mask_scores = rows::mask_scores;
  kernels.update_softmax = rows::update_softmax;
  kernels.compute_score_grads = rows::compute_score_grads;
  kernels.weigh_scores = score_functions<A>::weigh_scores;
  kernels.compute_keep_mask = keep_mask::compute;
  kernels.apply_dropout = rows::apply_dropout;
  kernels.add_rows = rows::add_rows;
  kernels.dot_rows = rows::dot_rows;
  kernels.rows_to_lanes = tile_transpose<A>::rows_to_lanes;
  kernels.lanes_to_rows = tile_transpose<A>::lanes_to_rows;
  kernels.exponentiate_row = rows::exponentiate_row;
  kernels.scale_row = rows::scale_row;
  kernels.compute_row_score_grads = rows::compute_row_score_grads;
  kernels.load = transfer::load;
  kernels.store = transfer::template store<false>;
  kernels.add = transfer::add;
}

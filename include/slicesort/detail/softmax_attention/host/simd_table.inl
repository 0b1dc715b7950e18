// SPDX-License-Identifier: Apache-2.0
// The kernels of softmax_attention for one instruction set.

// clang-format off
#include <slicesort/detail/softmax_attention/host/dropout.inl>
#include <slicesort/detail/softmax_attention/host/native_products.inl>
#include <slicesort/detail/softmax_attention/host/softmax.inl>
#include <slicesort/detail/softmax_attention/host/tile_transpose.inl>
// clang-format on

template <class T>
void choose_kernels(target, attention_kernels<T>& use) {
  using A = detail::accumulator_t<T>;
  using product = micro_kernel<A>;
  using rows = attention_rows<A>;
  using transfer = simd_rows<T, 0>;
  use.multiply = product::multiply;
  use.mask_scores = rows::mask_scores;
  use.online_softmax = rows::online_softmax;
  use.dscore = rows::dscore;
  use.find_kept = kept_weights::find;
  use.drop = rows::drop;
  use.add_rows = rows::add_rows;
  use.row_dots = rows::row_dots;
  use.rows_to_lanes = tile_transpose<A>::rows_to_lanes;
  use.lanes_to_rows = tile_transpose<A>::lanes_to_rows;
  use.softmax_row = rows::softmax_row;
  use.scale_row = rows::scale_row;
  use.dscore_row = rows::dscore_row;
  use.load = transfer::load;
  use.store = transfer::template store<false>;
  use.add = transfer::add;
}

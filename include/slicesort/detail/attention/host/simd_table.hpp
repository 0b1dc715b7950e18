// SPDX-License-Identifier: Apache-2.0
// SIMD kernels of softmax and pointwise attention, as a table of function pointers.
#pragma once

#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/lane_values.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/math/error_function.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Kernels of one instruction set, chosen once per call.
template <class T>
struct attention_kernels : row_kernels<T> {
  using A = accumulator_t<T>;

  void (*multiply)(product_params<A> const&);
  void (*mask_scores)(mask_scores_params<A> const&);
  void (*update_softmax)(online_softmax_params<A> const&);
  void (*compute_score_grads)(score_grad_params<A> const&);
  void (*weigh_scores)(weigh_scores_params<A> const&);
  void (*compute_keep_mask)(keep_mask_params const&);
  void (*apply_dropout)(A* scores, int rows, std::uint64_t const* keep, lane_range lanes);
  void (*add_rows)(add_rows_params<A> const&);
  void (*dot_rows)(A const* a, A const* b, index_t depth, A* sums);
  // [query][channel] -> [channel][query]; `lanes_to_rows` is the inverse and scales each query by
  // its factor.
  void (*rows_to_lanes)(A const* rows, index_t pitch, index_t channels, A* lanes);
  void (*lanes_to_rows)(A const* lanes, index_t channels, A const* factors, A* rows, index_t pitch);
  A (*exponentiate_row)(A* row, index_t count);
  void (*scale_row)(A* row, index_t count, A factor);
  void (*compute_row_score_grads)(A const* weights, A* products, index_t count, A delta);
  // Round to bfloat16 and pack two neighbors along k into one A, the first in the low half. Null if
  // the products are exact.
  void (*pack_bf16_rows)(A const* from, index_t pitch, index_t rows, A* to) = nullptr;
  void (*pack_bf16_columns)(A const* from, index_t count, A* to) = nullptr;

  explicit attention_kernels(isa requested, products kind = products::exact) {
    with_isa(fused_isa(requested), [&](auto target) {
      choose_kernels(target, *this);
      if (kind == products::native) choose_native_products(target, *this);
    });
  }
  bool uses_native_products() const { return pack_bf16_rows != nullptr; }
  // Number of A elements that hold `elements` packed operand elements along k.
  index_t packed_width(index_t elements) const {
    return uses_native_products() ? (elements + 1) / 2 : elements;
  }
  // Packs x in place as an operand of `multiply`.
  void pack_rows(A* x, index_t pitch, index_t rows) const {
    if (uses_native_products()) pack_bf16_rows(x, pitch, rows, x);
  }
  void pack_columns(A* x, index_t count) const {
    if (uses_native_products()) pack_bf16_columns(x, count, x);
  }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/attention/host/simd_table.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END

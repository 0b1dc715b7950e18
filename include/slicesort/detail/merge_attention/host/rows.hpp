// SPDX-License-Identifier: Apache-2.0
// Weighted sums of rows, compiled for every instruction set.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Row of y: output[c] = sum of weights[p] * inputs[p][c], over at least one part.
template <class T>
struct merged_row {
  static constexpr std::size_t max_parts = attention_parts<T>::max_parts;

  int part_count = 0;
  index_t channels = 0;
  bool contiguous = false;  // true if all channel strides are 1
  T* output = nullptr;
  index_t output_stride = 0;
  T const* inputs[max_parts];
  index_t input_strides[max_parts];
  accumulator_t<T> weights[max_parts];
};

// Function that merges a row with one instruction set; selected once per call.
template <class T>
using merge_row_fn = void (*)(merged_row<T> const&);

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/merge_attention/host/rows.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class T>
merge_row_fn<T> select_merge_row(isa requested) {
  merge_row_fn<T> selected = nullptr;
  with_isa(fused_isa(requested), [&](auto target) { choose_merge_row(target, selected); });
  return selected;
}

SLICESORT_DETAIL_END

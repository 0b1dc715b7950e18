// SPDX-License-Identifier: Apache-2.0
// Weighted sum of rows, for every instruction set.
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

// Row of y: to[c] = sum of weight[p] * from[p][c], over at least one part.
template <class T>
struct merged_row {
  static constexpr std::size_t max_parts = attention_parts<T>::max_parts;

  int parts = 0;
  index_t channels = 0;
  bool adjacent = false;  // true if all rows have stride 1
  T* to = nullptr;
  index_t to_step = 0;
  T const* from[max_parts];
  index_t step[max_parts];  // channel strides
  accumulator_t<T> weight[max_parts];
};

// Kernel for one instruction set, chosen once per call.
template <class T>
using merge_row = void (*)(merged_row<T> const&);

#define SLICESORT_TARGET_TEXT <slicesort/detail/merge_attention/host/rows.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class T>
merge_row<T> merge_row_of(isa requested) {
  merge_row<T> chosen = nullptr;
  with_isa(fused_isa(requested), [&](auto target) { choose_merge_row(target, chosen); });
  return chosen;
}

SLICESORT_DETAIL_END

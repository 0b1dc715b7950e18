// SPDX-License-Identifier: Apache-2.0
// Table of sparse_mix's SIMD kernels, compiled for every instruction set.
#pragma once

#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/sparse_mix/host/tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Kernels of one instruction set. Chosen once per call.
template <class T>
struct mix_kernels {
  using A = accumulator_t<T>;

  void (*mix_rows)(row_span<T> const&);
  void (*dot_rows)(A const*, A const*, mix_dot_offsets const&, int rounds, A*);
  int max_dots_per_round;
  void (*add_values)(A const*, index_t count, A*, bool overwrite);
  void (*load)(T const*, index_t pitch, index_t rows, index_t width, A*, index_t tile_pitch);
  void (*store)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*stream)(A const*, index_t rows, index_t width, T*, index_t pitch);
  void (*add)(A const*, index_t rows, index_t width, T*, index_t pitch);

  explicit mix_kernels(isa set) {
    with_isa(set, [&](auto target) { choose_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/sparse_mix/host/rows.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// SIMD kernels of csp for every instruction set: one for tiles, one for unshifted pairs of rows.
#pragma once

#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Unshifted row pairs of one sample, in channels that are adjacent in memory.
template <class T>
struct row_pairs {
  T const* from;
  T* to;
  std::uint8_t* order;  // null if not saved; read-only in backward
  index_t from_pitch, to_pitch, order_pitch;
  index_t first_row, end_row;         // `first_row` is a multiple of csp_rows_per_batch
  index_t channels;                   // a multiple of 32
  bits_t<T> descending_mask;          // all ones if the channels descend
  std::uint16_t const* destinations;  // [length], as in csp_tile
  bool stream;

  int rows_in_batch(index_t i) const {
    return end_row - i < csp_rows_per_batch ? static_cast<int>(end_row - i) : csp_rows_per_batch;
  }
};

// Returns one bit per pair of the `count` rows from row i on, set if the pair descends in the
// reference channel.
inline unsigned descending_pairs(std::uint16_t const* destinations, index_t i, int count) {
  unsigned pairs = 0;
  for (int p = 0; destinations != nullptr && p < count / 2; ++p)
    pairs |= static_cast<unsigned>(destinations[i + 2 * p]) << p;
  return pairs;
}

// Kernels for one instruction set, chosen once per call.
template <class T>
struct csp_kernels {
  void (*run_csp_tile)(csp_tile<T> const&, csp_operation);
  void (*exchange_row_pairs)(row_pairs<T> const&, csp_operation);

  explicit csp_kernels(isa set) {
    with_isa(set, [&](auto target) { choose_csp_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/csp/host/tile_kernel.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END

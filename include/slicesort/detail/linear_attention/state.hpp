// SPDX-License-Identifier: Apache-2.0
// State of causal linear attention between two pieces of a sequence.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Number of keys before a piece: full tiles, and keys of a partial tile.
struct linear_position {
  index_t tiles = 0;
  int rows = 0;  // less than linear_tile
};

// Elements of the state of one head, in order. A state of zeros is that of an empty sequence.
//   keys of the partial tile; full tiles before it
//   random_exp: maximum of the keys of the full tiles
//   S [features][values] and Z [features] of the full tiles
//   phi(k) [63][features], v [63][values] of the partial tile; zeros after its last key
//   random_exp: running maxima [63] of these keys
struct linear_state_layout {
  static constexpr int max_rows = linear_tile - 1;
  static constexpr index_t rows = 0, tiles = 1, maximum = 2, matrix = 3;

  index_t features, values;

  SLICESORT_HD constexpr index_t z() const { return matrix + features * values; }
  SLICESORT_HD constexpr index_t phi() const { return z() + features; }
  SLICESORT_HD constexpr index_t v() const { return phi() + max_rows * features; }
  SLICESORT_HD constexpr index_t maxima() const { return v() + max_rows * values; }
  SLICESORT_HD constexpr index_t size() const { return maxima() + max_rows; }
  SLICESORT_HD constexpr index_t sums_size() const { return phi() - matrix; }  // S and Z
};

// State of one head. `E` is the accumulator type, const for a state that is read.
template <class E>
struct linear_head_state {
  E* data;  // null if the call has no such state
  index_t stride;
  linear_state_layout layout;

  SLICESORT_HD linear_head_state(tensor4<E> state, index_t sample, index_t head,
                                 linear_state_layout const& state_layout)
      : data(state.data()), stride(state.strides().channels), layout(state_layout) {
    if (data != nullptr) data = &state(sample, head, 0, 0);
  }
  SLICESORT_HD E& operator[](index_t i) const { return data[i * stride]; }
  SLICESORT_HD E& phi(index_t row, index_t f) const {
    return (*this)[layout.phi() + row * layout.features + f];
  }
  SLICESORT_HD E& v(index_t row, index_t c) const {
    return (*this)[layout.v() + row * layout.values + c];
  }
  SLICESORT_HD E& maximum_at(index_t row) const { return (*this)[layout.maxima() + row]; }
};

// Position of a sample, which all its heads have: that of head 0. Values out of range count as 0.
template <class A>
SLICESORT_HD linear_position position_of(tensor4<A const> state, index_t sample) {
  linear_position position;
  if (state.data() == nullptr) return position;
  A const rows = state(sample, 0, 0, linear_state_layout::rows),
          tiles = state(sample, 0, 0, linear_state_layout::tiles);
  constexpr index_t max_tiles = index_t{1} << 56;  // 2^62 rows, to which a call adds its own
  if (rows > A(0) && rows < A(linear_tile)) position.rows = static_cast<int>(rows);
  if (tiles > A(0) && tiles < A(max_tiles)) position.tiles = static_cast<index_t>(tiles);
  return position;
}

SLICESORT_DETAIL_END

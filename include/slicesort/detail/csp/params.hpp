// SPDX-License-Identifier: Apache-2.0
// Parameters of csp (channel-wise sample permutation). csp shifts each channel,
// w[n] = x[(n - shift) mod valid rows], and cuts it into groups of `group` consecutive rows. Row n
// of the output is row order[n] of its group in w.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Policies of a call, evaluated on the host for every channel, so they need no device code.
struct csp_config {
  index_t group;  // rows per group, 1..max(length, 1)
  // Channel that groups are aligned to; it is not shifted. -1: no alignment.
  index_t reference = -1;
  void const* policies;
  index_t (*shift_by)(void const* policies, index_t channel, extents3 extents);
  bool (*is_descending)(void const* policies, index_t channel, extents3 extents);

  index_t shift(index_t channel, extents3 extents) const {
    return channel == reference ? 0 : shift_by(policies, channel, extents);
  }
  bool descends(index_t channel, extents3 extents) const {
    return is_descending(policies, channel, extents);
  }
};

// True if groups have two rows, which are exchanged or not; their order is one bit.
constexpr bool is_pair(index_t group) { return group == 2; }
// True if groups have more than two rows, which a sort puts in order.
constexpr bool needs_sort(index_t group) { return group > 2; }

// Layout of the saved `order`. Groups of one row need none. Groups of two save one bit per pair,
// set if the rows are exchanged: bit p % 8 of row p / 8 belongs to pair p.
constexpr extents3 saved_order_extents(extents3 extents, index_t group) {
  if (group == 1) return {extents.batch, 0, extents.channels};
  if (is_pair(group))
    return {extents.batch, extents.length / 16 + (extents.length % 16 != 0), extents.channels};
  return extents;
}
constexpr index_width saved_order_width(index_t group) {
  return group <= 256     ? index_width::bits8
         : group <= 65536 ? index_width::bits16
                          : index_width::bits32;
}

// Arguments of the workspace size.
struct csp_shape {
  extents3 extents;
  index_t group;  // rows per group
};

template <class T>
struct csp_forward {
  using element = T;
  static constexpr char const* name = "csp.forward";
  csp_config config;
  tensor3<T const> x;
  tensor3<T> y;
  index_tensor3 order;
  bool saving;  // true if order is written
  tensor1<index_t const> lengths;

  csp_shape shape() const { return {x.extents(), config.group}; }
};

template <class T>
struct csp_backward {
  using element = T;
  static constexpr char const* name = "csp.backward";
  csp_config config;
  tensor3<T const> dy;
  const_index_tensor3 order;
  tensor3<T> dx;
  grad_mode mode;
  tensor1<index_t const> lengths;

  csp_shape shape() const { return {dy.extents(), config.group}; }
};

// Aligned: groups follow the order of a reference channel; otherwise they are sorted.
template <bool Aligned>
struct csp_op {
  using shape = csp_shape;
  template <class T>
  using forward = csp_forward<T>;
  template <class T>
  using backward = csp_backward<T>;
};

SLICESORT_DETAIL_END

// SPDX-License-Identifier: Apache-2.0
// Parameters of short_convolution.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Window of the convolution: output row n reads rows n - shift .. n - shift + taps - 1.
struct convolution_window {
  static constexpr index_t max_taps = 64;
  index_t taps, shift;

  // Window of the transposed convolution, whose taps are in reverse order.
  convolution_window reversed() const { return {taps, taps - 1 - shift}; }
};

// The gradient of a weight is a sum in the following order. For each channel, the rows of a tile of
// `convolution_tile_rows` valid rows are summed by fused multiply-adds from 0, in the accumulator's
// type. Everything else is summed in double: the tiles of a segment, the segments of a sample, the
// samples, and the channels of a group, each in order. The result is rounded to the accumulator's
// type, and then to the element type.
inline constexpr index_t convolution_tile_rows = 16, convolution_segment_rows = 1024;

// Arguments of the workspace size.
struct convolution_shape {
  extents3 extents;
  index_t taps;

  index_t segments() const {
    return (extents.length + convolution_segment_rows - 1) / convolution_segment_rows;
  }
  // Allocates the sums of all segments, [sample][segment][tap][channel].
  double* take_weight_sums(arena& memory) const {
    return memory.take<double>(amount(extents.empty() ? 0 : extents.batch * extents.channels) *
                               segments() * taps);
  }
};

template <class T>
struct short_convolution_forward {
  using element = T;
  static constexpr char const* name = "short_convolution.forward";
  convolution_window window{};
  tensor3<T const> x{};
  tensor3<T const> weights{};  // [1, taps, groups]
  tensor3<T> y{};
  tensor1<index_t const> lengths{};

  convolution_shape shape() const { return {x.extents(), window.taps}; }
};

template <class T>
struct short_convolution_backward {
  using element = T;
  static constexpr char const* name = "short_convolution.backward";
  convolution_window window{};
  tensor3<T const> dy{};
  tensor3<T const> x{};  // read for weight gradients only
  tensor3<T const> weights{};
  tensor3<T> dx{};
  tensor3<T> dweights{};
  bool needs_weight_gradient = false;
  grad_mode mode{};
  tensor1<index_t const> lengths{};

  convolution_shape shape() const { return {dy.extents(), window.taps}; }
};

struct short_convolution_op {
  using shape = convolution_shape;
  template <class T>
  using forward = short_convolution_forward<T>;
  template <class T>
  using backward = short_convolution_backward<T>;
};

SLICESORT_DETAIL_END

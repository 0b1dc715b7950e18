// SPDX-License-Identifier: Apache-2.0
// Parameters of sparse_mix. Every factor m turns V into
//   out[i] = residual[i] + sum over k = 0 .. links-1 of W_m[i, k] * V[(i + o_mk) mod n]
// where n is the number of valid rows. The sum begins with the residual and takes k in this order,
// each by one fused multiply-add; out is rounded to the element type.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

enum class residual_form { per_factor, none, initial };

// Offsets are computed on the host, so topologies need no device code.
struct mix_config {
  residual_form residual;
  index_t factors, links;
  index_t every;  // factors per saved state: see `checkpoints`
  void const* topology;
  index_t (*evaluate_offset)(void const* topology, index_t link, index_t factor);

  index_t offset(index_t link, index_t factor) const {
    return evaluate_offset(topology, link, factor);
  }
};

// Arguments of the workspace size.
struct mix_shape {
  static constexpr index_t limit = 65535;  // largest valid `factors`, `links` and `every`

  extents3 extents;  // extents of x
  index_t factors, links;
  index_t every;
};

// The gradient of a weight is a sum over channels in the following order. `channel_lanes` lanes sum
// each block of `channel_block` channels: lane l sums channels l and l + channel_lanes by fused
// multiply-adds from 0, then adds lane l + 8, then l + 4, l + 2 and l + 1. The sums of the blocks
// are added in order, starting from 0 or, if gradients accumulate, from the element's value. The
// sums have the accumulator's type and are rounded once.
inline constexpr int channel_block = 32, channel_lanes = 16;

template <class T>
struct sparse_mix_forward {
  using element = T;
  static constexpr char const* name = "sparse_mix.forward";
  mix_config config;
  tensor3<T const> x;
  tensor_stack<T const> weights;  // [factors, batch, length, links]
  tensor3<T> y;
  tensor_stack<T> states;
  bool saving;  // true if `states` is written
  tensor1<index_t const> lengths;

  mix_shape shape() const { return {x.extents(), config.factors, config.links, config.every}; }
};

template <class T>
struct sparse_mix_backward {
  using element = T;
  static constexpr char const* name = "sparse_mix.backward";
  mix_config config;
  tensor3<T const> dy;
  tensor3<T const> x;  // reads x and states for weight gradients only
  tensor_stack<T const> weights;
  tensor_stack<T const> states;
  tensor3<T> dx;
  tensor_stack<T> dweights;
  bool needs_weight_gradient;
  grad_mode mode;
  tensor1<index_t const> lengths;

  mix_shape shape() const { return {dy.extents(), config.factors, config.links, config.every}; }
};

struct sparse_mix_op {
  using shape = mix_shape;
  template <class T>
  using forward = sparse_mix_forward<T>;
  template <class T>
  using backward = sparse_mix_backward<T>;
};

SLICESORT_DETAIL_END

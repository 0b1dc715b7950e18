// SPDX-License-Identifier: Apache-2.0
// Parameters of multi_permutation.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Weights of the powers 1 .. components.
template <class A>
struct component_weights {
  index_t components;
  bool is_uniform;
  A uniform_weight;
  tensor1<A const> values;  // unused if the weights are uniform

  SLICESORT_HD A operator()(index_t power) const {
    return is_uniform ? uniform_weight : values(power - 1);
  }
};

// Arguments of the workspace size.
struct multi_permutation_shape {
  extents3 extents;
  index_t components;
};

template <class Order, class T>
struct multi_permutation_forward {
  using element = T;
  static constexpr char const* name = "multi_permutation.forward";
  Order order;
  tensor3<T const> x{};
  component_weights<accumulator_t<T>> weights{};
  tensor3<T> y{};
  index_tensor3 perm{};
  bool saving = false;  // true if `perm` is written
  tensor1<index_t const> lengths{};

  multi_permutation_shape shape() const { return {x.extents(), weights.components}; }
};

template <class T>
struct multi_permutation_backward {
  using element = T;
  static constexpr char const* name = "multi_permutation.backward";
  tensor3<T const> dy;
  tensor3<T const> x;  // needed for dweights only
  component_weights<accumulator_t<T>> weights;
  const_index_tensor3 perm;
  tensor3<T> dx;
  tensor1<accumulator_t<T>> dweights;
  bool needs_weight_gradient;
  grad_mode mode;
  tensor1<index_t const> lengths;

  multi_permutation_shape shape() const { return {dy.extents(), weights.components}; }
};

template <class Order>
struct multi_permutation_op {
  using shape = multi_permutation_shape;
  template <class T>
  using forward = multi_permutation_forward<Order, T>;
  template <class T>
  using backward = multi_permutation_backward<T>;
};

SLICESORT_DETAIL_END

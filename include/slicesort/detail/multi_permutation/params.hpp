// SPDX-License-Identifier: Apache-2.0
// What crosses from the door of multi_permutation to a backend: checked views and scalars.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// The weights of the powers 1 .. terms.
template <class A>
struct term_weights {
  index_t terms;
  bool uniform;
  A each;                  // if uniform
  tensor1<A const> given;  // unless uniform

  SLICESORT_HD A operator()(index_t power) const { return uniform ? each : given(power - 1); }
};

// What the size of the workspace depends on.
struct multi_permutation_shape {
  extents3 extents;
  index_t terms;
};

template <class Order, class T>
struct multi_permutation_forward {
  using element = T;
  static constexpr char const* name = "multi_permutation.forward";
  Order order;
  tensor3<T const> x{};
  term_weights<accumulator_t<T>> weights{};
  tensor3<T> y{};
  index_tensor3 perm{};
  bool saving = false;  // whether perm is written
  tensor1<index_t const> lengths{};

  multi_permutation_shape shape() const { return {x.extents(), weights.terms}; }
};

template <class T>
struct multi_permutation_backward {
  using element = T;
  static constexpr char const* name = "multi_permutation.backward";
  tensor3<T const> dy;
  tensor3<T const> x;  // for dweights alone
  term_weights<accumulator_t<T>> weights;
  const_index_tensor3 perm;
  tensor3<T> dx;
  tensor1<accumulator_t<T>> dweights;
  bool needs_weight_gradient;
  grad_mode mode;
  tensor1<index_t const> lengths;

  multi_permutation_shape shape() const { return {dy.extents(), weights.terms}; }
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

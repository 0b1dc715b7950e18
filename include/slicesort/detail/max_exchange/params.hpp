// SPDX-License-Identifier: Apache-2.0
// What crosses from the door of max_exchange to a backend: checked views and scalars.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class T>
struct max_exchange_forward {
  using element = T;
  static constexpr char const* name = "max_exchange.forward";
  index_t row;
  tensor3<T const> x;
  tensor3<T> y;
  index_tensor3 maximum;  // [batch, 1, channels]
  bool saving;            // whether maximum is written
  tensor1<index_t const> lengths;

  extents3 shape() const { return x.extents(); }
};

// Needs no lengths: the saved row is a valid one, so rows past a length are not exchanged.
template <class T>
struct max_exchange_backward {
  using element = T;
  static constexpr char const* name = "max_exchange.backward";
  index_t row;
  tensor3<T const> dy;
  const_index_tensor3 maximum;
  tensor3<T> dx;
  grad_mode mode;

  extents3 shape() const { return dy.extents(); }
};

struct max_exchange_op {
  using shape = extents3;  // what a workspace depends on
  template <class T>
  using forward = max_exchange_forward<T>;
  template <class T>
  using backward = max_exchange_backward<T>;
};

SLICESORT_DETAIL_END

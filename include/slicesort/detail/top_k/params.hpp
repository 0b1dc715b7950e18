// SPDX-License-Identifier: Apache-2.0
// Parameters of top_k. A row past the length of its sample follows all valid rows in its place, as
// in slicing_sort, so the indices of a column are distinct and backward needs no lengths.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Arguments of the workspace size.
struct top_k_shape {
  extents3 x;
  index_t k;
  bool by_index, nan_last;  // as in top_k_config
};

template <class Order>
struct top_k_config {
  Order order;
  index_t k;
  bool by_index;  // true if rows keep their order; else sorted
  bool nan_last;  // true if NaN follows all numbers, also in descending columns

  top_k_shape shape_of(extents3 x) const { return {x, k, by_index, nan_last}; }
};

template <class Order, class T>
struct top_k_forward {
  using element = T;
  static constexpr char const* name = "top_k.forward";
  top_k_config<Order> config{};
  tensor3<T const> x{};     // [batch, length, channels]
  tensor3<T> values{};      // [batch, k, channels]; null: not written
  index_tensor3 indices{};  // [batch, k, channels]; null: not written
  tensor1<index_t const> lengths{};

  top_k_shape shape() const { return config.shape_of(x.extents()); }
};

template <class T>
struct top_k_backward {
  using element = T;
  static constexpr char const* name = "top_k.backward";
  tensor3<T const> dy{};          // [batch, k, channels]
  const_index_tensor3 indices{};  // [batch, k, channels]
  tensor3<T> dx{};                // [batch, length, channels]
  grad_mode mode{};

  top_k_shape shape() const { return {dx.extents(), index_t{}, false, false}; }
};

template <class Order>
struct top_k_op {
  using shape = top_k_shape;
  template <class T>
  using forward = top_k_forward<Order, T>;
  template <class T>
  using backward = top_k_backward<T>;
};

SLICESORT_DETAIL_END
